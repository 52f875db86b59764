"""Figures, tables and numbers of exp9."""

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import Columns, StudyResults, Style, Table
from journeylab.plotting.captions import CURVES_FINISHED, SEEDS, SEEDS_FINISHED, seed_dots
from journeylab.studies.exp9_router_gradients.metrics import ESTIMATORS, FAMILIES, LABELS, METRICS
from journeylab.studies.exp9_router_gradients.settings import (
    BUDGETS,
    ESTIMATED,
    ROUTES,
    SCALES,
    SPOKEN,
    TRAINED,
    TYPES,
)
from journeylab.wording.typography import plain, short

_ROUTERS = seed_dots("one seed, with its own router and sequences", failed="")
_UNIT = "1"
_SCALES = tuple(f"{scale:g}" for scale in SCALES)
_BUDGET = {"short": "short training", "long": "long training"}
_ANCHORS = {"oracle_mse": "nearest type", "single_mse": "one timeline", "random_mse": "random"}
_TYPES = ("types_mse", "types_sparsity")
_CURVES = {
    "straight-through": ("straight-through", "straight-through-sampled"),
    "Gumbel-softmax": ("gumbel-1", "gumbel-0.5", "gumbel-0.1"),
    "annealing, soft": ("annealing", "soft"),
    "REINFORCE, ReinMax": ("reinforce", "rloo", "reinmax"),
}
_NEAR = 0.01
"""Errors this far above that of the nearest type count as equal to it."""
_SMALLEST = 1e-9
"""Biases and variances below this are rounding."""

_CHECKS = {
    **dict.fromkeys(
        (
            "one_hot_error",
            "argmax_gradient",
            "reinforce_error",
            "tau_changes",
            "gumbel_difference",
            "off_block",
            "block_error",
        ),
        ("case",),
    ),
    "softness": ("estimator",),
    "overhead": ("estimator", "case"),
    "schedule_error": ("over",),
}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Moments of every estimator, and metrics of the routers and models it trained."""
    tables = {}
    if len(results.select("relative_bias")):
        tables["moments"] = _moments(results)
    if len(results.select("hard_mse")):
        tables["routers"] = _routers(results)
    tables["checks"] = plot.ranges(results, METRICS, _CHECKS)
    tables["search"] = plot.tabulate_trials(
        results,
        __file__,
        "error",
        "Search of rate and initial scale: hard validation error, mean of two pilot seeds.",
        "They are, of those within 0.001 of the lowest error, the nearest to scale 0.5 and rate "
        "0.01 on a log scale. Seeds, sequences and steps are the same for all. The error is a mean "
        "over five steps of the last fifth of the training, of one start. Where the choice had no "
        "neighbour within 0.01, a second grid with three starts was added, and decides if it "
        "contains the first choice. Estimators that only secondary rows compare have none.",
    )
    if len(results.select("perplexity")):
        tables["language"] = _language(results)
    return tables


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Medians of biases, variances and errors; “n/a” for runs that are missing."""
    of = partial(plot.cited, results)
    moments, errors = ("relative_bias", "variance", "cosine"), (*_ANCHORS, *_TYPES)
    trained = ("hard_mse", "soft_hard_gap", "accuracy", "sparsity", "spread")
    sharp = ("gumbel-1", "gumbel-0.1")
    values: dict[str, float | int | str] = {
        "chance.sparsity": short(1.0 / TYPES),
        **of("{metric}.{estimator}.{scale}", moments, short, estimator=ESTIMATED, scale=_SCALES),
        **of("{metric}.{estimator}", "disagreement", estimator=sharp, scale=_UNIT),
        **of("{metric}.{variant}.{budget}", trained, variant=TRAINED, budget=BUDGETS),
        **of("flip_rate.{variant}.{budget}", "flip_rate", short, variant=TRAINED, budget=BUDGETS),
        **of("{metric}.{variant}", "alignment", 2, variant=TRAINED, share=100),
        **of("{metric}", errors),
        **of("{metric}.{variant}.{routes}", "perplexity", 2, variant=SPOKEN, routes=ROUTES),
        **of("{metric}.{variant}", ("perplexity_gap", "pair_share"), variant=SPOKEN),
        **of("{metric}", "bigram_perplexity", 2),
        "reached": _reached(results),
        **of("half.{variant}", "validation_mse", variant="straight-through", share=40),
        **of("{metric}.{case}", "rerouted", short, case=("noisy", "last-phase", "end")),
        **of("{metric}.{estimator}", "softness", short, estimator=sharp),
        **of(
            "{metric}.{estimator}.{case}",
            "overhead",
            _percent,
            estimator=("straight-through", "gumbel-0.5", "soft", "reinforce"),
            case=("estimator", "step"),
        ),
        "undefined": int(results.pool("undefined")["value"].sum()),
    }
    for case in ("plain", "updated", "entropy", "literal"):
        value = results.pool("reinforce_error", case=case)["value"]
        values[f"reinforce.{case}"] = plain(float(value.max()), 2) if len(value) else "n/a"
    return values


