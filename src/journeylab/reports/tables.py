"""The tables every study has: verdicts, certificates, the fairness ledger, failures."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from journeylab.plotting.results import Table
from journeylab.records.runs import RunRecord
from journeylab.records.verdicts import Estimate, StudyVerdicts, Verdict
from journeylab.typography import decimals, fixed, plain, short


def verdict_tables(study: StudyVerdicts) -> dict[str, Table]:
    """The claims about trained models, the exact claims, and the secondary rows."""
    judged = [v for v in study.verdicts if v.primary and v.kind != "exact"]
    exact = [v for v in study.verdicts if v.kind == "exact"]
    secondary = [v for v in study.verdicts if not v.primary and v.kind != "exact"]
    return {
        name: Table(name=name, caption=caption, frame=frame, notes=notes, numeric=numeric)
        for name, caption, frame, notes, numeric in (
            (
                "verdicts",
                "Verdicts.",
                _effects(judged, judged=True),
                "D: as the document says it; C: corrected.",
                ("Effect", "Interval", "Seeds"),
            ),
            (
                "certificates",
                "Certificates.",
                _exact(exact),
                "D: as the document says it; C: corrected.",
                ("Found", "Cases"),
            ),
            (
                "secondary",
                "Secondary measurements, without verdicts.",
                _effects(secondary, judged=False),
                "",
                ("Effect", "Interval", "Seeds"),
            ),
        )
        if len(frame)
    }


def ledger(runs: Sequence[RunRecord], tuning: str | Mapping[str, str]) -> Table | None:
    """What each variant was given: size, compute, data, steps, tuning; None if nothing trained."""
    rows = []
    for (arm, variant), chunks in by_variant(runs).items():
        first = chunks[0]
        if first.training is None:
            continue
        seeds = [seed for run in chunks for seed in run.seeds]
        failed = sum(seed.status == "failed" for seed in seeds)
        settings = first.settings["training"]
        budget = tuning if isinstance(tuning, str) else tuning.get(f"{arm}/{variant}", "")
        rows.append(
            {
                "Arm": arm,
                "Variant": display(variant),
                "Parameters": plain(first.training.parameters),
                "FLOPs": plain(first.training.flops),
                "Tokens": plain(first.training.tokens),
                "Steps": plain(settings["steps"]),
                "Rate": short(settings["learning_rate"]),
                "Seeds": plain(len(seeds)),
                "Failed": plain(failed),
                "Tuning": budget,
            }
        )
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    notes = "Parameters, training FLOPs, tokens and steps are per seed."
    if frame["Tuning"].nunique() == 1:
        notes += f" Tuning of every variant: {frame['Tuning'].iloc[0]}."
        frame = frame.drop(columns="Tuning")
    numeric = tuple(h for h in frame.columns if h not in ("Arm", "Variant", "Tuning"))
    return Table("ledger", "Fairness ledger.", frame, notes, numeric)


def failures(runs: Sequence[RunRecord]) -> list[dict[str, str]]:
    """Every failed seed with its reason."""
    return [
        {
            "run": f"{run.arm}/{display(run.variant)}",
            "seed": str(seed.seed),
            "reason": seed.reason or "not recorded",
        }
        for run in runs
        for seed in run.seeds
        if seed.status == "failed"
    ]


def display(variant: str) -> str:
    """The printed name of a variant: Aprime is A′."""
    return variant.removesuffix("prime") + ("′" if variant.endswith("prime") else "")


def shown(row: Estimate) -> dict[str, str]:
    """Effect, mean and interval in print, with as many decimals as the interval's width deserves.

    Unbounded ends are infinities.
    """
    ends = [x for x in (row.low, row.high, *(p.value for p in row.points)) if x is not None]
    width = max(ends) - min(ends) if ends else 0.0
    places = min(4, decimals(width, 3)) if width else 3
    low = "−∞" if row.low is None else fixed(row.low, places)
    high = "∞" if row.high is None else fixed(row.high, places)
    return {
        "effect": fixed(row.effect, places),
        "mean": fixed(row.mean, places),
        "interval": f"[{low}, {high}]",
    }


def source(verdict: Verdict) -> str:
    """D for the document's claim, C for a corrected one."""
    return "D" if verdict.source == "document" else "C"


def _effects(verdicts: Iterable[Verdict], *, judged: bool) -> pd.DataFrame:
    rows = []
    for verdict in verdicts:
        printed = shown(verdict)
        row = {
            "Claim": verdict.id,
            "Source": source(verdict),
            "Statement": verdict.statement,
            "Effect": printed["effect"],
            "Interval": printed["interval"],
            "Claimed": verdict.region_text,
            "Seeds": plain(verdict.n),
        }
        rows.append(row | ({"Verdict": verdict.verdict or "not judged"} if judged else {}))
    return pd.DataFrame(rows)


def _exact(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Claim": verdict.id,
            "Source": source(verdict),
            "Statement": verdict.statement,
            "Found": found(verdict),
            "Claimed": verdict.region_text,
            "Cases": plain(verdict.n),
            "Verdict": verdict.verdict or ("not judged" if verdict.primary else "secondary"),
        }
        for verdict in verdicts
    )


def found(verdict: Verdict) -> str:
    """The extreme value of an exact claim; ∞ where a case was not finite."""
    if verdict.effect is None:
        return "∞" if verdict.n else "n/a"
    return plain(verdict.effect, digits=2)


def by_variant(runs: Sequence[RunRecord]) -> dict[tuple[str, str], list[RunRecord]]:
    """The runs of every (arm, variant), in the order in which they are given."""
    found: dict[tuple[str, str], list[RunRecord]] = {}
    for run in runs:
        found.setdefault((run.arm, run.variant), []).append(run)
    return found
