"""The report of one study: what was judged, drawn and recorded, typeset by Typst."""

import csv
import hashlib
import io
import math
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from journeylab.config import UserError, canonical
from journeylab.records.files import read_json, write_atomic, write_json
from journeylab.records.runs import RunHost, RunRecord
from journeylab.records.verdicts import WORDS, Estimate, Registration, StudyVerdicts, Verdict
from journeylab.reports.meaning import meaning
from journeylab.reports.tables import (
    earlier,
    failures,
    found,
    needs_powers,
    places,
    shown,
    source,
)
from journeylab.typography import plain

STAMP = "quick run – not evidence"
SYMBOLS = {"supported": "✓", "refuted": "✗", "inconclusive": "∼", "undecidable": "?"}


def describe(
    verdicts: StudyVerdicts,
    settings: Mapping[str, Any],
    content: Path,
    records: Sequence[tuple[RunRecord, RunHost]],
    registered: Mapping[str, Registration],
    *,
    plan_key: str,
    anonymous: bool = False,
) -> dict[str, Any]:
    """Everything the template prints, numbers already in their printed form.

    ``settings`` are the study's, resolved; ``content`` is the folder that was drawn; ``registered``
    says of every row whether it was registered before its runs.
    """
    drawn = read_json(content / "content.json")
    numbers = read_json(content / "numbers.json")
    runs = [run for run, _ in records]
    has_fairness = (content / "tables" / "fairness.json").exists()
    return {
        "study": verdicts.study,
        "title": drawn["title"],
        "stamp": None if verdicts.evidence else STAMP,
        "scale": verdicts.scale,
        "seeds": plain(verdicts.seeds),
        "judging": _judging(verdicts),
        "revision": verdicts.revision,
        "amendments": list(verdicts.amendments),
        "dropped": [f"{row.id.removeprefix('exp')} {earlier(row)}" for row in verdicts.dropped],
        "headline": headline(verdicts.verdicts),
        "meaning": meaning(verdicts),
        "registration": tell_registration(verdicts, registered),
        "summary": [_summary(v) for v in _by_word(verdicts.verdicts)],
        **printed_rows(verdicts),
        "figures": drawn["figures"],
        "tables": [read_json(content / "tables" / f"{name}.json") for name in drawn["tables"]],
        "fairness": read_json(content / "tables" / "fairness.json") if has_fairness else None,
        "labels": drawn["labels"],
        "failures": failures(runs, drawn["labels"]),
        "provenance": _provenance(records, anonymous=anonymous),
        "timings": {
            f"{run.arm}/{run.variant}": {
                key: plain(value, 2) for key, value in host.timings.items()
            }
            for run, host in records
            if host.timings
        },
        "run_keys": _run_keys(runs),
        "numbers": {key: plain(value) for key, value in numbers.items()},
        "settings": dict(settings),
        "plan_key": plan_key,
    }


def printed_rows(study: StudyVerdicts) -> dict[str, list[dict[str, Any]]]:
    """All rows in print: the verdicts over seeds, the certificates, and what is secondary."""
    primary = [v for v in study.verdicts if v.primary and v.kind != "exact"]
    secondary = [v for v in study.verdicts if not v.primary and v.kind != "exact"]
    exact = [v for v in study.verdicts if v.kind == "exact"]
    return {
        "verdicts": _effects(primary, study.revision),
        "secondary": _effects(secondary, study.revision),
        "certificates": _certificates(exact, study.revision),
    }


def compile_report(report: dict[str, Any], content: Path, prose: str, output: Path) -> None:
    """Compile a study's report with its data, prose and figures."""
    figures = {path.name: path for path in (content / "figures").iterdir()}
    told = f"report.typ of {report['study']}"
    compile_pdf("report", report, figures, output, told, {"study.typ": prose})


