"""The tables every study has: verdicts, certificates, the fairness table, failures."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from journeylab.plotting.results import Table
from journeylab.records.runs import RunRecord
from journeylab.wording.effects import Names
from journeylab.wording.names import StudyNames
from journeylab.wording.numbers import extreme_text, places, printed_numbers
from journeylab.wording.rows import Row, StudyRows
from journeylab.wording.typography import plain, short
from journeylab.wording.verdicts import grouped, seed_numbers, source_letter

_CODE = "Checks of code, in no count of verdicts."
_SECONDARY = "Secondary measurements, without verdicts."


def verdict_tables(study: StudyRows) -> dict[str, Table]:
    """The claims about trained models, the exact claims, and the secondary rows."""
    judged, secondary = study.over_seeds(), study.over_seeds(primary=False)
    sources = "D: as the document states it; C: corrected."
    settled = ""
    if any(row.state == "settled" for row in judged):
        settled = " Settled: further seeds could not decide it."
    numbers = ("Seeds", "Effect", "Interval", "Detectable")
    notes = [f"{seed_numbers(study, rows)} seeds. {sources}" for rows in (judged, secondary)]
    exact = ("Value", "Cases")
    tables = {
        "verdicts": Table(_effects(judged), numbers, {}, "Verdicts.", notes[0] + settled),
        "certificates": Table(_exact(study.exact), exact, {}, "Certificates.", sources),
        "checks": Table(_checks(study.checks), caption=_CODE),
        "secondary": Table(_effects(secondary), numbers, {}, _SECONDARY, notes[1]),
    }
    return {name: table for name, table in tables.items() if len(table.frame)}


def fairness(runs: Sequence[RunRecord], names: StudyNames) -> Table | None:
    """Size, compute, data, steps and tuning of every variant; None if nothing was trained."""
    rows = []
    variants = grouped(((run.arm, run.variant), run) for run in runs)
    for (arm, variant), chunks in variants.items():
        first = chunks[0]
        if first.training is None:
            continue
        seeds = [seed for run in chunks for seed in run.seeds]
        failed = sum(seed.status == "failed" for seed in seeds)
        settings = first.settings["training"]
        worlds = first.settings.get("data", {}).get("worlds", 1)
        rows.append(
            {
                "Arm": names.arms.get(arm, arm),
                "Variant": names.labels.get(variant, variant),
                "Parameters": plain(first.training.parameters),
                "FLOPs": plain(first.training.flops),
                "Supervised tokens": plain(first.training.tokens),
                "Steps": plain(settings["steps"]),
                "Rate": short(settings["learning_rate"]),
                "Seeds": plain(len(seeds)),
                "Worlds": plain(worlds),
                "Failed": plain(failed),
            }
        )
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    if (frame["Worlds"] == "1").all():
        frame = frame.drop(columns="Worlds")
    unit = "world of a seed" if "Worlds" in frame else "seed"
    notes = (
        f"Parameters, FLOPs of training as implemented, tokens and steps are per {unit}. Tuning of "
        f"every variant: {names.tuning}."
    )
    return Table(frame, tuple(frame.columns[2:]), {}, "Fairness table.", notes)


def failures(runs: Sequence[RunRecord], names: Names) -> list[dict[str, str]]:
    """The failed seeds of every run, by its printed name: a line for each kind of reason."""
    seeds: dict[tuple[str, str], list[str]] = {}
    steps: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        name = names.run(f"{run.arm}/{run.variant}")
        for seed in (seed for seed in run.seeds if seed.status == "failed"):
            reason, _, step = (seed.reason or "not recorded").partition(" at step ")
            seeds.setdefault((name, reason), []).append(str(seed.seed))
            steps.setdefault((name, reason), []).extend([int(step)] if step.isdigit() else [])
    return [
        {"run": name, "seeds": ", ".join(failed), "reason": reason + _between(steps[name, reason])}
        for (name, reason), failed in seeds.items()
    ]


def _between(steps: Sequence[int]) -> str:
    """At which steps seeds failed."""
    if not steps:
        return ""
    if min(steps) == max(steps):
        return f" at step {steps[0]}"
    return f" at steps {min(steps)} to {max(steps)}"


def printed_table(table: Table) -> dict[str, Any]:
    """A table as templates print it: caption, notes, heads with their alignment, rows of text."""
    heads = [str(head) for head in table.frame.columns]
    return {
        "caption": table.caption,
        "notes": table.notes,
        "columns": [{"head": head, "numeric": head in table.numeric} for head in heads],
        "rows": table.frame.astype(str).to_numpy().tolist(),
    }


def _effects(verdicts: Sequence[Row]) -> pd.DataFrame:
    rows, digits = [], places(verdicts)
    differ = len({verdict.n for verdict in verdicts}) > 1
    for verdict in verdicts:
        printed = printed_numbers(verdict, digits)
        row = {
            "Claim": verdict.id,
            "Source": source_letter(verdict),
            "Statement": verdict.statement,
            **({"Seeds": plain(verdict.n)} if differ else {}),
            "Effect": printed["effect"],
            "Interval": printed["interval"],
            "Detectable": plain(verdict.detectable, 2),
            "Claimed": verdict.region_text,
        }
        settled = " (settled)" if verdict.state == "settled" else ""
        judged = {"Verdict": verdict.word + settled} if verdict.primary else {}
        rows.append(row | judged)
    return pd.DataFrame(rows)


def _exact(verdicts: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Claim": verdict.id,
            "Source": source_letter(verdict),
            "Statement": verdict.statement,
            "Value": extreme_text(verdict),
            "Claimed": verdict.region_text,
            "Cases": plain(verdict.n),
            "Verdict": verdict.word if verdict.primary else "secondary",
        }
        for verdict in verdicts
    )


def _checks(verdicts: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame(
        {"Check": row.id, "Statement": row.statement, "Claimed": row.region_text, "": row.word}
        for row in verdicts
    )
