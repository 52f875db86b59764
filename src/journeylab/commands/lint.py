"""``journeylab lint``: decimals typed by hand, unknown keys of numbers and stale figures."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from journeylab.catalogue import discover, load, study_folder
from journeylab.commands.results import CLAIMS, ROOT, current_register, end, read_text
from journeylab.config import UserError, meant
from journeylab.records.files import MANIFEST, read_json, read_origin, sha256
from journeylab.records.plans import read_plan
from journeylab.records.repair import remake
from journeylab.reports.answers import FILE
from journeylab.reports.numbers import PLACEHOLDER

NUMBERS = "numbers.tex"
NAMES = (
    *("effect", "mean", "low", "high", "n", "failures", "verdict", "tail", "k", "detectable"),
    *("region", "source", "kind", "seeds", "look", "state"),
)
"""The numbers of a claim, with which keys such as ``exp7.2.effect`` end."""
_DECIMAL = re.compile(r"(?<![\w.])\d*\.\d+(?!\w|\.\d|\s*\\(?:line|text|column|paper|base))")
_CLAIM = re.compile(r"(exp\d+\.s?\d+)\.(?:\d+\.)?(\w+)")
_MACRO = re.compile(
    r"\\(?P<macro>(?:raw)?result|study|studyfigure|includegraphics|input)\s*(?:\[[^]]*\])?"
    r"\{(?P<name>[^{}#]+)\}(?:\{(?P<figure>[^{}#]+)\})?"
)
_DEFINED = re.compile(r"\\@namedef\{journeylab@(?!raw@)([^{}]+)\}")
_ENDS = ("", ".pdf", ".png", ".jpg", ".jpeg", ".svg", ".eps", ".tex")


def lint(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Manuscripts (.tex) and responses (.yaml).")
    ] = None,
    root: Annotated[Path, ROOT] = Path(),
) -> None:
    r"""List decimals typed by hand; exit code 1 for unknown keys and stale figures.

    By default of paper/**/*.tex, response.yaml and the answers of all studies. A decimal is a
    remark: \result{exp7.2.effect} prints the current number instead. Unknown are keys and studies
    that do not exist. Stale are figures, tables and reports other than the current ones; of a study
    whose report is not drawn they are not compared. Without arguments, settings that are not what a
    search chose are remarks as well. Where no claims are registered in claims/, the keys are those
    of every numbers.tex below the folder, and by default every .tex file is read.
    """
    remarks, mistakes = lint_files(files or (), root)
    if not files and _is_registered():
        from journeylab.workflow.searches import find_searches

        for search in find_searches(load(Path("config.yaml"), {"root": str(root)})).values():
            remarks += search.remarks()
    end(remarks, mistakes)


def _is_registered() -> bool:
    return any(CLAIMS.glob("exp*.yaml"))


def lint_files(paths: Sequence[Path], root: Path) -> tuple[list[str], list[str]]:
    """Remarks on decimals, and mistakes: a line for each, with its file and line.

    Raises UserError for a file that cannot be read.
    """
    own = _is_registered()
    reports = _Reports(root) if own else None
    check_key = reports.check_key if reports else _judged_number()
    remarks, mistakes = [], []
    for path in paths or _usual(own=own):
        text = read_text(path)
        spans: Iterable[tuple[int, int]] = ((0, len(text)),)
        if path.suffix == ".tex":
            text = re.sub(r"(?<!\\)%.*", "", text)
            for start, mistake in _mistakes(path.parent, text, check_key, reports):
                mistakes.append(f"{path}:{_line(text, start)}: {mistake}")
        elif path.suffix in (".yaml", ".yml"):
            spans = _answers(path, text)
            # the numbers of an answer are checked where it is printed
            for found in PLACEHOLDER.finditer(text) if path.name != FILE else ():
                if mistake := check_key(found["key"]):
                    at = _line(text, found.start())
                    mistakes.append(f"{path}:{at}: {found[0]}: {mistake}")
        typed: dict[int, list[str]] = {}
        for match in (match for span in spans for match in _DECIMAL.finditer(text, *span)):
            typed.setdefault(_line(text, match.start()), []).append(match[0])
        remarks += [f"{path}:{at}: typed by hand: {', '.join(typed[at])}" for at in typed]
    return remarks, mistakes


def _usual(*, own: bool) -> list[Path]:
    """The manuscript, the response and all answers; without a register every manuscript."""
    if not own:
        return [path for path in sorted(Path().rglob("*.tex")) if path.name != NUMBERS]
    answers = (study_folder(study) / FILE for study in discover())
    written = [Path(os.path.relpath(path)) for path in answers if path.exists()]
    return [*sorted(Path("paper").rglob("*.tex")), Path("response.yaml"), *written]


def _line(text: str, start: int) -> int:
    return text.count("\n", 0, start) + 1


def _answers(path: Path, text: str) -> list[tuple[int, int]]:
    """Where the texts of a response or an answer are, except what reviewers say."""

    def texts(node: yaml.Node | None) -> Iterator[tuple[int, int]]:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield from texts(value) if key.value not in ("point", "written_for") else ()
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                yield from texts(item)
        elif node:
            yield node.start_mark.index, node.end_mark.index

    try:
        return list(texts(yaml.compose(text, Loader=yaml.SafeLoader)))
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not a YAML text ({error})") from None


def _mistakes(
    folder: Path, text: str, check_key: Callable[[str], str], reports: "_Reports | None"
) -> Iterator[tuple[int, str]]:
    """Where a manuscript has an unknown key or a stale file; `folder` is that of the manuscript.

    Without a register it may name any study and any figure.
    """
    for match in _MACRO.finditer(text):
        macro, name, figure = match.group("macro", "name", "figure")
        study, _, inner = name.partition("/")
        if macro in ("result", "rawresult"):
            mistake = check_key(name)
        elif reports is None:
            continue
        elif macro == "study":
            mistake = reports.check_study(name)
        elif macro == "studyfigure":
            mistake = reports.check_file(name, f"figures/{figure}", folder)
        elif re.fullmatch(r"exp\d+", study):
            mistake = reports.check_file(study, inner, folder)
        else:
            mistake = reports.check_copy(folder / name)
        if mistake:
            yield match.start(), f"{match[0]}: {mistake}"


class _Reports:
    """The register, and the drawn reports below a root; a check returns "" if all is well."""

    def __init__(self, root: Path) -> None:
        self._root, self._register = root, current_register()
        self._read = cache(self._read_drawn)

    def check_key(self, key: str) -> str:
        """The key of a number: of the drawn report, else of a claim."""
        study = key.partition(".")[0]
        if known := self._read(study, "numbers.json"):
            return "" if key in known else f"its report has no such number{meant(key, known)}"
        claim = _CLAIM.fullmatch(key)
        if study not in self._register.studies:
            return f"there is no study {study}{meant(study, self._register.studies)}"
        if claim and claim[1] not in self._register.by_id:
            return f"there is no claim {claim[1]}{meant(claim[1], self._register.by_id)}"
        if claim and claim[2] not in NAMES:
            return f"a claim has no number {claim[2]!r}{meant(claim[2], NAMES)}"
        return ""

    def check_study(self, study: str) -> str:
        """A study, and whether its report was drawn as planned."""
        if study not in self._register.studies:
            return f"there is no such study{meant(study, self._register.studies)}"
        manifest = self._root / "reports" / study / MANIFEST
        plan = self._root / "plans" / study / "draw.json"
        origin = read_origin(manifest) if plan.exists() and manifest.exists() else None
        if origin is None or origin.plan_key == read_plan(plan, "draw").key:
            return ""
        return f"drawn with other settings, data or code than planned; run {remake(manifest)}"

    def check_file(self, study: str, name: str, folder: Path) -> str:
        """A figure or table of a report; a copy in `folder` goes before that in the report."""
        if study not in self._register.studies:
            return f"there is no study {study}{meant(study, self._register.studies)}"
        drawn = self._hashes(study)
        wanted = next((name + end for end in _ENDS if name + end in drawn), None)
        if wanted is None:
            return f"the report has no such file{meant(name, drawn)}" if drawn else ""
        copy, report = folder / study / wanted, self._root / "reports" / study / wanted
        return _compare(copy if copy.is_file() else report, [drawn[wanted]])

    def check_copy(self, path: Path) -> str:
        """A file beside the manuscript that has the name of a drawn figure or table."""
        file = next((f for end in _ENDS if (f := path.parent / (path.name + end)).is_file()), None)
        if file is None:
            return "there is no such file beside the manuscript"
        name = re.sub(r"^exp\d+[-_]", "", file.name)
        drawn = [each for study in self._register.studies for each in self._hashes(study).items()]
        same = [digest for each, digest in drawn if Path(each).name == name]
        return _compare(file, same) if same else ""

    def _hashes(self, study: str) -> dict[str, str]:
        return dict(self._read(study, MANIFEST).get("files", {}))

    def _read_drawn(self, study: str, name: str) -> dict[str, Any]:
        path = self._root / "reports" / study / name
        return read_json(path) if path.exists() else {}


def _judged_number() -> Callable[[str], str]:
    """Checks a key of the numbers that `journeylab judge` wrote below the working directory."""
    written = sorted(Path().rglob(NUMBERS))
    known = sorted({key for path in written for key in _DEFINED.findall(read_text(path))})
    return lambda key: "" if key in known else f"no {NUMBERS} defines it{meant(key, known)}"


def _compare(file: Path, current: Sequence[str]) -> str:
    if file.is_file() and sha256(file) in current:
        return ""
    return f"{file} is not the current one (its checksum differs)"
