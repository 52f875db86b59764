"""Figures of exp9."""

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import Lines, StudyResults, in_names
from journeylab.studies.exp9_router_gradients.settings import ESTIMATED, SCALES
from journeylab.studies.exp9_router_gradients.tables import (
    ESTIMATORS,
    NAMES,
    ROUNDING,
    numbers,
    tabulate,
)

_METRICS = NAMES.metrics
_BIAS, _VARIANCE = (_METRICS[name].label for name in ("relative_bias", "variance"))
_COMPARED = {name: title for name, title in ESTIMATORS.items() if name in ESTIMATED}
_RANGES = {_BIAS: (0.05, 50), _VARIANCE: (1e-2, 2000)}
_COLUMNS = {
    **dict.fromkeys(("straight-through", "straight-through-sampled"), "straight-through"),
    **dict.fromkeys(("gumbel-1", "gumbel-0.5", "gumbel-0.1"), "Gumbel-softmax"),
    **dict.fromkeys(("annealing", "soft"), "annealing, soft"),
    **dict.fromkeys(("reinforce", "rloo", "reinmax"), "REINFORCE, ReinMax"),
}
"""The column of every estimator whose training is drawn."""
PAIRS = "Σ n_k²/N²"
_FAMILY = {
    labels[name]: family
    for labels in (ESTIMATORS, NAMES.labels)
    for name, family in NAMES.words["families"].items()
}
FAMILIES = list(dict.fromkeys(_FAMILY.values()))
"""Kinds of estimators, which share colour and marker in figures."""


def add_family(_: StudyResults, rows: pd.DataFrame, of: str = "model") -> pd.DataFrame:
    """Rows with the families of their estimators, in the order of figures."""
    return rows.assign(family=in_names(rows[of], _FAMILY))


def moments(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Moments above rounding; estimators without any keep their place."""
    return add_family(results, rows[rows["value"] > ROUNDING], "estimator")


def biases(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """The same of the estimators that have any."""
    kept = moments(results, rows)
    return kept.assign(estimator=kept["estimator"].cat.remove_unused_categories())


def claim(_: StudyResults, measure: str, __: pd.DataFrame) -> Lines:
    """Bounds of the bias that is claimed for straight-through, beside biases."""
    return {"claimed for straight-through": [0.1, 0.2]} if measure == _BIAS else {}


def untrained(results: StudyResults, *_: object) -> Lines:
    """Errors of routers without training."""
    known = {"nearest type": "oracle_mse", "one timeline": "single_mse", "random": "random_mse"}
    return {label: _middle(results, metric) for label, metric in known.items()}


def share_in_numbers(_: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose shares of the steps are numbers."""
    return rows.astype({"share": float})


def references(results: StudyResults, measure: str, _: pd.DataFrame) -> Lines:
    """Bigrams beside perplexities, timelines of equal size beside shares of pairs."""
    if measure != PAIRS:
        return {"bigrams": _middle(results, "bigram_perplexity"), "1/K": None}
    loads = results.pool("load")
    return {"bigrams": None, "1/K": 1.0 / loads["rank"].max() if len(loads) else None}


def _middle(results: StudyResults, metric: str) -> float | None:
    value = results.pool(metric)["value"]
    return float(value.median()) if len(value) else None


FIGURES: plot.Figures = {
    "gradients": plot.multiples(
        {_BIAS: "relative_bias", _VARIANCE: "variance"},
        {"arm": "gradients", "scale": "1"},
        height=2.6,
        names={"estimator": _COMPARED},
        rows=moments,
        limits=lambda measure, _: {"xscale": "log", "xlim": _RANGES[measure]},
        lines=claim,
        shown=FAMILIES,
        y="estimator",
        hue="family",
        col="measure",
    ),
    "scales": plot.multiples(
        "relative_bias",
        {"arm": "gradients"},
        height=1.7,
        labels=("scale of the router", "relative bias"),
        names={"estimator": _COMPARED, "scale": {f"{scale:g}": f"{scale:g}" for scale in SCALES}},
        rows=biases,
        limits={"yscale": "log", "ylim": (0.03, 100)},
        x="scale",
        hue="estimator",
        col="family",
        col_wrap=3,
    ),
    "errors": plot.multiples(
        "hard_mse",
        {"arm": "training"},
        height=3.0,
        labels=("hard test error", ""),
        names={"budget": {"short": "short training", "long": "long training"}},
        rows=add_family,
        lines=untrained,
        shown=FAMILIES,
        hue="family",
        col="budget",
    ),
    "path": plot.multiples(
        {_METRICS[name].label: name for name in ("validation_mse", "alignment")},
        {"arm": "training"},
        height=1.5,
        labels=("% of the steps", ""),
        names={"variant": _COLUMNS},
        rows=share_in_numbers,
        form=plot.curves,
        shown=[NAMES.labels[name] for name in _COLUMNS],
        x="share",
        row="measure",
        col="variant",
        sharey="row",
    ),
    "language": plot.multiples(
        {
            "perplexity, hard routes": ("perplexity", {"routes": "hard"}),
            "perplexity, as in training": ("perplexity", {"routes": "training"}),
            PAIRS: "pair_share",
        },
        {"arm": "language"},
        height=1.6,
        rows=add_family,
        lines=references,
        shown=FAMILIES,
        hue="family",
        col="measure",
        sharex=False,
    ),
}
