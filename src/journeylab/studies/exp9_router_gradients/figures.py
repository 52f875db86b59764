"""Figures, tables and numbers of exp9."""

import pandas as pd
from matplotlib.figure import Figure

from journeylab.plotting import (
    Columns,
    StudyResults,
    Style,
    Table,
    anchors,
    curves,
    facets,
    legend_above,
    median,
    medians,
    ranges,
    seeds,
    styles,
)
from journeylab.plotting.captions import CURVES_FINISHED, SEEDS, SEEDS_FINISHED, seed_dots
from journeylab.studies.exp9_router_gradients.metrics import ESTIMATORS, FAMILIES, LABELS, METRICS
from journeylab.studies.exp9_router_gradients.search import (
    AGAIN,
    RATES,
    SEARCH,
    SECOND,
    chosen,
    decided_again,
)
from journeylab.studies.exp9_router_gradients.search import SCALES as SCALES_TRIED
from journeylab.studies.exp9_router_gradients.settings import (
    BUDGETS,
    ESTIMATED,
    ROUTES,
    SCALES,
    SPOKEN,
    TRAINED,
    TYPES,
)
from journeylab.typography import plain, short

_ROUTERS = seed_dots("one seed, with its own router and sequences", failed="")
CAPTIONS = {
    "gradients": (
        "Bias and variance of every estimator at router scale 1, relative to the exact gradient. "
        f"{_ROUTERS} Vertical lines bound the bias claimed for straight-through. "
        "Estimators without dots are unbiased up to rounding, or deterministic."
    ),
    "scales": (
        "Relative bias against the standard deviation of the router's weights. " + SEEDS_FINISHED
    ),
    "errors": (
        "Test error with hard routes, after the short and the long training; each dot is a seed, "
        "the mean over its starts, other symbols as in the figures before. Vertical lines are "
        "routers without "
        "training: the nearest type, one timeline for all tokens, and a random timeline."
    ),
    "path": (
        "Validation error, and the cosine of single estimates with the exact gradient, during the "
        f"long training. {CURVES_FINISHED}"
    ),
    "language": (
        "The language model, by the estimator that trained its routers: held-out perplexity with "
        "hard routes and with routes as in training, and the share of token pairs that hard routes "
        f"keep. {SEEDS} Vertical lines: bigrams, and timelines of equal size."
    ),
}

_UNIT = "1"
_BUDGET = {"short": "short training", "long": "long training"}
_ANCHORS = {"oracle_mse": "nearest type", "single_mse": "one timeline", "random_mse": "random"}
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


