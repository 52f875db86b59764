"""Figures of exp9."""

from journeylab import plotting as plot
from journeylab.plotting.captions import CURVES_FINISHED, SEEDS, SEEDS_FINISHED, seed_dots
from journeylab.studies.exp9_router_gradients import panels
from journeylab.studies.exp9_router_gradients.metrics import ESTIMATORS, FAMILIES, LABELS, METRICS
from journeylab.studies.exp9_router_gradients.settings import ESTIMATED, SCALES
from journeylab.studies.exp9_router_gradients.tables import numbers, tabulate

_ROUTERS = seed_dots("one seed, with its own router and sequences", failed="")
_COMPARED = {name: title for name, title in ESTIMATORS.items() if name in ESTIMATED}
_DRAWN = [name for names in panels.CURVES.values() for name in names]
_RANGES = {METRICS["relative_bias"].label: (0.05, 50), METRICS["variance"].label: (1e-2, 2000)}

FIGURES: plot.Figures = {
    "gradients": plot.multiples(
        "Bias and variance of every estimator at router scale 1, relative to the exact gradient; "
        "estimators without dots are unbiased up to rounding, or deterministic. "
        f"{_ROUTERS} Vertical lines bound the bias claimed for straight-through.",
        {METRICS[name].label: name for name in ("relative_bias", "variance")},
        {"arm": "gradients", "scale": "1"},
        height=2.6,
        names={"estimator": _COMPARED},
        rows=panels.moments,
        limits=lambda measure, _: {"xscale": "log", "xlim": _RANGES[measure]},
        lines=panels.claim,
        shown=tuple(FAMILIES),
        y="estimator",
        hue="family",
        col="measure",
    ),
    "scales": plot.multiples(
        "Relative bias against the standard deviation of the router's weights. " + SEEDS_FINISHED,
        "relative_bias",
        {"arm": "gradients"},
        height=1.7,
        labels=("scale of the router", "relative bias"),
        names={"estimator": _COMPARED, "scale": {f"{scale:g}": f"{scale:g}" for scale in SCALES}},
        rows=panels.biases,
        limits={"yscale": "log", "ylim": (0.03, 100)},
        x="scale",
        y="value",
        hue="estimator",
        col="family",
        col_wrap=3,
    ),
    "errors": plot.multiples(
        "Test error with hard routes, after the short and the long training; each dot is a seed, "
        "the mean over its starts, other symbols as in the figures before. Vertical lines are "
        "routers without training: the nearest type, one timeline for all tokens, and a random "
        "timeline.",
        "hard_mse",
        {"arm": "training"},
        height=3.0,
        labels=("hard test error", ""),
        names={"budget": {"short": "short training", "long": "long training"}},
        rows=panels.add_family,
        lines=panels.untrained,
        shown=tuple(FAMILIES),
        hue="family",
        col="budget",
    ),
    "path": plot.multiples(
        "Validation error, and the cosine of single estimates with the exact gradient, during the "
        f"long training. {CURVES_FINISHED}",
        {METRICS[name].label: name for name in ("validation_mse", "alignment")},
        {"arm": "training", "variant": _DRAWN},
        height=1.5,
        labels=("% of the steps", ""),
        rows=panels.add_column,
        form=plot.curves,
        shown=[LABELS[name] for name in _DRAWN],
        x="share",
        row="measure",
        col="column",
        sharey="row",
    ),
    "language": plot.multiples(
        "The language model, by the estimator that trained its routers: held-out perplexity with "
        "hard routes and with routes as in training, and the share of token pairs that hard routes "
        f"keep. {SEEDS} Vertical lines: bigrams, and timelines of equal size.",
        {
            "perplexity, hard routes": ("perplexity", {"routes": "hard"}),
            "perplexity, as in training": ("perplexity", {"routes": "training"}),
            panels.PAIRS: "pair_share",
        },
        {"arm": "language"},
        height=1.6,
        rows=panels.add_family,
        lines=panels.references,
        shown=tuple(FAMILIES),
        hue="family",
        col="measure",
        sharex=False,
    ),
}
