"""Figures, tables and numbers of exp11."""

from itertools import product

import pandas as pd
from matplotlib.figure import Figure

from journeylab.plotting import (
    StudyResults,
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
from journeylab.plotting.captions import AS_BEFORE, CURVES, SEEDS
from journeylab.studies.exp11_sabag_pooling.metrics import ARMS, METRICS, TASKS
from journeylab.studies.exp11_sabag_pooling.search import TRIALS
from journeylab.studies.exp11_sabag_pooling.settings import (
    APART,
    BASES,
    COMPARED,
    MULTIPLIERS,
    PRECISIONS,
    SCALES,
    SHAPES,
    TEMPERATURES,
    VARIANTS,
)
from journeylab.typography import scientific, short

CAPTIONS = {
    "accuracy": (
        "Token accuracy on the test strings, by task; for sorted strings also the share of strings "
        "with only correct symbols. "
        f"{SEEDS} The vertical line is the exact "
        "ceiling of poolings that do not know the order of their inputs."
    ),
    "learning": (
        "Token accuracy on the test strings against the training step. "
        f"{CURVES} The horizontal line is the same ceiling."
    ),
    "ratio": (
        "Norm of the embeddings' gradient divided by that of the queries' gradient, at the start, "
        "against the standard deviation of both; n inputs → k outputs. Each dot is one start; "
        "symbols as in the figures before. The line “printed” is the ratio of the norms that the "
        "document prints, 0.58 / 0.0049. The claim is judged where the queries' gradient has the "
        "printed norm, between 0.02 and 0.1 of the first panel."
    ),
    "rates": (
        "Mean training loss of “abc” → “ab” against the rate of all weights but the queries, whose "
        f"rate is the same or 1000 times higher. Small starts have standard deviation 0.1, unit "
        f"starts 1. {AS_BEFORE}"
    ),
}

_CHECKS: dict[str, tuple[str, ...]] = {
    "invariance_error": (),
    "invariance_control": (),
    "row_sum_error": (),
    "row_sum_control": (),
    "rank_excess": (),
    "rank_control": ("shape",),
    "shape_error": (),
    "shape_control": (),
    "characters": (),
    "characters_control": (),
    "twin_gap": (),
    "query_gradient": (),
    "q_error": ("temperature",),
    "h_error": (),
    "h_unscored_error": (),
    "h_untempered_error": ("temperature",),
    "law_error": (),
    "law_control": (),
    "safe_change": (),
    "ascent_change": ("scale",),
}
"""Metrics of certificates and their controls, and factors whose levels differ."""
_PRINTED_RATIO = 0.58 / 0.0049
_DIVERGED = 1e6


def draw(results: StudyResults) -> dict[str, Figure]:
    """Accuracy and learning curves by task, gradient ratios, and rates of the queries."""
    figures: dict[str, Figure] = {}
    if results.present():
        figures["accuracy"] = _draw_accuracy(results)
        if results.curves is not None:
            figures["learning"] = _draw_learning(results)
    if len(results.select("gradient_ratio")):
        figures["ratio"] = _draw_ratio(results)
    if len(results.select("mean_loss")):
        figures["rates"] = _draw_rates(results)
    return figures


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracies, losses by rate, checks, changes of the loss in one step, and gradient ratios."""
    tables = {
        "accuracies": medians(
            results,
            "accuracies",
            "Medians over seeds, on the test strings.",
            {
                "Accuracy": ("accuracy", {}),
                "Exact": ("exact", {}),
                "Ceiling": ("ceiling", {}),
                "Diagonal": ("diagonal", {}),
            },
            notes="Exact: share of strings with only correct outputs. Ceiling: best token accuracy "
            "of any permutation-invariant pooling. Diagonal: mean of S_ii on strings of "
            "distinct symbols, for poolings with one S and k = n.",
        ),
        "rates": _rates(results),
        "checks": ranges(results, METRICS, _CHECKS),
    }
    if len(results.select("loss_change")):
        tables["changes"] = _changes(results)
    if len(results.select("gradient_ratio")):
        tables["ratios"] = _ratios(results)
    if len(results.select("safe_rate")):
        tables["steps"] = _steps(results)
    if len(results.select("search_loss")):
        tables["search-rates"] = _searched_rates(results)
    tables["search-poolings"] = _searched_poolings(results)
    return tables


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Medians of accuracies, ratios, changes and losses; “n/a” for runs that are missing."""
    numbers: dict[str, float | int | str] = {}
    for arm in TASKS:
        for variant in VARIANTS:
            for metric in ("accuracy", "exact", "diagonal", "least_pair"):
                rows = results.pool(metric, arm=arm, variant=variant)
                numbers[f"{metric}.{arm}.{variant}"] = median(rows["value"])
        numbers[f"ceiling.{arm}"] = median(results.pool("ceiling", arm=arm)["value"])
    for scale in (f"{scale:g}" for scale in SCALES):
        rows = results.pool("gradient_ratio", shape=_shape(SHAPES[0]), scale=scale, temperature="1")
        numbers[f"ratio.{scale}"] = _short(rows["value"])
        rows = results.pool("query_norm", shape=_shape(SHAPES[0]), scale=scale, temperature="1")
        numbers[f"query_norm.{scale}"] = _short(rows["value"])
    for scale, queries in ((f"{h:g}", f"{q:g}") for h, q in APART):
        rows = results.pool("ratio_apart", scale=scale, queries=queries)
        numbers[f"apart.{scale}.{queries}"] = _short(rows["value"])
    for precision in PRECISIONS:
        for rate in ("0.001", "1"):
            rows = results.pool("loss_change", precision=precision, rate=rate)
            numbers[f"change.{precision}.{rate}"] = _power(rows["value"])
            numbers[f"rises.{precision}.{rate}"] = int((rows["value"] > 0).sum())
            numbers[f"starts.{precision}.{rate}"] = len(rows)
    for optimiser, bases in COMPARED.items():
        for start in ("small", "unit"):
            for base in (f"{base:g}" for base in bases):
                for multiplier in (1, MULTIPLIERS[-1]):
                    cell: dict[str, str | int] = {"optimiser": optimiser, "scale": start}
                    cell |= {"base": base, "multiplier": multiplier}
                    name = f"{optimiser}.{start}.{base}.{multiplier}"
                    for metric in ("mean_loss", "learned"):
                        numbers[f"{metric}.{name}"] = _short(results.pool(metric, **cell)["value"])
                    for after in ("tenth", "end"):
                        rows = results.pool("final_loss", **cell, after=after)
                        numbers[f"loss.{name}.{after}"] = _short(rows["value"])
    for optimiser, start in product(COMPARED, ("small", "unit")):
        below, starts = _search_signs(results, optimiser, start)
        numbers[f"search_below.{optimiser}.{start}"] = below
        numbers["search_starts"] = starts
    for metric in ("matched_ratio", "matched_scale", "matched_norm"):
        numbers[metric] = _short(results.pool(metric)["value"])
    for scale in (f"{scale:g}" for scale in SCALES):
        for metric in ("safe_rate", "rise_rate"):
            rows = results.select(metric, scale=scale)
            numbers[f"{metric}.{scale}"] = short(float(rows["value"].min())) if len(rows) else "n/a"
            numbers[f"{metric}.{scale}.starts"] = len(rows)
    highest = results.pool("exact", arm="string-extremes")["value"]
    numbers["ceiling_reached"] = int(len(highest) > 0 and float(highest.median()) > 0.95)
    for metric in ("identity_gap", "printed_twin_gap"):
        numbers[f"{metric}.max"] = short(float(results.select(metric)["value"].max()))
    for temperature in (f"{temperature:g}" for temperature in TEMPERATURES):
        rows = results.select("q_error", temperature=temperature)
        numbers[f"q_error.{temperature}"] = scientific(float(rows["value"].max()))
    share = results.select("omitted_share", temperature="1")
    numbers["omitted_share"] = median(share["value"])
    return numbers


def _draw_accuracy(results: StudyResults) -> Figure:
    whole = results.tidy("accuracy", arm=list(TASKS))
    exact = results.tidy("exact", arm="string-sorted")
    tables = [whole.assign(data=whole["data"].astype(str))]
    if len(exact):
        tables.append(exact.assign(data=f"{ARMS['string-sorted']}, exact match"))
    rows = pd.concat(tables, ignore_index=True)
    order = list(dict.fromkeys(name for name in _panels() if name in set(rows["data"])))
    figure, panels = facets(
        rows, 1.25, "accuracy", col="data", col_order=order, col_wrap=4, xlim=(-0.05, 1.05)
    )
    for axes, part in panels.values():
        seeds(axes, part, results.styles)
        anchors(axes, _line(results, part["arm"].iloc[0]), x=True)
    legend_above(figure)
    return figure


def _draw_learning(results: StudyResults) -> Figure:
    rows = results.learning("accuracy", arm=list(TASKS))
    figure, panels = facets(
        rows, 1.4, "step", "accuracy", col="data", col_wrap=3, sharex=False, ylim=(-0.02, 1.05)
    )
    for axes, part in panels.values():
        curves(axes, part, results.styles)
        anchors(axes, _line(results, part["arm"].iloc[0]))
    legend_above(figure)
    return figure


def _draw_ratio(results: StudyResults) -> Figure:
    rows = results.tidy("gradient_ratio", arm="ratio")
    rows["hue"] = "τ = " + rows["temperature"]
    rows["scale"] = pd.Categorical(rows["scale"], [f"{scale:g}" for scale in SCALES])
    order = [_shape(shape) for shape in SHAPES]
    figure, panels = facets(
        rows, 1.7, "standard deviation", "ratio", col="shape", col_order=order, col_wrap=3
    )
    shown = styles(f"τ = {temperature:g}" for temperature in TEMPERATURES)
    for axes, part in panels.values():
        axes.set(yscale="log", ylim=(0.03, 3e4))
        seeds(axes, part, shown, x="scale", y="value", hue="hue")
        anchors(axes, {"printed": _PRINTED_RATIO})
    legend_above(figure)
    return figure


def _draw_rates(results: StudyResults) -> Figure:
    rows = results.tidy("mean_loss", arm="rates")
    rows["case"] = rows["optimiser"] + ", " + rows["scale"] + " start"
    rows["hue"] = "queries × " + rows["multiplier"].astype(int).astype(str)
    figure, panels = facets(rows, 1.7, "base rate", "mean training loss", col="case", sharex=False)
    shown = styles(f"queries × {multiplier}" for multiplier in (1, MULTIPLIERS[-1]))
    for axes, part in panels.values():
        compared = COMPARED[part["optimiser"].iloc[0]]
        part["base"] = pd.Categorical(part["base"], [f"{base:g}" for base in compared])
        axes.set(yscale="log")
        seeds(axes, part, shown, x="base", y="value", hue="hue")
    legend_above(figure)
    return figure


def _rates(results: StudyResults) -> Table:
    return medians(
        results,
        "rates",
        "Loss of “abc” → “ab” by the rate of the queries: medians over seeds.",
        {
            "Mean": ("mean_loss", {}),
            "After a tenth": ("final_loss", {"after": "tenth"}),
            "Final": ("final_loss", {"after": "end"}),
            "Learned": ("learned", {}),
        },
        arms="rates",
        by=("optimiser", "scale", "base", "multiplier"),
        notes="Base: rate of all weights but the queries, whose rate is the multiple of it. "
        "Learned: share of starts that learn their targets.",
    )


def _changes(results: StudyResults) -> Table:
    rows = []
    for rate, printed in (("0.001", "+0.0004"), ("1", "−0.0001")):
        for precision in PRECISIONS:
            value = results.select("loss_change", precision=precision, rate=rate)["value"]
            signs = [
                str(int(n)) for n in ((value > 0).sum(), (value == 0).sum(), (value < 0).sum())
            ]
            rows.append([rate, precision, printed, _power(value), *signs])
    heads = ("Printed", "Median change", "Rises", "Stays", "Falls")
    return Table(
        name="changes",
        caption="Change of the loss of “abc” → “ab” in one step of gradient descent on Q.",
        frame=pd.DataFrame(rows, columns=["Rate", "Precision", *heads]),
        notes="Rises, stays, falls: number of starts. Printed: after an unknown number of steps.",
        numeric=heads,
    )


def _ratios(results: StudyResults) -> Table:
    rows = []
    scales = tuple(f"{scale:g}" for scale in SCALES)
    for shape in SHAPES:
        for temperature in (f"{temperature:g}" for temperature in TEMPERATURES):
            where = {"shape": _shape(shape), "temperature": temperature}
            ratios = (results.select("gradient_ratio", **where, scale=s)["value"] for s in scales)
            rows.append([_shape(shape), temperature, *map(_short, ratios)])
    return Table(
        name="ratios",
        caption="Median ‖∂L/∂H‖ / ‖∂L/∂Q‖ before training.",
        frame=pd.DataFrame(rows, columns=["n → k", "τ", *scales]),
        notes="Columns: standard deviation of embeddings and queries.",
        numeric=("τ", *scales),
    )


def _steps(results: StudyResults) -> Table:
    rows = []
    for scale in (f"{scale:g}" for scale in SCALES):
        safe = results.select("safe_rate", scale=scale)["value"]
        rising = results.select("rise_rate", scale=scale)["value"]
        changes = [
            _power(results.select("largest_change", scale=scale, rate=rate, moved=moved)["value"])
            for rate in ("0.001", "1")
            for moved in ("queries", "all")
        ]
        least = short(float(rising.min())) if len(rising) else "–"
        rows.append([scale, short(float(safe.min())), f"{len(rising)} of {len(safe)}", least])
        rows[-1] += changes
    heads = ("Safe rate", "Rises", "From rate", "0.001", "0.001, all", "1", "1, all")
    return Table(
        name="steps",
        caption="Finite steps of gradient descent on the queries of “abc” → “ab”, by deviation.",
        frame=pd.DataFrame(rows, columns=["Deviation", *heads]),
        notes=(
            "Safe rate: the smallest over all starts of the rate up to which no step can raise "
            "the loss. Rises: starts in which a single step of some rate up to a million raises "
            "it; from rate: the smallest such rate. Other columns: largest change of the loss "
            "after any number of steps of this rate on the queries; “all”: while all other weights "
            "move at rate 0.001."
        ),
        numeric=("Deviation", *heads),
    )


def _searched_rates(results: StudyResults) -> Table:
    table = results.select("search_loss")
    means = table.groupby(["optimiser", "scale", "multiplier", "base"])["value"].mean()
    bases = [f"{base:g}" for base in BASES]
    rows = []
    for optimiser in COMPARED:
        for start in ("small", "unit"):
            for multiplier in MULTIPLIERS:
                values = means[optimiser, start, multiplier]
                best = values.idxmin()
                cells = [
                    ("diverged" if values[b] > _DIVERGED else short(values[b])) + "*" * (b == best)
                    for b in bases
                ]
                rows.append([optimiser, start, f"× {multiplier}", *cells])
    return Table(
        name="search-rates",
        caption="Search for base rates: mean training loss of the pilot seeds.",
        frame=pd.DataFrame(rows, columns=["Optimiser", "Start", "Queries", *bases]),
        notes=(
            "One start of each of twelve pilot seeds (1000 to 1011). *: the best base rate. "
            f"Diverged: above {short(_DIVERGED)}."
        ),
        numeric=tuple(bases),
    )


def _search_signs(results: StudyResults, optimiser: str, start: str) -> tuple[int, int]:
    """Pilot starts whose loss is lower with the higher rate of Q, each at its best; all starts."""
    rows = results.select("search_loss", optimiser=optimiser, scale=start)
    best = []
    for multiplier in (1, MULTIPLIERS[-1]):
        losses = rows[rows["multiplier"] == multiplier].pivot(
            index="draw", columns="base", values="value"
        )
        best.append(losses.loc[:, [losses.mean().idxmin()]].iloc[:, 0] if len(losses) else None)
    equal, higher = best
    if equal is None or higher is None:
        return 0, 0
    return int((higher < equal).sum()), len(equal)


def _searched_poolings(results: StudyResults) -> Table:
    frame = pd.DataFrame(TRIALS)
    frame["task"] = frame["task"].map(ARMS)
    frame["variant"] = frame["variant"].map(results.labels)
    rates = sorted(frame["rate"].unique())
    rows = []
    for (task, variant, steps), trials in frame.groupby(["task", "variant", "steps"], sort=False):
        best = trials.iloc[int(trials["value"].argmax())]
        for scale, tried in trials.groupby("scale"):
            value = dict(zip(tried["rate"], tried["value"], strict=True))
            cells = [
                (f"{value[rate]:.3f}" if rate in value else "–")
                + ("*" if (scale, rate) == (best["scale"], best["rate"]) else "")
                for rate in rates
            ]
            rows.append([task, variant, str(steps), f"{scale:g}", *cells])
    heads = [f"{rate:g}" for rate in rates]
    return Table(
        name="search-poolings",
        caption="Search for rates and initial deviations of the compared poolings.",
        frame=pd.DataFrame(rows, columns=["Task", "Pooling", "Steps", "Deviation", *heads]),
        notes=(
            "Mean over pilot seeds 1000 and 1001 of the exact match on the test strings, and of "
            "the token accuracy for copying and the sentence. Columns are rates, –: not tried, "
            "*: the best. For copying, the marked settings are not the ones that were used; the "
            "fairness table lists its rates. Other poolings were not searched for."
        ),
        numeric=("Steps", "Deviation", *heads),
    )


def _panels() -> list[str]:
    names = [ARMS[arm] for arm in TASKS]
    names.insert(names.index(ARMS["string-sorted"]) + 1, f"{ARMS['string-sorted']}, exact match")
    return names


def _line(results: StudyResults, arm: str) -> dict[str, float | None]:
    known = results.pool("ceiling", arm=arm)["value"]
    return {"permutation-invariant ceiling": float(known.median()) if len(known) else None}


def _shape(shape: tuple[int, int]) -> str:
    return f"{shape[0]} → {shape[1]}"


def _short(values: "pd.Series[float]") -> str:
    return short(float(values.median())) if len(values) else "n/a"


def _power(values: "pd.Series[float]") -> str:
    return scientific(float(values.median())) if len(values) else "n/a"