def compile_pdf(
    template: str,
    data: Mapping[str, Any],
    figures: Mapping[str, Path],
    output: Path,
    told: str,
    more: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Compile ``<template>.typ`` with its data and figures, and write ``output`` atomically.

    ``more`` are further files by their names. Raises UserError, which begins with ``told``, for
    what Typst refuses.
    """
    import typst

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in (files("journeylab.reports") / "templates").iterdir():
            if source.name.endswith(".typ"):
                (folder / source.name).write_bytes(source.read_bytes())
        for file, text in more.items():
            (folder / file).write_text(text, encoding="utf-8")
        (folder / "figures").mkdir()
        for file, path in figures.items():
            shutil.copyfile(path, folder / "figures" / file)
        write_json(folder / f"{template}.json", data, sealed=False)
        try:
            pdf = typst.compile(
                str(folder / f"{template}.typ"), root=str(folder), ignore_system_fonts=True
            )
        except typst.TypstError as error:
            raise UserError(f"{told}: {' '.join(str(error).split())}") from error
    with write_atomic(output) as partial:
        partial.write_bytes(pdf)


def headline(verdicts: Sequence[Verdict]) -> str:
    """How many claims ended how, in one sentence."""
    words = [v.verdict for v in verdicts if v.verdict is not None]
    if not words:
        return "No claim was judged."
    counts = [(word, sum(one == word for one in words)) for word in WORDS]
    told = [f"{n} {'is' if n == 1 else 'are'} {word}" for word, n in counts if n]
    *most, last = told
    listed = f"{', '.join(most)} and {last}" if most else last
    claims = "claim" if len(words) == 1 else "claims"
    withheld = sum(bool(v.withheld) for v in verdicts)
    ending = f"; {withheld} {'is' if withheld == 1 else 'are'} withheld" if withheld else ""
    return f"Of {len(words)} judged {claims}, {listed}{ending}."


def tell_registration(verdicts: StudyVerdicts, registered: Mapping[str, Registration]) -> list[str]:
    """Which judged rows were registered before their runs, and which are exploratory, by reason."""
    groups: dict[str, list[str]] = {}
    for verdict in verdicts.verdicts:
        if verdict.verdict is not None and verdict.id in registered:
            groups.setdefault(registered[verdict.id].text, []).append(verdict.id)
    if len(groups) == 1:
        (told,) = groups
        return [f"All judged claims: {told}."]
    return [
        f"{', '.join(row.removeprefix('exp') for row in rows)}: {told}."
        for told, rows in groups.items()
    ]


def _judging(verdicts: StudyVerdicts) -> str:
    """How the rows of this study are judged, and their intervals, as they are."""
    rows = [v for v in verdicts.verdicts if v.primary and v.kind != "exact"]
    if not rows:
        return "Every claim of this study is exact: the extreme value over all cases decides."
    if verdicts.exploratory:
        return (
            f"Exploratory: {verdicts.exploratory}. Effects and intervals are shown; claims about "
            "seeds are not judged."
        )
    looks = sorted({(v.n, v.k, v.tail) for v in rows if v.k and v.tail is not None})
    if not looks:
        return f"With {verdicts.seeds} seeds no claim over seeds can be decided."
    solving = [v for v in rows if "solves" in v.region]
    told = []
    if len(solving) < len(rows):
        ends = " and ".join(
            f"at {n} seeds from the ordered difference {k} to {n + 1 - (k or 0)}"
            for n, k, _ in looks
        )
        told.append(
            "The effect is the median over seeds of a paired difference, and its interval reaches "
            f"{ends}: valid for any distribution. In its lower end a failed seed counts as −∞, in "
            "its upper end as ∞."
        )
    if solving:
        told.append(
            "Of a claim about most seeds the effect is the share of seeds that reach the "
            "threshold, and the interval the Clopper–Pearson interval of the probability that a "
            "seed does, which is held against ½. In its lower end a failed seed counts as one that "
            "does not reach it, in its upper end as one that does."
        )
    told.append(f"Each end is wrong with probability at most {_tails(verdicts, looks)}.")
    if any(v.parts for v in rows):
        told.append(
            "Of a claim with several parts, the end by which one part alone can settle it is taken "
            "at that tail divided by the number of parts."
        )
    told.append(
        "A claim is supported if the whole interval lies in the claimed region, refuted if it lies "
        "outside, and otherwise inconclusive. The probability of any wrong verdict in this study "
        f"is at most {verdicts.alpha}."
    )
    if any(v.detectable is not None for v in rows):
        told.append(
            "“Detectable” is the distance from the margin that these seeds decide with probability "
            "0.8 at their spread"
            + ("; in most seeds, the probability of success." if solving else ".")
        )
    return " ".join(told)


def _tails(verdicts: StudyVerdicts, looks: Iterable[tuple[int, int | None, float | None]]) -> str:
    """The tail of each look, and how it comes from α."""
    told = []
    for n, _, tail in looks:
        share = (tail or 0.0) * verdicts.M / verdicts.alpha
        part = "" if math.isclose(share, 1) else f"a share of {plain(share, 2)} of "
        told.append(
            f"{plain(tail, 2)} at {n} seeds ({part}{verdicts.alpha}, divided by {verdicts.M} tails)"
        )
    return " and ".join(told)


def _by_word(verdicts: Sequence[Verdict]) -> list[Verdict]:
    judged = [v for v in verdicts if v.verdict is not None]
    return sorted(judged, key=lambda v: WORDS.index(v.verdict or WORDS[-1]))


def _summary(verdict: Verdict) -> dict[str, Any]:
    return _word(verdict) | {
        "id": verdict.id,
        "source": source(verdict),
        "sentence": verdict.sentence,
    }


def _word(row: Estimate) -> dict[str, Any]:
    return {"word": row.verdict, "symbol": SYMBOLS.get(row.verdict or "", "")}


def _effects(verdicts: Sequence[Verdict], revision: int) -> list[dict[str, Any]]:
    digits = places(verdicts)
    return [_effect(verdict, digits, revision) for verdict in verdicts]


def _effect(verdict: Verdict, digits: int, revision: int) -> dict[str, Any]:
    parts = [
        shown(part, digits) | _word(part) | {"name": part.effect_text, "failures": part.failures}
        for part in verdict.parts
    ]
    joined = "" if parts else f"{verdict.effect_text}; "
    return (
        _word(verdict)
        | shown(verdict, digits)
        | _claimed(verdict, revision)
        | {
            "measured": joined + verdict.metric_label,
            "failures": verdict.failures,
            "detectable": plain(verdict.detectable, 2),
            "withheld": verdict.withheld,
            "unjudged": "withheld" if verdict.withheld else "not judged",
            "parts": parts,
        }
    )


def _certificates(verdicts: Sequence[Verdict], revision: int) -> list[dict[str, Any]]:
    powers = needs_powers(verdicts)
    return [
        _word(verdict)
        | _claimed(verdict, revision)
        | {
            "unjudged": "not judged" if verdict.primary else "secondary",
            "measured": verdict.effect_text,
            "found": found(verdict, powers=powers),
        }
        for verdict in verdicts
    ]


def _claimed(verdict: Verdict, revision: int) -> dict[str, Any]:
    """What stands in the register of a row, now and before."""
    return {
        "id": verdict.id,
        "source": source(verdict),
        "theorem": verdict.theorem,
        "statement": verdict.statement,
        "cites": verdict.cites if verdict.source == "document" else "",
        "region": verdict.region_text,
        "n": plain(verdict.n),
        "note": "; ".join(verdict.notes),
        "before": _before(verdict, revision),
    }


def _before(verdict: Verdict, revision: int) -> str:
    """What the revision before said of a row; nothing in the first revision."""
    if verdict.before is not None:
        name = verdict.before.id
        renamed = "" if name == verdict.id else f" (as {name.removeprefix('exp')})"
        return f"Revision {revision - 1}{renamed}: {earlier(verdict.before)}"
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
        "versions": _unique(
            ", ".join(f"{name} {version}" for name, version in run.versions.items()) for run in runs
        ),
        "cpu": _unique(_processors(run) for run in runs),
        "restored": _restored(records, anonymous=anonymous),
        "engine": _unique(
            f"{run.engine}, {run.device}, {run.threads} "
            f"{'thread' if run.threads == 1 else 'threads'}"
            for run in runs
        ),
        "code": _unique(run.code for run in runs),
        "data": hashlib.sha256(canonical(data).encode()).hexdigest() if data else None,
        "trained": any(run.kind == "trained" for run in runs),
    }


def _restored(records: Sequence[tuple[RunRecord, RunHost]], *, anonymous: bool) -> str:
    """Where the evidence comes from, if runs were restored from it; else ""."""
    restored = [(run, host) for run, host in records if host.restored]
    if not restored:
        return ""
    commits = _unique(
        "left out" if anonymous else (host.commit or "unknown")[:12] for _, host in restored
    )
    processors = _unique(_processors(run) for run, _ in restored)
    return (
        f"{len(restored)} of {len(records)} runs, from evidence of commit {', '.join(commits)}, "
        f"processor {', '.join(processors)}"
    )


def _run_keys(runs: Sequence[RunRecord]) -> str:
    """CSV: the key of every seed of every run, and of what is computed once."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("arm", "variant", "seed", "status", "run_key"))
    for run in runs:
        for seed in run.seeds:
            writer.writerow((run.arm, run.variant, seed.seed, seed.status, seed.run_key))
        if not run.seeds:
            writer.writerow((run.arm, run.variant, "", "finished", run.run_key))
    return text.getvalue()


def _processors(run: RunRecord) -> str:
    """What computed a run; one that moved need not equal a run on one processor, bit by bit."""
    first, *others = run.cpu
    return ", then ".join((first, *others)) + (" (resumed: not bit-equal)" if others else "")


def _unique(values: Iterable[str]) -> list[str]:
    return sorted(set(values))