def draw(results: StudyResults) -> dict[str, Figure]:
    """Bias and variance, bias by scale, errors, training curves, and the language model."""
    figures: dict[str, Figure] = {}
    if len(results.select("relative_bias")):
        figures["gradients"] = _draw_gradients(results)
        figures["scales"] = _draw_scales(results)
    if len(results.select("hard_mse")):
        figures["errors"] = _draw_errors(results)
    if len(results.select("alignment", variant=[v for names in _CURVES.values() for v in names])):
        figures["path"] = _draw_path(results)
    if len(results.select("perplexity")):
        figures["language"] = _draw_language(results)
    return figures


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Moments of every estimator, and metrics of the routers and models it trained."""
    tables = {}
    if len(results.select("relative_bias")):
        tables["moments"] = _moments(results)
    if len(results.select("hard_mse")):
        tables["routers"] = _routers(results)
    tables["checks"] = ranges(results, METRICS, _CHECKS)
    tables["search"] = _search()
    if len(results.select("perplexity")):
        tables["language"] = _language(results)
    return tables


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Medians of biases, variances and errors; “n/a” for runs that are missing."""
    numbers: dict[str, float | int | str] = {"chance.sparsity": short(1.0 / TYPES)}
    for name in ESTIMATED:
        for scale in (f"{scale:g}" for scale in SCALES):
            for metric in ("relative_bias", "variance", "cosine"):
                value = results.pool(metric, estimator=name, scale=scale)["value"]
                numbers[f"{metric}.{name}.{scale}"] = _short(value)
    for name in ("gumbel-1", "gumbel-0.1"):
        value = results.pool("disagreement", estimator=name, scale=_UNIT)["value"]
        numbers[f"disagreement.{name}"] = median(value)
    for variant in TRAINED:
        for budget in BUDGETS:
            where: dict[str, str] = {"variant": variant, "budget": budget}
            for metric in ("hard_mse", "soft_hard_gap", "accuracy", "sparsity", "spread"):
                numbers[f"{metric}.{variant}.{budget}"] = median(
                    results.pool(metric, **where)["value"]
                )
            numbers[f"flip_rate.{variant}.{budget}"] = _short(
                results.pool("flip_rate", **where)["value"]
            )
        value = results.pool("alignment", variant=variant, share=100)["value"]
        numbers[f"alignment.{variant}"] = median(value, 2)
    for anchor in (*_ANCHORS, "types_mse", "types_sparsity"):
        numbers[anchor] = median(results.pool(anchor)["value"])
    for case in ("plain", "updated", "entropy", "literal"):
        value = results.pool("reinforce_error", case=case)["value"]
        numbers[f"reinforce.{case}"] = plain(float(value.max()), 2) if len(value) else "n/a"
    for variant in SPOKEN:
        for routes in ROUTES:
            value = results.pool("perplexity", variant=variant, routes=routes)["value"]
            numbers[f"perplexity.{variant}.{routes}"] = median(value, 2)
        for metric in ("perplexity_gap", "pair_share"):
            numbers[f"{metric}.{variant}"] = median(results.pool(metric, variant=variant)["value"])
    numbers["bigram_perplexity"] = median(results.pool("bigram_perplexity")["value"], 2)
    numbers["reached"] = _reached(results)
    halfway = results.pool("validation_mse", variant="straight-through", share=40)["value"]
    numbers["half.straight-through"] = median(halfway)
    for case in ("noisy", "last-phase", "end"):
        numbers[f"rerouted.{case}"] = _short(results.pool("rerouted", case=case)["value"])
    for name in ("gumbel-1", "gumbel-0.1"):
        numbers[f"softness.{name}"] = _short(results.pool("softness", estimator=name)["value"])
    for name in ("straight-through", "gumbel-0.5", "soft", "reinforce"):
        for case in ("estimator", "step"):
            value = results.pool("overhead", estimator=name, case=case)["value"]
            numbers[f"overhead.{name}.{case}"] = _percent(value)
    numbers["undefined"] = int(results.pool("undefined")["value"].sum())
    return numbers


def _draw_gradients(results: StudyResults) -> Figure:
    tables = []
    for metric in ("relative_bias", "variance"):
        rows = _named(results.select(metric, scale=_UNIT), "estimator", ESTIMATED)
        rows.loc[rows["value"] < _SMALLEST, "value"] = float("nan")
        tables.append(rows.dropna(subset="value").assign(measure=METRICS[metric].label))
    rows = pd.concat(tables, ignore_index=True)
    figure, panels = facets(rows, 2.6, col="measure")
    for (measure, (axes, part)), limits in zip(
        panels.items(), ((0.05, 50), (1e-2, 2000)), strict=True
    ):
        axes.set(xscale="log", xlim=limits)
        seeds(axes, part, _families(), hue="family")
        if measure == METRICS["relative_bias"].label:
            anchors(axes, {"claimed for straight-through": 0.1}, x=True)
            anchors(axes, {"claimed for straight-through": 0.2}, x=True)
    legend_above(figure)
    return figure


def _draw_scales(results: StudyResults) -> Figure:
    rows = _named(results.select("relative_bias"), "estimator", ESTIMATED)
    rows = rows[rows["value"] > _SMALLEST]
    rows["scale"] = pd.Categorical(rows["scale"], [f"{scale:g}" for scale in SCALES])
    figure, panels = facets(
        rows, 1.7, "scale of the router", "relative bias", col="family", col_wrap=3
    )
    shown = styles(rows["model"].cat.remove_unused_categories().cat.categories)
    for axes, part in panels.values():
        axes.set(yscale="log", ylim=(0.03, 100))
        seeds(axes, part, shown, x="scale", y="value", hue="model")
    legend_above(figure)
    return figure


