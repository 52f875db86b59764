"""Tables of exp9, and the numbers of its prose that are no reductions of measurements."""

from dataclasses import replace

from journeylab import plotting as plot
from journeylab.plotting import Columns, StudyResults, Table
from journeylab.studies.exp9_router_gradients.metrics import ESTIMATORS, LABELS, METRICS
from journeylab.studies.exp9_router_gradients.settings import ESTIMATED, TRAINED, TYPES
from journeylab.wording.typography import short

ROUNDING = 1e-9
"""Biases and variances below this are rounding."""
_NEAR = 0.01
"""Errors this far above that of the nearest type count as equal to it."""

_CHECKS = {
    **dict.fromkeys(
        (
            *("one_hot_error", "argmax_gradient", "reinforce_error", "tau_changes"),
            *("gumbel_difference", "off_block", "block_error"),
        ),
        ("case",),
    ),
    "softness": ("estimator",),
    "overhead": ("estimator", "case"),
    "schedule_error": ("over",),
}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Moments of every estimator, and metrics of the routers and models it trained."""
    tables = {
        "moments": _moments(results),
        "routers": _routers(results),
        "checks": plot.ranges(results, METRICS, _CHECKS),
        "search": plot.tabulate_trials(
            results,
            __file__,
            "error",
            "Search of rate and initial scale: hard validation error, mean of two pilot seeds.",
            "They are, of those within 0.001 of the lowest error, the nearest to scale 0.5 and "
            "rate 0.01 on a log scale. Seeds, sequences and steps are the same for all. The error "
            "is a mean over five steps of the last fifth of the training, of one start. Where the "
            "choice had no neighbour within 0.01, a second grid with three starts was added, and "
            "decides if it contains the first choice. Estimators that only secondary rows compare "
            "have none.",
        ),
        "language": _language(results),
    }
    return {name: table for name, table in tables.items() if len(table.frame)}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The share of pairs of an even split, the estimators near the best, and undefined names."""
    best = results.pool("oracle_mse")["value"].median()
    errors = {name: results.pool("hard_mse", variant=name, budget="long") for name in TRAINED}
    near = [LABELS[name] for name, x in errors.items() if x["value"].median() < best + _NEAR]
    return {
        "chance.sparsity": 1.0 / TYPES,
        "reached": "; ".join(near) or "none",
        "undefined": int(results.pool("undefined")["value"].sum()),
    }


def _moments(results: StudyResults) -> Table:
    at = {"scale": "1", "estimator": ESTIMATED}
    return plot.medians(
        results,
        "moments",
        "Medians over seeds, at router scale 1.",
        {
            "Relative bias": ("relative_bias", at),
            "Error": ("monte_carlo_error", at),
            "Cosine": ("cosine", at),
            "Variance": ("variance", at),
        },
        "gradients",
        by=("estimator",),
        notes="Error: the Monte-Carlo error of the bias, relative to the gradient; 0 if the "
        "moments are sums over all assignments. Bias 0: below rounding. Variance 0: deterministic. "
        "The variance of REINFORCE as printed is that of a fixed baseline.",
        places=lambda value: "0" if abs(value) < ROUNDING else short(value),
        titles={"estimator": {name: ESTIMATORS[name] for name in ESTIMATED}},
    )


def _routers(results: StudyResults) -> Table:
    long = {"budget": "long"}
    heads: Columns = {
        "Short": ("hard_mse", {"budget": "short"}),
        "Long": ("hard_mse", long),
        "Gap": ("soft_hard_gap", long),
        "Accuracy": ("accuracy", long),
        "Pairs": ("sparsity", long),
        "Spread": ("spread", long),
        "Collapse": ("collapse", long),
        "Flips": ("flip_rate", long),
        "Aligned": ("alignment", {"share": 100}),
        "Oracle": ("oracle_mse", {}),
    }
    return plot.medians(
        results,
        "routers",
        "Medians over seeds, on test sequences.",
        heads,
        arms="training",
        notes="Short, long: hard error; gap: hard error − error of the mixture. Accuracy: tokens "
        "in the timeline of their type. Pairs: Σ n_k²/N². Spread: standard deviation of the error "
        "over starts. Collapse: share of starts that leave a timeline empty. Flips: per token and "
        "step. Aligned: cosine of the estimate and the gradient at the end. Oracle: error of the "
        "nearest type. All but the spread are means over starts.",
    )


def _language(results: StudyResults) -> Table:
    found = plot.medians(
        results,
        "language",
        "The language model: perplexities of held-out text, and loads. Medians over seeds.",
        {
            "Hard": ("perplexity", {"routes": "hard"}),
            "As in training": ("perplexity", {"routes": "training"}),
            "Gap": ("perplexity_gap", {}),
            "Gain": ("perplexity_gain", {}),
            "Pairs": ("pair_share", {}),
        },
        "language",
        notes="Gap: hard − as in training. Gain: bigrams − hard. Pairs: Σ n_k²/N² with hard "
        "routes. Load: shares of tokens per timeline, largest first, layer by layer, means over "
        "heads.",
        places=3,
    )
    if found.frame.empty:
        return found
    loads = {
        LABELS[str(name)]: "; ".join(
            ", ".join(plot.median(rank["value"], 2) for _, rank in layer.groupby("rank"))
            for _, layer in rows.groupby("layer")
        )
        for name, rows in results.pool("load").groupby("variant")
    }
    frame = found.frame.rename(columns={"Variant": "Estimator"})
    return replace(found, frame=frame.assign(Load=frame["Estimator"].map(loads)))
