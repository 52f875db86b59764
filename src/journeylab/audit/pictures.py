"""The figures and tables that a manuscript includes, held against the drawn reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from journeylab.audit.findings import Finding, Kind, closest
from journeylab.audit.known import Known
from journeylab.audit.latex import Include
from journeylab.config import UserError
from journeylab.records.files import MANIFEST, read_json, sha256
from journeylab.records.repair import settings_of

_OF_STUDY = re.compile(r"(exp\d+)/(.+)")
_FORMATS = ("", ".pdf", ".png", ".jpg", ".jpeg", ".svg", ".eps", ".tex")

_Make = Callable[[Kind, str], Finding]


def check_included(include: Include, folder: Path, known: Known) -> Iterator[Finding]:
    """What is wrong with an included file; ``folder`` is that of the manuscript."""
    source, offset, name, kind = include

    def finding(what: Kind, text: str) -> Finding:
        return Finding(str(source.path), source.line(offset), source.column(offset), what, text)

    if kind == "study":
        if name not in known.register.studies:
            yield finding(
                "macro",
                f"\\study{{{name}}}: there is no such study{closest(name, known.register.studies)}",
            )
        elif name in known.outdated:
            yield finding(
                "stale",
                f"\\study{{{name}}}: its report was drawn with other settings, data or code than "
                f"planned; snakemake --cores 1 {known.root / 'reports' / name}.pdf"
                f"{settings_of(known.root)} makes it anew",
            )
        return
    path = next((p for form in _FORMATS if (p := folder / f"{name}{form}").is_file()), None)
    part = _OF_STUDY.fullmatch(name)
    if part:
        study, inner = part.groups()
        wanted = f"figures/{inner}.pdf" if kind == "studyfigure" else inner
        if kind == "input" and not wanted.endswith(".tex"):
            wanted += ".tex"
        yield from _check_drawn(
            finding, study, wanted, path if kind != "studyfigure" else None, known
        )
        if kind == "studyfigure" and (copy := folder / study / wanted).is_file():
            yield from _check_drawn(finding, study, wanted, copy, known)
    elif path is None:
        yield finding("stale", f"{name}: there is no such file beside the manuscript")
    else:
        yield from _check_copy(finding, path, known)


def _check_drawn(
    finding: _Make, study: str, wanted: str, copy: Path | None, known: Known
) -> Iterator[Finding]:
    if study not in known.register.studies:
        yield finding(
            "macro",
            f"{study}/{wanted}: there is no study {study}{closest(study, known.register.studies)}",
        )
        return
    hashes = _manifest(known, study)
    if hashes is None:
        yield finding("unchecked", f"{study}/{wanted}: no report of {study} is drawn here")
        return
    if wanted not in hashes and f"{wanted}.pdf" in hashes:
        wanted = f"{wanted}.pdf"
    if wanted not in hashes:
        hint = closest(wanted, hashes, cutoff=0.4)
        yield finding("stale", f"{study}/{wanted}: the report of {study} has no such file{hint}")
        return
    file = copy or known.root / "reports" / study / wanted
    if not file.is_file() or sha256(file) != hashes[wanted]:
        yield finding(
            "stale", f"{study}/{wanted}: {file} is not the current one (its checksum differs)"
        )


def _check_copy(finding: _Make, path: Path, known: Known) -> Iterator[Finding]:
    """A file that lies beside the manuscript: the copy of a figure, or something else."""
    digest = sha256(path)
    same_name = []
    for study in known.drawn:
        for name, expected in (_manifest(known, study) or {}).items():
            if expected == digest:
                return
            drawn = Path(name)
            if path.name in (drawn.name, f"{study}-{drawn.name}", f"{study}_{drawn.name}"):
                same_name.append(f"{study}/{name}")
    if same_name:
        yield finding(
            "stale", f"{path.name}: is not the current {same_name[0]} (its checksum differs)"
        )
    elif path.suffix != ".tex":
        yield finding("unchecked", f"{path.name}: is no figure of a drawn report")


def _manifest(known: Known, study: str) -> Mapping[str, str] | None:
    path = known.root / "reports" / study / MANIFEST
    if study not in known.drawn or not path.exists():
        return None
    try:
        files: Mapping[str, str] = read_json(path)["files"]
    except UserError:
        return {}
    return files