def _draw_errors(results: StudyResults) -> Figure:
    rows = _named(results.tidy("hard_mse", arm="training"), "variant", TRAINED)
    rows["budget"] = rows["budget"].map(_BUDGET)
    order = [name for name in _BUDGET.values() if name in set(rows["budget"])]
    figure, panels = facets(rows, 3.0, "hard test error", col="budget", col_order=order)
    lines = {label: _middle(results, metric) for metric, label in _ANCHORS.items()}
    for axes, part in panels.values():
        seeds(axes, part, _families(), hue="family")
        anchors(axes, lines, x=True)
    legend_above(figure)
    return figure


def _draw_path(results: StudyResults) -> Figure:
    columns = {name: column for column, names in _CURVES.items() for name in names}
    tables = []
    for metric in ("validation_mse", "alignment"):
        rows = _named(
            results.tidy(metric, arm="training", variant=list(columns)), "variant", TRAINED
        )
        kept = rows.assign(column=rows["variant"].map(columns), measure=METRICS[metric].label)
        tables.append(kept)
    rows = pd.concat(tables, ignore_index=True).astype({"share": float})
    order = [name for name in _CURVES if name in set(rows["column"])]
    figure, panels = facets(
        rows, 1.5, "% of the steps", row="measure", col="column", col_order=order, sharey="row"
    )
    shown = styles(LABELS[name] for name in columns)
    for axes, part in panels.values():
        curves(axes, part.astype({"model": str}), shown, x="share")
    legend_above(figure)
    return figure


def _draw_language(results: StudyResults) -> Figure:
    tables = [
        results.tidy("perplexity", routes=routes).assign(measure=f"perplexity, {label}")
        for routes, label in (("hard", "hard routes"), ("training", "as in training"))
    ]
    tables.append(results.tidy("pair_share").assign(measure="Σ n_k²/N²"))
    rows = _named(pd.concat(tables, ignore_index=True), "variant", SPOKEN)
    figure, panels = facets(rows, 1.6, col="measure", sharex=False)
    timelines = results.pool("load")["rank"].max()
    lines = {"bigrams": _middle(results, "bigram_perplexity"), "1/K": 1.0 / timelines}
    for measure, (axes, part) in panels.items():
        label = "1/K" if measure == "Σ n_k²/N²" else "bigrams"
        seeds(axes, part, _families(), hue="family")
        anchors(axes, {name: x if name == label else None for name, x in lines.items()}, x=True)
    legend_above(figure)
    return figure


