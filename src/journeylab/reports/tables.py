"""The tables every study has: verdicts, certificates, the fairness table, failures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from journeylab.config import Labels
from journeylab.plotting.results import Table
from journeylab.records.runs import RunRecord
from journeylab.records.verdict_text import outcome, run_text, source_letter
from journeylab.records.verdicts import Estimate, StudyVerdicts, Verdict
from journeylab.typography import decimals, fixed, plain, scientific, short


def verdict_tables(study: StudyVerdicts) -> dict[str, Table]:
    """The claims about trained models, the exact claims, and the secondary rows."""
    judged = [v for v in study.verdicts if v.primary and v.kind != "exact"]
    exact = [v for v in study.verdicts if v.kind == "exact"]
    secondary = [v for v in study.verdicts if not v.primary and v.kind != "exact"]
    sources = "D: as the document states it; C: corrected."
    seeds = f"{plain(study.seeds)} seeds."
    numbers = ("Effect", "Interval", "Detectable")
    return {
        name: Table(name=name, caption=caption, frame=frame, notes=notes, numeric=numeric)
        for name, caption, frame, notes, numeric in (
            ("verdicts", "Verdicts.", _effects(judged), f"{seeds} {sources}", numbers),
            ("certificates", "Certificates.", _exact(exact), sources, ("Value", "Cases")),
            (
                "secondary",
                "Secondary measurements, without verdicts.",
                _effects(secondary),
                f"{seeds} {sources}",
                numbers,
            ),
        )
        if len(frame)
    }


def fairness(
    runs: Sequence[RunRecord], tuning: str | Mapping[str, str], labels: Labels, arms: Labels
) -> Table | None:
    """Size, compute, data, steps and tuning of every variant; None if nothing was trained.

    ``labels`` and ``arms`` name variants and arms in print.
    """
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
                "Arm": arms.get(arm, arm),
                "Variant": labels.get(variant, variant),
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
    return Table("fairness", "Fairness table.", frame, notes, numeric)


def failures(runs: Sequence[RunRecord], labels: Labels, arms: Labels) -> list[dict[str, str]]:
    """Every failed seed with its reason, by the printed name of its run."""
    return [
        {
            "run": run_text(run.arm, run.variant, labels, arms),
            "seed": str(seed.seed),
            "reason": seed.reason or "not recorded",
        }
        for run in runs
        for seed in run.seeds
        if seed.status == "failed"
    ]


def printed_table(table: Table) -> dict[str, Any]:
    """A table as templates print it: caption, notes, heads with their alignment, rows of text."""
    heads = [str(head) for head in table.frame.columns]
    return {
        "caption": table.caption,
        "notes": table.notes,
        "columns": [{"head": head, "numeric": head in table.numeric} for head in heads],
        "rows": table.frame.astype(str).to_numpy().tolist(),
    }


def places(rows: Iterable[Verdict]) -> int:
    """The decimals of all effects and intervals of a table: three digits of its narrowest row."""
    widths = [_width(row) for verdict in rows for row in (verdict, *verdict.parts)]
    return min(4, max((decimals(width, 3) for width in widths if width), default=3))


def _width(row: Estimate) -> float:
    ends = [x for x in (row.low, row.high, *(p.value for p in row.points)) if x is not None]
    return max(ends) - min(ends) if ends else 0.0


def printed_numbers(row: Estimate, digits: int) -> dict[str, str]:
    """Effect, mean and interval in print, with ``digits`` decimals; unbounded ends are infinities.

    Nonzero values that would print as 0 use scientific notation; below 1e-12 of the row's largest
    they count as 0.
    """
    rounding = 1e-12 * max(abs(x) for x in (row.effect, row.low, row.high, 0.0) if x is not None)

    def text(value: float | None, unbounded: str = "n/a") -> str:
        if value is None:
            return unbounded
        lost = abs(value) > rounding and float(f"{value:.{digits}f}") == 0
        return plain(value, 2) if lost else fixed(value, digits)

    return {
        "effect": text(row.effect),
        "mean": text(row.mean),
        "interval": f"[{text(row.low, '−∞')}, {text(row.high, '∞')}]",
    }


def _effects(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    rows, digits = [], places(verdicts)
    for verdict in verdicts:
        printed = printed_numbers(verdict, digits)
        row = {
            "Claim": verdict.id,
            "Source": source_letter(verdict),
            "Statement": verdict.statement,
            "Effect": printed["effect"],
            "Interval": printed["interval"],
            "Detectable": plain(verdict.detectable, 2),
            "Claimed": verdict.region_text,
        }
        judged = {"Verdict": outcome(verdict, {})} if verdict.primary else {}
        rows.append(row | judged)
    return pd.DataFrame(rows)


def _exact(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    powers = needs_powers(verdicts)
    return pd.DataFrame(
        {
            "Claim": verdict.id,
            "Source": source_letter(verdict),
            "Statement": verdict.statement,
            "Value": extreme_text(verdict, powers=powers),
            "Claimed": verdict.region_text,
            "Cases": plain(verdict.n),
            "Verdict": outcome(verdict, {}) if verdict.primary else "secondary",
        }
        for verdict in verdicts
    )


def needs_powers(verdicts: Iterable[Verdict]) -> bool:
    """Whether a table prints extreme values as powers of ten: where at least one needs it."""
    return any("×" in plain(verdict.effect) for verdict in verdicts)


def extreme_text(verdict: Verdict, *, powers: bool) -> str:
    """The extreme value of an exact claim; ``powers`` prints it as a power of ten."""
    if powers and verdict.extreme is not None:
        return scientific(verdict.extreme)
    return plain(verdict.extreme, digits=2)


def by_variant(runs: Sequence[RunRecord]) -> dict[tuple[str, str], list[RunRecord]]:
    """The runs of every (arm, variant), in the given order."""
    grouped: dict[tuple[str, str], list[RunRecord]] = {}
    for run in runs:
        grouped.setdefault((run.arm, run.variant), []).append(run)
    return grouped
