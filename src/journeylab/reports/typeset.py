"""The report of one study: what was judged, drawn and recorded, typeset by Typst."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from journeylab.config import UserError, canonical
from journeylab.records.files import read_json, write_atomic, write_json
from journeylab.records.runs import RunHost, RunRecord, SeedRecord
from journeylab.records.verdicts import Estimate, StudyVerdicts, Verdict
from journeylab.reports.tables import (
    by_variant,
    display,
    failures,
    found,
    shown,
    source,
)
from journeylab.typography import plain

SYMBOLS = {"supported": "✓", "refuted": "✗", "inconclusive": "∼", "undecidable": "?"}
ORDER = ("supported", "refuted", "inconclusive", "undecidable")


def describe(
    verdicts: StudyVerdicts,
    settings: Mapping[str, Any],
    content: Path,
    records: Sequence[tuple[RunRecord, RunHost]],
    *,
    plan_key: str,
) -> dict[str, Any]:
    """Everything the template prints, numbers already in their printed form.

    ``settings`` are the study's, resolved; ``content`` is the folder that was drawn.
    """
    drawn = read_json(content / "content.json")
    numbers = read_json(content / "numbers.json")
    runs = [run for run, _ in records]
    primary = [v for v in verdicts.verdicts if v.primary and v.kind != "exact"]
    secondary = [v for v in verdicts.verdicts if not v.primary and v.kind != "exact"]
    exact = [v for v in verdicts.verdicts if v.kind == "exact"]
    has_ledger = (content / "tables" / "ledger.json").exists()
    return {
        "study": verdicts.study,
        "title": drawn["title"],
        "stamp": None if verdicts.evidence else "quick run – not evidence",
        "scale": verdicts.scale,
        "seeds": plain(verdicts.seeds),
        "judging": _judging(verdicts),
        "revision": verdicts.revision,
        "amendments": list(verdicts.amendments),
        "headline": headline(verdicts),
        "summary": [_summary(v) for v in _by_word(verdicts.verdicts)],
        "verdicts": [_effect(v) for v in primary],
        "secondary": [_effect(v) for v in secondary],
        "certificates": [_certificate(v) for v in exact],
        "figures": drawn["figures"],
        "tables": [read_json(content / "tables" / f"{name}.json") for name in drawn["tables"]],
        "ledger": read_json(content / "tables" / "ledger.json") if has_ledger else None,
        "failures": failures(runs),
        "provenance": _provenance(records),
        "speed": {
            f"{run.arm}/{run.variant}": {name: plain(ms, 2) for name, ms in host.speed.items()}
            for run, host in records
            if host.speed
        },
        "numbers": {key: plain(value) for key, value in numbers.items()},
        "settings": dict(settings),
        "plan_key": plan_key,
    }


def compile_report(report: dict[str, Any], content: Path, prose: str, output: Path) -> None:
    """Compile the template with its data, prose and figures, and write ``output`` atomically."""
    import typst

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for template in (files("journeylab.reports") / "templates").iterdir():
            if template.name.endswith(".typ"):
                text = template.read_text(encoding="utf-8")
                (folder / template.name).write_text(text, encoding="utf-8")
        (folder / "study.typ").write_text(prose, encoding="utf-8")
        shutil.copytree(content / "figures", folder / "figures")
        write_json(folder / "report.json", report, sealed=False)
        try:
            pdf = typst.compile(
                str(folder / "report.typ"), root=str(folder), ignore_system_fonts=True
            )
        except typst.TypstError as error:
            reason = " ".join(str(error).split())
            raise UserError(f"report.typ of {report['study']}: {reason}") from error
    with write_atomic(output) as partial:
        partial.write_bytes(pdf)


def headline(verdicts: StudyVerdicts) -> str:
    """How many claims ended how, in one sentence."""
    words = [v.verdict for v in verdicts.verdicts if v.verdict is not None]
    if not words:
        return "No claim was judged."
    counts = [(word, sum(one == word for one in words)) for word in ORDER]
    told = [f"{n} {'is' if n == 1 else 'are'} {word}" for word, n in counts if n]
    *most, last = told
    listed = f"{', '.join(most)} and {last}" if most else last
    claims = "claim" if len(words) == 1 else "claims"
    return f"Of {len(words)} judged {claims}, {listed}."


_PARTS = (
    " Of a claim with several parts, the end of an interval by which one part alone can settle it "
    "is taken at the tail divided by the number of parts."
)


def _judging(verdicts: StudyVerdicts) -> str:
    if not verdicts.M:
        return "Every claim of this study is exact: the extreme value over all cases decides."
    if verdicts.exploratory:
        return (
            f"Exploratory: {verdicts.exploratory}. Effects and intervals are shown; claims about "
            "seeds are not judged."
        )
    tails = [v.tail for v in verdicts.verdicts if v.primary and v.tail is not None]
    orders = [v.k for v in verdicts.verdicts if v.primary and v.k is not None]
    if not max(orders, default=0):
        return f"With {verdicts.seeds} seeds no claim about trained models can be decided."
    return (
        f"The effect is the median over {verdicts.seeds} seeds of a paired difference. Its "
        f"interval reaches from the ordered difference {max(orders)} to "
        f"{verdicts.seeds + 1 - max(orders)} (tail {plain(min(tails), 2)}: {verdicts.alpha} shared "
        f"by {verdicts.M} tails) and is valid for any distribution. A claim is supported if the "
        "whole interval lies in the claimed region, refuted if it lies outside, and otherwise "
        "inconclusive. A failed seed counts against either decision. The probability of any wrong "
        f"verdict in this study is at most {verdicts.alpha}. Under an interval stands what "
        "the seeds can see: the distance from the margin that they decide with probability 0.8 at "
        "their spread (of “in most seeds”, the probability of success that they do)."
        f"{_PARTS if any(v.parts and v.primary for v in verdicts.verdicts) else ''}"
    )


def _by_word(verdicts: Sequence[Verdict]) -> list[Verdict]:
    judged = [v for v in verdicts if v.verdict is not None]
    return sorted(judged, key=lambda v: ORDER.index(v.verdict or ORDER[-1]))


def _summary(verdict: Verdict) -> dict[str, Any]:
    return _word(verdict) | {
        "id": verdict.id,
        "source": source(verdict),
        "sentence": verdict.sentence,
    }


def _word(row: Estimate) -> dict[str, Any]:
    return {"word": row.verdict, "symbol": SYMBOLS.get(row.verdict or "", "")}


def _effect(verdict: Verdict) -> dict[str, Any]:
    parts = [
        shown(part) | _word(part) | {"name": part.effect_text, "failures": part.failures}
        for part in verdict.parts
    ]
    joined = "" if parts else f"{verdict.effect_text}; "
    return (
        _word(verdict)
        | shown(verdict)
        | {
            "id": verdict.id,
            "source": source(verdict),
            "theorem": verdict.theorem,
            "statement": verdict.statement,
            "measured": joined + verdict.metric_label,
            "region": verdict.region_text,
            "n": plain(verdict.n),
            "failures": verdict.failures,
            "detectable": plain(verdict.detectable, 2),
            "withheld": verdict.withheld,
            "unjudged": "withheld" if verdict.withheld else "not judged",
            "note": "; ".join(verdict.notes),
            "parts": parts,
        }
    )


def _certificate(verdict: Verdict) -> dict[str, Any]:
    return _word(verdict) | {
        "unjudged": "not judged" if verdict.primary else "secondary",
        "id": verdict.id,
        "source": source(verdict),
        "theorem": verdict.theorem,
        "statement": verdict.statement,
        "measured": verdict.effect_text,
        "found": found(verdict),
        "region": verdict.region_text,
        "n": plain(verdict.n),
        "note": "; ".join(verdict.notes),
    }


def _provenance(records: Sequence[tuple[RunRecord, RunHost]]) -> dict[str, Any]:
    runs = [run for run, _ in records]
    hosts = [host for _, host in records]
    data = {f"{run.arm}/{run.variant}": run.inputs for run in runs if run.inputs}
    commits = sorted({(host.commit or "unknown", host.dirty) for host in hosts}, key=str)
    days = sorted({host.started.date().isoformat() for host in hosts})
    seconds = sum(host.cost.cpu_seconds for host in hosts)
    return {
        "commits": [
            commit + (" with uncommitted changes" if dirty else "") for commit, dirty in commits
        ],
        "days": " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
        "minutes": plain(round(seconds / 60, 1)),
        "versions": _unique(
            ", ".join(f"{name} {version}" for name, version in run.versions.items()) for run in runs
        ),
        "cpu": _unique(_processors(run) for run in runs),
        "engine": _unique(
            f"{run.engine}, {run.device}, {run.threads} "
            f"{'thread' if run.threads == 1 else 'threads'}"
            for run in runs
        ),
        "code": _unique(run.code for run in runs),
        "data": hashlib.sha256(canonical(data).encode()).hexdigest() if data else None,
        "runs": [
            {
                "name": f"{arm}/{display(variant)}",
                "keys": [key for run in chunks for key in _keys(run)],
            }
            for (arm, variant), chunks in by_variant(runs).items()
        ],
        "trained": any(run.kind == "trained" for run in runs),
    }


def _keys(run: RunRecord) -> list[dict[str, Any]]:
    if not run.seeds:
        return [{"seed": "", "key": run.run_key, "failed": False}]
    return [_key(seed) for seed in run.seeds]


def _key(seed: SeedRecord) -> dict[str, Any]:
    return {"seed": str(seed.seed), "key": seed.run_key, "failed": seed.status == "failed"}


def _processors(run: RunRecord) -> str:
    """What computed a run; one that moved need not equal a run on one processor, bit by bit."""
    first, *others = run.cpu
    return ", then ".join((first, *others)) + (" (resumed: not bit-equal)" if others else "")


def _unique(values: Iterable[str]) -> list[str]:
    return sorted(set(values))
