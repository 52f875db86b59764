"""Tables of exp9, and the numbers of its prose that are no reductions of measurements."""

from dataclasses import replace
from pathlib import Path

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.studies.exp9_router_gradients.settings import ESTIMATED, TRAINED, TYPES
from journeylab.wording.names import read_names
from journeylab.wording.typography import short

NAMES = read_names(Path(__file__).parent)
ESTIMATORS = {**NAMES.labels, **NAMES.words["exact"]}
"""Estimators in print where gradients are compared with the exact one."""
ROUNDING = 1e-9
"""Biases and variances below this are rounding."""
_NEAR = 0.01
"""Errors this far above that of the nearest type count as equal to it."""


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Moments of every estimator, and metrics of the language models."""
    return {"moments": _moments(results), "language": _language(results)}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The share of pairs of an even split, the estimators near the best, and undefined names."""
    best = results.pool("oracle_mse")["value"].median()
    errors = {name: results.pool("hard_mse", variant=name, budget="long") for name in TRAINED}
    near = [
        results.labels[name] for name, x in errors.items() if x["value"].median() < best + _NEAR
    ]
    return {
        "chance.sparsity": 1.0 / TYPES,
        "reached": "; ".join(near) or "none",
        "undefined": int(results.pool("undefined")["value"].sum()),
    }


def _moments(results: StudyResults) -> Table:
    at = {"scale": "1", "estimator": ESTIMATED}
    return plot.medians(
        results,
        {
            "Relative bias": ("relative_bias", at),
            "Error": ("monte_carlo_error", at),
            "Cosine": ("cosine", at),
            "Variance": ("variance", at),
        },
        "gradients",
        by=("estimator",),
        places=lambda value: "0" if abs(value) < ROUNDING else short(value),
        titles={"estimator": {name: ESTIMATORS[name] for name in ESTIMATED}},
    )


def _language(results: StudyResults) -> Table:
    found = plot.medians(
        results,
        {
            "Hard": ("perplexity", {"routes": "hard"}),
            "As in training": ("perplexity", {"routes": "training"}),
            "Gap": ("perplexity_gap", {}),
            "Gain": ("perplexity_gain", {}),
            "Pairs": ("pair_share", {}),
        },
        "language",
        places=3,
    )
    if found.frame.empty:
        return found
    loads = {
        results.labels[str(name)]: "; ".join(
            ", ".join(plot.median(rank["value"], 2) for _, rank in layer.groupby("rank"))
            for _, layer in rows.groupby("layer")
        )
        for name, rows in results.pool("load").groupby("variant")
    }
    frame = found.frame.rename(columns={"Variant": "Estimator"})
    return replace(found, frame=frame.assign(Load=frame["Estimator"].map(loads)))
