"""Figures of exp9."""

from journeylab import plotting as plot
from journeylab.studies.exp9_router_gradients import panels
from journeylab.studies.exp9_router_gradients.settings import ESTIMATED, SCALES
from journeylab.studies.exp9_router_gradients.tables import ESTIMATORS, NAMES, numbers, tabulate

_METRICS = NAMES.metrics
_COMPARED = {name: title for name, title in ESTIMATORS.items() if name in ESTIMATED}
_DRAWN = [name for names in panels.CURVES.values() for name in names]
_RANGES = {_METRICS["relative_bias"].label: (0.05, 50), _METRICS["variance"].label: (1e-2, 2000)}

FIGURES: plot.Figures = {
    "gradients": plot.multiples(
        {_METRICS[name].label: name for name in ("relative_bias", "variance")},
        {"arm": "gradients", "scale": "1"},
        height=2.6,
        names={"estimator": _COMPARED},
        rows=panels.moments,
        limits=lambda measure, _: {"xscale": "log", "xlim": _RANGES[measure]},
        lines=panels.claim,
        shown=panels.FAMILIES,
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
        rows=panels.biases,
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
        rows=panels.add_family,
        lines=panels.untrained,
        shown=panels.FAMILIES,
        hue="family",
        col="budget",
    ),
    "path": plot.multiples(
        {_METRICS[name].label: name for name in ("validation_mse", "alignment")},
        {"arm": "training", "variant": _DRAWN},
        height=1.5,
        labels=("% of the steps", ""),
        rows=panels.add_column,
        form=plot.curves,
        shown=[NAMES.labels[name] for name in _DRAWN],
        x="share",
        row="measure",
        col="column",
        sharey="row",
    ),
    "language": plot.multiples(
        {
            "perplexity, hard routes": ("perplexity", {"routes": "hard"}),
            "perplexity, as in training": ("perplexity", {"routes": "training"}),
            panels.PAIRS: "pair_share",
        },
        {"arm": "language"},
        height=1.6,
        rows=panels.add_family,
        lines=panels.references,
        shown=panels.FAMILIES,
        hue="family",
        col="measure",
        sharex=False,
    ),
}