def _draw_gradients(results: StudyResults) -> Figure | None:
    tables = []
    for metric in ("relative_bias", "variance"):
        rows = _named(results.select(metric, scale=_UNIT), "estimator", ESTIMATED)
        rows.loc[rows["value"] < _SMALLEST, "value"] = float("nan")
        tables.append(rows.dropna(subset="value").assign(measure=METRICS[metric].label))
    rows = pd.concat(tables, ignore_index=True)
    if rows.empty:
        return None
    figure, panels = plot.facets(rows, 2.6, col="measure")
    for (measure, (axes, part)), limits in zip(
        panels.items(), ((0.05, 50), (1e-2, 2000)), strict=True
    ):
        axes.set(xscale="log", xlim=limits)
        plot.seeds(axes, part, _families(), hue="family")
        if measure == METRICS["relative_bias"].label:
            plot.anchors(axes, {"claimed for straight-through": 0.1}, x=True)
            plot.anchors(axes, {"claimed for straight-through": 0.2}, x=True)
    return plot.legend_above(figure)


def _draw_scales(results: StudyResults) -> Figure | None:
    rows = _named(results.select("relative_bias"), "estimator", ESTIMATED)
    rows = rows[rows["value"] > _SMALLEST]
    return plot.panels(
        results,
        rows.assign(scale=pd.Categorical(rows["scale"], _SCALES)),
        1.7,
        "scale of the router",
        "relative bias",
        styles=plot.styles(rows["model"].cat.remove_unused_categories().cat.categories),
        limits={"yscale": "log", "ylim": (0.03, 100)},
        x="scale",
        y="value",
        col="family",
        col_wrap=3,
    )


def _draw_errors(results: StudyResults) -> Figure | None:
    rows = _named(results.tidy("hard_mse", arm="training"), "variant", TRAINED)
    rows["budget"] = rows["budget"].map(_BUDGET)
    return plot.panels(
        results,
        rows,
        3.0,
        "hard test error",
        styles=_families(),
        lines={label: _middle(results, metric) for metric, label in _ANCHORS.items()},
        hue="family",
        col="budget",
        col_order=[name for name in _BUDGET.values() if name in set(rows["budget"])],
    )


def _draw_path(results: StudyResults) -> Figure | None:
    columns = {name: column for column, names in _CURVES.items() for name in names}
    tables = []
    for metric in ("validation_mse", "alignment"):
        rows = _named(
            results.tidy(metric, arm="training", variant=list(columns)), "variant", TRAINED
        )
        kept = rows.assign(column=rows["variant"].map(columns), measure=METRICS[metric].label)
        tables.append(kept)
    rows = pd.concat(tables, ignore_index=True).astype({"share": float, "model": str})
    return plot.panels(
        results,
        rows,
        1.5,
        "% of the steps",
        styles=plot.styles(LABELS[name] for name in columns),
        form=plot.curves,
        x="share",
        row="measure",
        col="column",
        col_order=[name for name in _CURVES if name in set(rows["column"])],
        sharey="row",
    )


def _draw_language(results: StudyResults) -> Figure | None:
    tables = [
        results.tidy("perplexity", routes=routes).assign(measure=f"perplexity, {label}")
        for routes, label in (("hard", "hard routes"), ("training", "as in training"))
    ]
    tables.append(results.tidy("pair_share").assign(measure="Σ n_k²/N²"))
    loads = results.pool("load")  # without a column of ranks where no language model was trained
    even = 1.0 / loads["rank"].max() if len(loads) else None
    known = {"bigrams": _middle(results, "bigram_perplexity"), "1/K": even}

    def lines(measure: str, _: pd.DataFrame) -> plot.Lines:
        label = "1/K" if measure == "Σ n_k²/N²" else "bigrams"
        return {name: x if name == label else None for name, x in known.items()}

    return plot.panels(
        results,
        _named(pd.concat(tables, ignore_index=True), "variant", SPOKEN),
        1.6,
        styles=_families(),
        lines=lines,
        hue="family",
        col="measure",
        sharex=False,
    )


def _moments(results: StudyResults) -> Table:
    metrics = {
        "Relative bias": "relative_bias",
        "Error": "monte_carlo_error",
        "Cosine": "cosine",
        "Variance": "variance",
    }
    return plot.medians(
        results,
        "moments",
        "Medians over seeds, at router scale 1.",
        {
            head: (metric, {"scale": _UNIT, "estimator": ESTIMATED})
            for head, metric in metrics.items()
        },
        "gradients",
        by=("estimator",),
        notes="Error: the Monte-Carlo error of the bias, relative to the gradient; 0 if the "
        "moments are sums over all assignments. Bias 0: below rounding. Variance 0: deterministic. "
        "The variance of REINFORCE as printed is that of a fixed baseline.",
        places=lambda value: "0" if abs(value) < _SMALLEST else short(value),
        titles={"estimator": {name: ESTIMATORS[name] for name in ESTIMATED}},
    )


