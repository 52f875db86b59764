"""The ledger of a study, ``claims/ledger/expN.jsonl``: what was registered, amended and judged.

A file grows at its end only; each line is a JSON object. ``journeylab register`` writes the lines
of rows, of new words and of amendments, ``journeylab evidence add`` those of judgements, and the
user commits them. Dates are those of git.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Generic, Literal, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from journeylab.claims.hashes import long_hash, row_hashes, row_parts
from journeylab.claims.schema import Register
from journeylab.config import Frozen, UserError, canonical
from journeylab.records.files import write_atomic
from journeylab.records.git import ask_git
from journeylab.records.plans import Plan

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
_LINE: TypeAdapter[Line] = TypeAdapter(Line)


class Entry(NamedTuple, Generic[T]):
    """A line of a ledger, and the first commit that has it; "" if none has."""

    line: T
    commit: str = ""


class Standing(Frozen):
    """Whether the ledger has a row as it is now: written, committed, and the first on its seeds.

    If not, ``reason`` says so, and ``changed`` are the parts that an earlier line of it has
    otherwise. ``digest`` is that of its line; ``recorded`` is whether it was judged before there
    was a ledger.
    """

    state: Literal["registered", "uncommitted", "unwritten", "taken"] = "registered"
    reason: str = ""
    changed: tuple[str, ...] = ()
    digest: str = ""
    recorded: bool = False
    remark: str = ""


def written(line: Line) -> str:
    """A line as a file has it."""
    return canonical(line.model_dump(mode="json", exclude_none=True))


def digest(line: Line) -> str:
    """A name for a line: a hash of its content."""
    return long_hash(line.model_dump(mode="json", exclude_none=True))


def parse(text: str, where: str) -> list[Line]:
    """The lines of a file. Raises UserError for a line that is none."""
    lines = []
    for number, each in enumerate(text.splitlines(), 1):
        try:
            lines.append(_LINE.validate_json(each))
        except ValidationError:
            raise UserError(
                f"{where}:{number}: no line; restore it with git: `journeylab register` and "
                "`journeylab evidence add` write lines, and nobody edits them"
            ) from None
    return lines


class Ledger:
    """The ledgers beside the registers in a folder, and the commits that wrote them."""

    def __init__(self, claims: Path) -> None:
        self._claims = claims
        self.is_before = cache(self._is_before)

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

    def lost(self, study: str, entries: Iterable[Entry[Line]]) -> list[Entry[Line]]:
        """The lines that some commit has and the file, with these entries, has no more."""
        here = {digest(entry.line) for entry in entries}
        committed = self._committed.get(study, {})
        return [entry for name, entry in committed.items() if name not in here]

    def rows_at(self, commit: str, study: str) -> tuple[str, ...] | None:
        """The digests of the lines of rows that a commit has; None if it has no such file."""
        text = self._show(commit, f"{LEDGER}/{study}.jsonl")
        if text is None:
            return None
        return tuple(digest(line) for line in _readable(text) if line.kind == "row")

    def write(self, study: str, lines: Sequence[Line]) -> None:
        """Write the file of a study."""
        with write_atomic(self.path(study)) as partial:
            partial.write_text("".join(f"{written(line)}\n" for line in lines), encoding="utf-8")

    @cached_property
    def shallow(self) -> bool:
        """Whether the repository lacks commits, so that removed lines cannot be told."""
        return (self._git("rev-parse", "--is-shallow-repository") or "").strip() == "true"

    def _is_before(self, commit: str, other: str) -> bool:
        """Whether a commit is another one, or an ancestor of it."""
        return self._git(*_PLAIN, "merge-base", "--is-ancestor", commit, other) is not None

    def _show(self, commit: str, name: str) -> str | None:
        """A file of this folder in a commit; None if it has no such file."""
        return self._git("show", f"{commit}:./{name}")

    def _git(self, *arguments: str) -> str | None:
        return ask_git(self._claims, *arguments)

    @cached_property
    def _committed(self) -> dict[str, dict[str, Entry[Line]]]:
        """Every line that a commit which HEAD reaches has added, by study and digest."""
        log = self._git(
            *(*_PLAIN, "log", "--reverse", "--topo-order", "--full-history", "-m"),
            *("--format=%x01%H", "--patch", "--unified=0", "--no-renames", "--no-ext-diff"),
            *("--no-textconv", "--text", "--no-color", "--", f"./{LEDGER}/*.jsonl"),
        )
        added: dict[str, dict[str, Entry[Line]]] = {}
        for patch in (log or "").split("\x01")[1:]:
            commit, *changes = patch.splitlines()
            study = ""
            for change in changes:
                if change.startswith("+++ "):
                    study = Path(change).stem
                elif change.startswith("+"):
                    for line in _readable(change[1:]):
                        entries = added.setdefault(study, {})
                        entries.setdefault(digest(line), Entry(line, commit))
        return added


_PLAIN = ("--no-replace-objects", "-c", "log.showRoot=true")
"""Options of git that undo settings which could hide commits."""


def _readable(text: str) -> list[Line]:
    """The lines of a file in some commit; none if it cannot be read."""
    try:
        return parse(text, "")
    except UserError:
        return []


def planned_rows(
    register: Register, study: str, runs: Mapping[tuple[str, str], Mapping[str, Plan]]
) -> dict[str, RowLine]:
    """The line of every judged row of a study as its register, settings and code are now.

    ``runs`` are the plans of its runs by arm and variant, for each a plan of every stage.
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
            form="/".join(filter(None, (claim.form, claim.evidence))) or None,
        )
        for claim in claims.claims
        if claim.primary
    }