def _moments(results: StudyResults) -> Table:
    metrics = ("relative_bias", "monte_carlo_error", "cosine", "variance")
    rows = []
    for name in ESTIMATED:
        values = [
            results.select(metric, estimator=name, scale=_UNIT)["value"].median()
            for metric in metrics
        ]
        shown = ["0" if abs(value) < _SMALLEST else short(float(value)) for value in values]
        rows.append([ESTIMATORS[name], *shown])
    heads = ("Relative bias", "Error", "Cosine", "Variance")
    return Table(
        name="moments",
        caption="Medians over seeds, at router scale 1.",
        frame=pd.DataFrame(rows, columns=["Estimator", *heads]),
        notes=(
            "Error: the Monte-Carlo error of the bias, relative to the gradient; 0 if the moments "
            "are sums over all assignments. Bias 0: below rounding. Variance 0: deterministic. The "
            "variance of REINFORCE as printed is that of a fixed baseline."
        ),
        numeric=heads,
        numbers=medians(
            results,
            "moments",
            "",
            {head: (m, {"scale": _UNIT}) for head, m in zip(heads, metrics, strict=True)},
            "gradients",
            by=("estimator",),
        ).numbers,
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
    return medians(
        results,
        "routers",
        "Medians over seeds, on test sequences.",
        heads,
        arms="training",
        notes="Short, long: hard error; gap: hard error − error of the mixture. Accuracy: tokens "
        "in the timeline of their type. Pairs: Σ n_k²/N². Spread: standard deviation of the error "
        "over starts. Collapse: share of starts that leave a timeline empty. Flips: per token "
        "and step. Aligned: cosine of the estimate and the gradient at the end. Oracle: error of "
        "the nearest type. All but the spread are means over starts.",
    )


def _search() -> Table:
    rows = []
    rates = sorted({*RATES, *AGAIN[0]})
    grids = (("1", SEARCH, RATES, SCALES_TRIED), ("3", SECOND, *AGAIN))
    for name in (name for name in TRAINED if name in SEARCH):
        for starts, tables, tried, scales in grids:
            for scale, errors in zip(scales, tables.get(name, ()), strict=False):
                known = dict(zip(tried, errors, strict=True))
                decides = decided_again(name) == (tables is SECOND)
                best = chosen(name) if decides else None
                cells = [
                    f"{known[rate]:.3f}" + (" *" if best == (scale, rate) else "")
                    if rate in known
                    else ""
                    for rate in rates
                ]
                rows.append([LABELS[name], starts, short(scale), *cells])
    columns = ["Estimator", "Starts", "Scale", *(f"Rate {short(rate)}" for rate in rates)]
    return Table(
        name="search",
        caption="Search for scale and rate: hard validation error, mean of two pilot seeds.",
        frame=pd.DataFrame(rows, columns=columns),
        notes=(
            "Seeds, sequences and steps are the same for all. The error is a mean over five steps "
            "of the last fifth of the training. Where the choice of the first grid had no "
            "neighbour within 0.01, a second grid with three starts was added, and decides if it "
            "contains the first choice. An asterisk marks the chosen setting: of those within "
            "0.001 of the lowest error, the nearest to scale 0.5 and rate 0.01 on a log scale. "
            "Estimators that only secondary rows compare have no second grid."
        ),
        numeric=tuple(columns[1:]),
    )


def _language(results: StudyResults) -> Table:
    rows = []
    for name in (name for name in SPOKEN if len(results.pool("perplexity", variant=name))):
        cells = [
            *(("perplexity", {"routes": routes}) for routes in ROUTES),
            *((metric, {}) for metric in ("perplexity_gap", "perplexity_gain", "pair_share")),
        ]
        shown = [median(results.pool(m, variant=name, **of)["value"]) for m, of in cells]
        loads = results.pool("load", variant=name)
        by_layer = [
            ", ".join(median(rank["value"], 2) for _, rank in layer.groupby("rank"))
            for _, layer in loads.groupby("layer")
        ]
        rows.append([LABELS[name], *shown, "; ".join(by_layer)])
    heads = ("Hard", "As in training", "Gap", "Gain", "Pairs")
    return Table(
        name="language",
        caption="The language model: perplexities of held-out text, and loads. Medians over seeds.",
        frame=pd.DataFrame(rows, columns=["Estimator", *heads, "Load"]),
        notes=(
            "Gap: hard − as in training. Gain: bigrams − hard. Pairs: Σ n_k²/N² with hard routes. "
            "Load: shares of tokens per timeline, largest first, layer by layer, means over heads."
        ),
        numeric=heads,
        numbers=medians(
            results,
            "language",
            "",
            {
                "Hard": ("perplexity", {"routes": "hard"}),
                "Gap": ("perplexity_gap", {}),
                "Gain": ("perplexity_gain", {}),
                "Pairs": ("pair_share", {}),
            },
            "language",
        ).numbers,
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
    return styles(FAMILIES)


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


def _percent(values: "pd.Series[float]") -> str:
    return short(100.0 * float(values.median())) if len(values) else "n/a"


def _short(values: "pd.Series[float]") -> str:
    return short(float(values.median())) if len(values) else "n/a"
