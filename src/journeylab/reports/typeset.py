"""The report of one study: its verdicts, figures and records, typeset by Typst."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from journeylab.config import UserError, canonical
from journeylab.records.files import BLANK, read_json, seal, write_atomic, write_json
from journeylab.records.runs import RunHost, RunRecord
from journeylab.records.verdicts import Estimate
from journeylab.reports.first_page import first_page, row_marks
from journeylab.reports.numbers import with_own_keys
from journeylab.reports.summary import JudgedStudy
from journeylab.reports.tables import failures
from journeylab.wording.effects import Names
from journeylab.wording.method import method
from journeylab.wording.numbers import extreme_text, first_digits, places, printed_numbers
from journeylab.wording.rows import Row, StudyRows
from journeylab.wording.typography import in_form, plain
from journeylab.wording.verdicts import (
    SYMBOLS,
    earlier_text,
    measured_text,
    registration_lines,
    seed_numbers,
    source_letter,
)

STAMP = "quick run – not evidence"


def describe(
    study: JudgedStudy,
    settings: Mapping[str, Any],
    *,
    code: Mapping[str, str] = MappingProxyType({}),
    forms: Mapping[str, Iterable[str]] = MappingProxyType({}),
    plan_key: str,
    anonymous: bool = False,
) -> dict[str, Any]:
    """Everything the template prints, numbers already in their printed form.

    ``code`` has the addresses of the code of figures and tables; ``forms`` are those of numbers in
    the prose.
    """
    verdicts, drawn, records = study.verdicts, study.content, study.records
    numbers = with_own_keys(study.study, study.numbers)
    runs = [run for run, _ in records]
    tables = study.folder / "tables"
    has_fairness = (tables / "fairness.json").exists()
    return {
        "study": study.study,
        "title": drawn["title"],
        "code": dict(code),
        "stamp": None if verdicts.evidence else STAMP,
        "scale": verdicts.scale,
        "seeds": seed_numbers(verdicts),
        "first_page": first_page(study),
        "judging": method(verdicts),
        "revision": verdicts.revision,
        "amendments": list(verdicts.amendments),
        "dropped": [
            f"{row.id.removeprefix('exp')} {earlier_text(row)}" for row in verdicts.dropped
        ],
        "registration": registration_lines(verdicts),
        **printed_rows(verdicts),
        "figures": drawn["figures"],
        "tables": [read_json(tables / f"{name}.json") for name in drawn["tables"]],
        "fairness": read_json(tables / "fairness.json") if has_fairness else None,
        "labels": drawn["labels"],
        "failures": failures(runs, Names(drawn["labels"], drawn["arms"])),
        "provenance": _provenance(records, anonymous=anonymous),
        "timings": {
            f"{run.arm}/{run.variant}": {
                key: plain(value, 2) for key, value in host.timings.items()
            }
            for run, host in records
            if host.timings
        },
        "run_keys": _run_keys(runs),
        "numbers": {key: plain(value) for key, value in numbers.items()}
        | {
            f"{key}:{form}": in_form(numbers.get(key), form)
            for key, of_key in forms.items()
            for form in of_key
        },
        "settings": dict(settings),
        "plan_key": plan_key,
    }


def printed_rows(study: StudyRows) -> dict[str, list[dict[str, Any]]]:
    """All rows in print by section, with the marks of those whose notes stand on the first page."""
    printed, (_, marks) = {}, row_marks(study)
    for name, rows in study.sections.items():
        digits = places(rows)
        printed[name] = [
            _numbers(row, first_digits(row) if row.is_check else digits)
            | _claimed(row, study)
            | {"marks": marks.get(row.id, "")}
            for row in rows
        ]
    return printed


def compile_report(report: dict[str, Any], content: Path, prose: str, output: Path) -> None:
    """Compile a study's report with its data, prose and figures."""
    figures = {path.name: path for path in (content / "figures").iterdir()}
    source = f"report.typ of {report['study']}"
    compile_pdf("report", report, figures, output, source, {"study.typ": prose})