def of_rows(entries: Iterable[Entry[Line]], revision: int) -> list[Entry[RowLine]]:
    """The entries that registered rows of a revision."""
    return [
        Entry(line, commit)
        for line, commit in entries
        if isinstance(line, RowLine) and line.revision == revision
    ]


def standings(
    ledger: Ledger, register: Register, study: str, planned: Mapping[str, RowLine]
) -> dict[str, Standing]:
    """What the ledger of a study says of its judged rows, by their ids, as they are `planned`."""
    if not planned:
        return {}
    claims, entries = register.studies[study], ledger.entries(study)
    here = of_rows(entries, claims.revision)
    committed = [entry for entry in here if entry.commit]
    committed += of_rows(ledger.lost(study, entries), claims.revision)
    # a revision that was judged before there was a ledger has boundaries of its own
    old = not register.is_monotone(claims)
    return {name: _standing(ledger, row, here, committed, old) for name, row in planned.items()}


def _standing(
    ledger: Ledger,
    now: RowLine,
    here: Sequence[Entry[RowLine]],
    committed: Sequence[Entry[RowLine]],
    old: bool,
) -> Standing:
    """What the lines that are here, and all that were ever committed, say of a row."""
    study = now.row.partition(".")[0]
    path = ledger.path(study)
    same = next((e for e in here if e.line.row == now.row and not changed(e.line, now)), None)
    others = [
        entry
        for entry in committed
        if same is None
        or not same.commit
        or not ledger.is_before(same.commit, entry.commit)
        or (entry.commit == same.commit and entry.line.row == now.row and changed(entry.line, now))
    ]
    others.sort(key=lambda entry: entry.line.row != now.row)
    for line, _ in others[:1]:
        parts = changed(line, now) if line.row == now.row else []
        what = f"with other {' and '.join(parts)}" if parts else "without it"
        if line.row == now.row and not parts:
            what = "and the file has it no more"
        return Standing(
            state="taken",
            changed=tuple(parts),
            reason=f"line {digest(line)[:12]} of {path} ({line.row}) "
            f"registered its seeds, {now.seeds[0]} to {now.seeds[1]}, {what}; a new revision "
            "judges it on new seeds",
        )
    if same is None:
        reason = f"{path} has no line for it; `journeylab register {study}` writes it"
        return Standing(state="unwritten", reason=reason)
    if not same.commit:
        return Standing(state="uncommitted", reason=f"its line in {path} is not committed")
    line = same.line
    is_reworded = line.words != now.words or line.form not in (None, now.form)
    unknown = "this clone is shallow, and lines of earlier commits are not known"
    remarks = ["reworded since" if is_reworded else "", unknown if ledger.shallow else ""]
    return Standing(
        digest=digest(line),
        recorded=old and line.recorded is not None,
        remark="; ".join(filter(None, remarks)),
    )


def missing_lines(
    ledger: Ledger, register: Register, study: str, planned: Mapping[str, RowLine]
) -> tuple[list[Line], list[Line], list[str]]:
    """The lines that stay, those that the ledger of a study lacks, and why rows get none.

    Lines that are not committed give way to those of the rows as they are now.
    """
    entries = ledger.entries(study)
    known = standings(ledger, register, study, planned)
    refused = [f"{row}: {each.reason}" for row, each in known.items() if each.state == "taken"]
    rows = [row for name, row in planned.items() if known[name].state == "unwritten"]
    written = planned.keys() - {row.row for row in rows}
    kept = [
        entry.line
        for entry in entries
        if entry.commit or not isinstance(entry.line, RowLine) or entry.line.row in written
    ]
    return kept, [*rows, *reworded(planned, kept)], refused


def reworded(planned: Mapping[str, RowLine], known: Sequence[Line]) -> Iterator[Reworded]:
    """A line for every registered row whose words or form are new."""
    for row in planned.values():
        said = [
            line
            for line in known
            if isinstance(line, RowLine | Reworded)
            and (line.row, line.revision) == (row.row, row.revision)
        ]
        if said and (said[-1].words, said[-1].form or row.form) != (row.words, row.form):
            yield Reworded(**row.model_dump(include=set(Reworded.model_fields) - {"kind"}))


def changed(then: RowLine, now: RowLine) -> list[str]:
    """The parts that decide a row and differ from a line of it; older lines have shorter hashes."""
    return [
        part
        for part, value in now.decides.items()
        if part not in then.decides or not value.startswith(then.decides[part])
    ]
