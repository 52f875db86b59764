"""The ledger of a study, ``claims/ledger/expN.jsonl``: what was registered, amended and judged.

A file grows at its end only; each line is a JSON object. ``journeylab register`` writes the lines
of rows, of new words and of amendments, ``journeylab evidence add`` those of judgements, and the
user commits them. Dates are those of git.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Generic, Literal, NamedTuple, TypeVar

from journeylab.claims.hashes import RunCode, row_hashes, row_parts
from journeylab.claims.schema import Claim, Register
from journeylab.config import Frozen, UserError, build, canonical
from journeylab.records.files import write_atomic
from journeylab.records.git import ask_git
from journeylab.records.plans import plan_key

T = TypeVar("T")
LEDGER = "ledger"
"""The folder of the ledgers, below that of the register."""


class Recorded(Frozen):
    """Where git has a row that was judged before there was a ledger: its register, its outcome."""

    commit: str
    reference: str | None = None
    remark: str | None = None


class RowLine(Frozen):
    """A row that was registered for the seeds from the first to the last of a revision.

    ``decides`` holds a hash of each part of what decides the verdict; ``words`` is that of its
    words. A row that was judged before there was a ledger is ``recorded``: of earlier revisions,
    settings and code are not known.
    """

    kind: Literal["row"] = "row"
    row: str
    revision: int
    seeds: tuple[int, int]
    decides: Mapping[str, str]
    words: str
    form: str | None = None
    recorded: Recorded | None = None


class Reworded(Frozen):
    """New words of a row that was registered before."""

    kind: Literal["reworded"] = "reworded"
    row: str
    revision: int
    words: str
    form: str | None = None


class AmendmentLine(Frozen):
    """What a revision changed, and why."""

    kind: Literal["amendment"] = "amendment"
    revision: int
    rows: tuple[str, ...]
    reason: str
    remark: str | None = None


class Judgement(Frozen):
    """The verdict on a row, from measurements with this hash of runs that began at ``commits``."""

    kind: Literal["judged"] = "judged"
    row: str
    revision: int
    seeds: int | None = None
    verdict: str
    measurements: str
    commits: tuple[str, ...]


Line = RowLine | Reworded | AmendmentLine | Judgement
_KINDS: dict[str, type[Line]] = {
    "row": RowLine,
    "reworded": Reworded,
    "amendment": AmendmentLine,
    "judged": Judgement,
}


class Entry(NamedTuple, Generic[T]):
    """A line of a ledger, and the first commit that has it; commits are numbered, oldest first."""

    line: T
    commit: str = ""
    order: int = -1


class Standing(Frozen):
    """Whether the ledger has a row as it is now: written, committed, and the first on its seeds.

    If not, ``reason`` says so. ``digest`` is that of its line; ``recorded`` is whether it was
    judged before there was a ledger.
    """

    state: Literal["registered", "uncommitted", "unwritten", "taken"] = "registered"
    reason: str = ""
    digest: str = ""
    recorded: bool = False
    remark: str = ""


def written(line: Line) -> str:
    """A line as a file has it."""
    return canonical(line.model_dump(mode="json", exclude_none=True))


def digest(line: Line) -> str:
    """A name for a line: a hash of its content."""
    return plan_key(line.model_dump(mode="json", exclude_none=True))


def parse(text: str, where: str) -> list[Line]:
    """The lines of a file. Raises UserError for a line that is none."""
    lines = []
    for number, each in enumerate(text.splitlines(), 1):
        try:
            content = json.loads(each)
            lines.append(build(_KINDS[content["kind"]], content, f"{where}:{number}"))
        except (ValueError, KeyError, TypeError, UserError) as error:
            why = str(error) if isinstance(error, UserError) else f"{where}:{number}: no line"
            raise UserError(
                f"{why}; restore it with git: `journeylab register` and `journeylab evidence add` "
                "write lines, and nobody edits them"
            ) from None
    return lines


class Ledger:
    """The ledgers beside the registers in a folder, and the commits that wrote them."""

    def __init__(self, claims: Path) -> None:
        self._claims = claims

    def path(self, study: str) -> Path:
        """The file of a study."""
        return self._claims / LEDGER / f"{study}.jsonl"

    def entries(self, study: str) -> list[Entry[Line]]:
        """The lines of a study as they are now."""
        path = self.path(study)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        committed = self._committed.get(study, {})
        lines = parse(text, str(path))
        return [committed.get(digest(line)) or Entry(line) for line in lines]

    def lost(self, study: str) -> list[Entry[Line]]:
        """The lines that some commit has and the file has no more."""
        here = {digest(entry.line) for entry in self.entries(study)}
        committed = self._committed.get(study, {})
        return [entry for name, entry in committed.items() if name not in here]

    def rows_at(self, commit: str, study: str) -> tuple[str, ...]:
        """The digests of the lines of rows that a commit has."""
        text = ask_git(self._claims, "show", f"{commit}:./{LEDGER}/{study}.jsonl")
        return tuple(digest(line) for line in _readable(text or "") if line.kind == "row")

    def write(self, study: str, lines: Sequence[Line]) -> None:
        """Write the file of a study."""
        with write_atomic(self.path(study)) as partial:
            partial.write_text("".join(f"{written(line)}\n" for line in lines), encoding="utf-8")

    @property
    def shallow(self) -> bool:
        """Whether the repository lacks commits, so that removed lines cannot be told."""
        answer = ask_git(self._claims, "rev-parse", "--is-shallow-repository")
        return (answer or "").strip() == "true"

    @cached_property
    def _committed(self) -> dict[str, dict[str, Entry[Line]]]:
        """Every line that a commit which HEAD reaches has added, by study and digest."""
        log = ask_git(
            self._claims,
            *("log", "--reverse", "--topo-order", "--full-history", "-m", "--format=%x01%H"),
            *("--patch", "--unified=0", "--no-renames", "--no-ext-diff", "--no-color"),
            *("--", f"./{LEDGER}"),
        )
        added: dict[str, dict[str, Entry[Line]]] = {}
        for order, patch in enumerate((log or "").split("\x01")[1:]):
            commit, *changes = patch.splitlines()
            study = ""
            for change in changes:
                if change.startswith("+++ "):
                    study = Path(change).stem
                elif change.startswith("+"):
                    for line in _readable(change[1:]):
                        entries = added.setdefault(study, {})
                        entries.setdefault(digest(line), Entry(line, commit, order))
        return added


def _readable(text: str) -> list[Line]:
    """The lines of a file in some commit; none if it cannot be read."""
    try:
        return parse(text, "")
    except UserError:
        return []


def form_of(claim: Claim) -> str | None:
    """The form of a statement and its evidence, as a line has them."""
    return (
        "/".join(filter(None, (getattr(claim, "form", None), getattr(claim, "evidence", None))))
        or None
    )


def planned_rows(
    register: Register, study: str, runs: Mapping[tuple[str, str], RunCode]
) -> dict[str, RowLine]:
    """The line of every judged row of a study as its register, settings and code are now.

    ``runs`` are the settings and the code of the planned runs, by arm and variant.
    """
    claims = register.studies[study]
    parts, hashes = row_parts(register, study, runs), row_hashes(register, study)
    first = claims.seeds_from
    return {
        claim.id: RowLine(
            row=claim.id,
            revision=claims.revision,
            seeds=(first, first + max(register.sequential) - 1),
            decides=parts[claim.id],
            words=hashes[claim.id][1],
            form=form_of(claim),
        )
        for claim in claims.claims
        if claim.primary
    }


def standings(ledger: Ledger, study: str, planned: Mapping[str, RowLine]) -> dict[str, Standing]:
    """What the ledger of a study says of its judged rows, by their ids, as they are `planned`."""
    revisions = {line.revision for line in planned.values()}
    entries, lost = ledger.entries(study), ledger.lost(study)
    here, gone = (
        [
            Entry(line, commit, order)
            for line, commit, order in known
            if isinstance(line, RowLine) and line.revision in revisions
        ]
        for known in (entries, lost)
    )
    committed = sorted((e for e in (*here, *gone) if e.commit), key=lambda entry: entry.order)
    return {
        name: _standing(now, here, committed[:1], ledger.path(study))
        for name, now in planned.items()
    }


def _standing(
    now: RowLine,
    here: Sequence[Entry[RowLine]],
    first: Sequence[Entry[RowLine]],
    path: Path,
) -> Standing:
    """What the lines that are here, and the first that was ever committed, say of a row."""
    study, seeds = path.stem, f"its seeds, {now.seeds[0]} to {now.seeds[1]}"
    of_row = [entry for entry in here if entry.line.row == now.row]
    same = next((entry for entry in of_row if entry.line.decides == now.decides), None)
    other = next((entry for entry in of_row if entry.commit), None)
    again = "; a new revision judges it on new seeds"
    if same is None and other is not None:
        then = other.line
        changed = [part for part in now.decides if now.decides[part] != then.decides.get(part)]
        return Standing(
            state="taken",
            reason=f"line {digest(then)} of {path} registered {seeds}, with other "
            f"{' and '.join(changed)}{again}",
        )
    for earlier in first:
        if same is None or not same.commit or earlier.order < same.order:
            return Standing(
                state="taken",
                reason=f"line {digest(earlier.line)} of {path} ({earlier.line.row}, commit "
                f"{earlier.commit[:10]}) registered {seeds}, before it{again}",
            )
    if same is None:
        reason = f"{path} has no line for it; `journeylab register {study}` writes it"
        return Standing(state="unwritten", reason=reason)
    if not same.commit:
        return Standing(state="uncommitted", reason=f"its line in {path} is not committed")
    line = same.line
    is_reworded = line.words != now.words or line.form not in (None, now.form)
    return Standing(
        digest=digest(line),
        recorded=line.recorded is not None,
        remark="reworded since" if is_reworded else "",
    )
