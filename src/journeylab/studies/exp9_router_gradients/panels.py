"""Rows, reference lines and limits of the figures of exp9."""

import pandas as pd

from journeylab.plotting import Lines, StudyResults
from journeylab.plotting.results import in_names
from journeylab.studies.exp9_router_gradients.tables import ESTIMATORS, NAMES, ROUNDING

CURVES = {
    "straight-through": ("straight-through", "straight-through-sampled"),
    "Gumbel-softmax": ("gumbel-1", "gumbel-0.5", "gumbel-0.1"),
    "annealing, soft": ("annealing", "soft"),
    "REINFORCE, ReinMax": ("reinforce", "rloo", "reinmax"),
}
"""The estimators whose training is drawn, by the title of their column."""
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
    biased = measure == NAMES.metrics["relative_bias"].label
    return {"claimed for straight-through": [0.1, 0.2]} if biased else {}


def untrained(results: StudyResults, *_: object) -> Lines:
    """Errors of routers without training."""
    known = {"nearest type": "oracle_mse", "one timeline": "single_mse", "random": "random_mse"}
    return {label: _middle(results, metric) for label, metric in known.items()}


def add_column(_: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Curves with the column in which they are drawn."""
    titles = {name: title for title, names in CURVES.items() for name in names}
    column = in_names(rows["variant"], titles)
    return rows.assign(column=column, share=rows["share"].astype(float))


def references(results: StudyResults, measure: str, _: pd.DataFrame) -> Lines:
    """Bigrams beside perplexities, timelines of equal size beside shares of pairs."""
    if measure != PAIRS:
        return {"bigrams": _middle(results, "bigram_perplexity"), "1/K": None}
    loads = results.pool("load")
    return {"bigrams": None, "1/K": 1.0 / loads["rank"].max() if len(loads) else None}


def _middle(results: StudyResults, metric: str) -> float | None:
    value = results.pool(metric)["value"]
    return float(value.median()) if len(value) else None