def compile_pdf(
    template: str,
    data: Mapping[str, Any],
    figures: Mapping[str, Path],
    output: Path,
    source: str,
    more: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Compile ``<template>.typ`` with its data and figures, and write ``output`` atomically.

    The last line of the PDF is a comment with its checksum. ``more`` are further files by name.
    Raises UserError, which begins with ``source``, if Typst refuses a file.
    """
    import typst

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in (files("journeylab.reports") / "templates").iterdir():
            if path.name.endswith(".typ"):
                (folder / path.name).write_bytes(path.read_bytes())
        for file, text in more.items():
            (folder / file).write_text(text, encoding="utf-8")
        (folder / "figures").mkdir()
        for file, figure in figures.items():
            shutil.copyfile(figure, folder / "figures" / file)
        write_json(folder / f"{template}.json", data, sealed=False)
        try:
            pdf = typst.compile(
                str(folder / f"{template}.typ"), root=str(folder), ignore_system_fonts=True
            )
        except typst.TypstError as error:
            raise UserError(f"{source}: {' '.join(str(error).split())}") from error
    with write_atomic(output) as partial:
        # readers of PDFs ignore a comment after the end mark
        partial.write_bytes(pdf.rstrip(b"\n") + b"\n% " + BLANK + b"\n")
        seal(partial)


def _word(row: Estimate, of: Row) -> dict[str, Any]:
    """The verdict on a row, or on a part of it, in the words of its form."""
    word = of.in_form(row.verdict)
    return {"word": word, "symbol": SYMBOLS.get(word or "", "")}


def _numbers(verdict: Row, digits: int) -> dict[str, Any]:
    """The extreme value of an exact row; else its effect and interval, and those of its parts."""
    if verdict.kind == "exact":
        return {"value": extreme_text(verdict)}
    parts = [
        printed_numbers(part, digits)
        | _word(part, verdict)
        | {"name": part.effect_text, "failures": part.failures}
        for part in verdict.parts
    ]
    printed = printed_numbers(verdict, digits)
    if verdict.solves:  # the effect is a share of seeds, of which there is no mean
        printed["mean"] = "–"
    return printed | {
        "value": printed["effect"],
        "failures": verdict.failures,
        "detectable": plain(verdict.detectable, 2),
        "withheld": verdict.withheld,
        "parts": parts,
    }


def _end(row: Row, study: StudyRows) -> str:
    """Where looks ended: the look, its seeds, and the rank that bounds the interval."""
    if not study.looks or row.kind == "exact":
        return ""
    look = f"look {study.look_of(row)}, " if row.state else ""
    return f"{look}{row.n} seeds, k = {row.k}"


def _claimed(verdict: Row, study: StudyRows) -> dict[str, Any]:
    """The register's words on a row, now and in the revision before, and where looks ended."""
    return _word(verdict, verdict) | {
        "id": verdict.id,
        "unjudged": verdict.word if verdict.primary else "secondary",
        "measured": measured_text(verdict),
        "source": source_letter(verdict),
        # the first page names the theorems of judged rows
        "theorem": "" if verdict.primary else verdict.about.name,
        "statement": verdict.statement,
        "cites": verdict.cites,
        "region": verdict.region_text,
        "n": plain(verdict.n),
        "note": "; ".join(verdict.notes),
        "before": _before(verdict, study.revision),
        "end": _end(verdict, study),
    }


def _before(verdict: Row, revision: int) -> str:
    """The result of a row in the revision before; empty in the first revision."""
    if verdict.before is not None:
        name = verdict.before.id
        renamed = "" if name == verdict.id else f" (as {name.removeprefix('exp')})"
        return f"Revision {revision - 1}{renamed}: {earlier_text(verdict.before, verdict)}"
    return f"New in revision {revision}" if revision > 1 and verdict.primary else ""


def _provenance(records: Sequence[tuple[RunRecord, RunHost]], *, anonymous: bool) -> dict[str, Any]:
    runs = [run for run, _ in records]
    hosts = [host for _, host in records]
    data = {f"{run.arm}/{run.variant}": run.inputs for run in runs if run.inputs}
    commits = sorted({(host.commit or "unknown", host.dirty) for host in hosts}, key=str)
    days = sorted({host.started.date().isoformat() for host in hosts})
    seconds = sum(host.cost.cpu_seconds for host in hosts)
    return {
        "commits": ["left out for review"]
        if anonymous
        else [commit + (" with uncommitted changes" if dirty else "") for commit, dirty in commits],
        "days": " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
        "minutes": plain(round(seconds / 60, 1)),
        "versions": sorted(
            {", ".join(f"{name} {of}" for name, of in run.versions.items()) for run in runs}
        ),
        "cpu": sorted({_processors(run) for run in runs}),
        "restored": _restored(records, anonymous=anonymous),
        "engine": sorted(
            {
                f"{run.engine}, {run.device}, {run.threads} thread{'s' * (run.threads != 1)}"
                for run in runs
            }
        ),
        "code": sorted({run.code for run in runs}),
        "data": hashlib.sha256(canonical(data).encode()).hexdigest() if data else None,
        "trained": any(run.kind == "trained" for run in runs),
    }


def _restored(records: Sequence[tuple[RunRecord, RunHost]], *, anonymous: bool) -> str:
    """Where the evidence comes from, if runs were restored from it; else ""."""
    restored = [(run, host) for run, host in records if host.restored]
    if not restored:
        return ""
    commits = sorted(
        {"left out" if anonymous else (host.commit or "unknown")[:12] for _, host in restored}
    )
    processors = sorted({_processors(run) for run, _ in restored})
    return (
        f"{len(restored)} of {len(records)} runs, from evidence of commit {', '.join(commits)}, "
        f"processor {', '.join(processors)}"
    )


def _run_keys(runs: Sequence[RunRecord]) -> str:
    """CSV: the key of every seed of every run, and of every run without seeds."""
    keys: list[tuple[object, ...]] = []
    for run in runs:
        of_seeds = [(seed.seed, seed.status, seed.run_key) for seed in run.seeds]
        of_run = [("", "finished", run.run_key)]
        keys += [(run.arm, run.variant, *key) for key in of_seeds or of_run]
    frame = pd.DataFrame(keys, columns=["arm", "variant", "seed", "status", "run_key"])
    return frame.to_csv(index=False, lineterminator="\n")


def _processors(run: RunRecord) -> str:
    """The processors of a run; a run that moved may differ in bits from one on one processor."""
    first, *others = run.cpu
    return ", then ".join((first, *others)) + (" (resumed: not bit-equal)" if others else "")