def _routers(results: StudyResults) -> Table:
    heads: Columns = {
        "Short": ("hard_mse", {"budget": "short"}),
        "Long": ("hard_mse", {"budget": "long"}),
        "Gap": ("soft_hard_gap", {"budget": "long"}),
        "Accuracy": ("accuracy", {"budget": "long"}),
        "Pairs": ("sparsity", {"budget": "long"}),
        "Spread": ("spread", {"budget": "long"}),
        "Collapse": ("collapse", {"budget": "long"}),
        "Flips": ("flip_rate", {"budget": "long"}),
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
    heads: Columns = {
        "Hard": ("perplexity", {"routes": "hard"}),
        "As in training": ("perplexity", {"routes": "training"}),
        "Gap": ("perplexity_gap", {}),
        "Gain": ("perplexity_gain", {}),
        "Pairs": ("pair_share", {}),
    }
    rows = []
    for name in (name for name in SPOKEN if len(results.pool("perplexity", variant=name))):
        loads = results.pool("load", variant=name)
        by_layer = [
            ", ".join(plot.median(rank["value"], 2) for _, rank in layer.groupby("rank"))
            for _, layer in loads.groupby("layer")
        ]
        shown = {h: results.pool(m, variant=name, **of)["value"] for h, (m, of) in heads.items()}
        cells = {head: plot.median(values) for head, values in shown.items()}
        rows.append({"Estimator": LABELS[name], **cells, "Load": "; ".join(by_layer)})
    cited = {head: column for head, column in heads.items() if head != "As in training"}
    return Table(
        "language",
        "The language model: perplexities of held-out text, and loads. Medians over seeds.",
        pd.DataFrame(rows),
        "Gap: hard − as in training. Gain: bigrams − hard. Pairs: Σ n_k²/N² with hard routes. "
        "Load: shares of tokens per timeline, largest first, layer by layer, means over heads.",
        tuple(heads) if rows else (),
        plot.medians(results, "language", "", cited, "language").numbers,
    )


def _named(rows: pd.DataFrame, column: str, known: tuple[str, ...]) -> pd.DataFrame:
    """Rows of these estimators with printed names and families, in the order of figures."""
    rows = rows[rows[column].isin(known)]
    labels = ESTIMATORS if column == "estimator" else LABELS
    family = {name: each for each, names in FAMILIES.items() for name in names}
    shown = [labels[name] for name in labels if name in set(rows[column])]
    families = [each for each in FAMILIES if each in set(rows[column].map(family))]
    return rows.assign(
        model=pd.Categorical(rows[column].map(labels), shown),
        family=pd.Categorical(rows[column].map(family), families),
    )


def _families() -> dict[str, Style]:
    return plot.styles(FAMILIES)


def _middle(results: StudyResults, metric: str) -> float | None:
    value = results.pool(metric)["value"]
    return float(value.median()) if len(value) else None


def _reached(results: StudyResults) -> str:
    """The estimators whose median error is near that of the nearest type."""
    best = _middle(results, "oracle_mse")
    reached = [
        LABELS[name]
        for name in TRAINED
        if len(rows := results.pool("hard_mse", variant=name, budget="long"))
        and best is not None
        and float(rows["value"].median()) < best + _NEAR
    ]
    return "; ".join(reached) if reached else "none"


def _percent(value: float) -> str:
    return short(100.0 * value)


FIGURES: plot.Figures = {
    "gradients": plot.Drawn(
        _draw_gradients,
        "Bias and variance of every estimator at router scale 1, relative to the exact gradient. "
        f"{_ROUTERS} Vertical lines bound the bias claimed for straight-through. Estimators "
        "without dots are unbiased up to rounding, or deterministic.",
    ),
    "scales": plot.Drawn(
        _draw_scales,
        "Relative bias against the standard deviation of the router's weights. " + SEEDS_FINISHED,
    ),
    "errors": plot.Drawn(
        _draw_errors,
        "Test error with hard routes, after the short and the long training; each dot is a seed, "
        "the mean over its starts, other symbols as in the figures before. Vertical lines are "
        "routers without training: the nearest type, one timeline for all tokens, and a random "
        "timeline.",
    ),
    "path": plot.Drawn(
        _draw_path,
        "Validation error, and the cosine of single estimates with the exact gradient, during the "
        f"long training. {CURVES_FINISHED}",
    ),
    "language": plot.Drawn(
        _draw_language,
        "The language model, by the estimator that trained its routers: held-out perplexity with "
        "hard routes and with routes as in training, and the share of token pairs that hard routes "
        f"keep. {SEEDS} Vertical lines: bigrams, and timelines of equal size.",
    ),
}
