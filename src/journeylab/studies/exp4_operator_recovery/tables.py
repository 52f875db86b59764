"""Tables of exp4, and the numbers of its prose that are no reductions of measurements."""

import math
from collections.abc import Sequence

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import RunName, StudyResults, Table
from journeylab.studies.exp4_operator_recovery.settings import CONTROLS
from journeylab.wording.typography import fixed

STAGE = {"initial": "before training", "trained": "after training"}
ONE, EACH = ("single-0", "single-0.1"), ("positions-free", "positions-pressed")
SHORT = {
    "off_block": "off-block",
    "block_defect": "mean |σ − 1|",
    "modulus_spread": "sd |λ|",
    "orthogonality_defect": "orth. defect",
    "henrici": "Henrici",
    "real_share": "real λ",
    "singular_spread": "sd σ",
    "angle_linearity": "R², angles",
    "angle_null_share": "null share",
    "commutator": "commutator",
    "joint_off_block": "joint off-block",
    "linearity": "R² of R_s",
    "transport_linearity": "R² of T",
}
"""Short names of metrics for narrow columns, in the order of the tables."""


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Every metric of every run and of random operators."""
    tabulated = {"single": (*ONE, "controls"), "positions": EACH}
    names = tuple(SHORT)
    metrics = {"single": names[:9], "positions": (*names[:3], *names[9:])}
    tables = {
        name: _tabulate(results, runs, metrics[name])
        for name, arms in tabulated.items()
        if (runs := [run for run in results.present if run[0] in arms])
    }
    return tables | {"null": _tabulate_null(results)}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The largest R² of independent random rotations."""
    least = float(results.pool("bend", case="broken")["value"].min())
    return {"linear.broken": "n/a" if math.isnan(least) else 1.0 - least}


def _tabulate(results: StudyResults, runs: Sequence[RunName], metrics: Sequence[str]) -> Table:
    rows = [
        {"Operators": results.arms[arm], "Start": results.labels[variant]}
        | {"Loss": _of_stage(results, "loss", (arm, variant), "trained")}
        | {SHORT[metric]: _both(results, metric, (arm, variant)) for metric in metrics}
        for arm, variant in runs
    ]
    return plot.table(
        rows,
        words=2,
        numbers=plot.medians(
            results,
            {f"{m} {stage}": (m, {"stage": stage}) for m in metrics for stage in STAGE},
            tuple({arm for arm, _ in runs}),
        ).numbers,
    )


def _both(results: StudyResults, metric: str, run: RunName) -> str:
    before, after = (_of_stage(results, metric, run, stage) for stage in STAGE)
    return after if run[1] in CONTROLS else f"{after} ({before})"


def _of_stage(results: StudyResults, metric: str, run: RunName, stage: str) -> str:
    return plot.median(results.values(metric, run, stage=stage), 2)


def _tabulate_null(results: StudyResults) -> Table:
    heads = {
        (arm, start): f"{results.labels[start]}, {operators}"
        for arm, operators in (("random-one", "one R"), ("random-each", "R per position"))
        for start in ("near-identity", "orthogonal")
    }
    rows = [
        {"Measure": results.names.metrics[metric].label}
        | {
            head: _range(results.pool(metric, arm=arm, variant=start)["value"])
            for (arm, start), head in heads.items()
        }
        for metric in SHORT
    ]
    return plot.table(rows)


def _range(drawn: "pd.Series[float]") -> str:
    if drawn.empty:
        return "–"
    low, high = drawn.quantile([0.05, 0.95])
    return f"{fixed(float(low), 2)} – {fixed(float(high), 2)}"
