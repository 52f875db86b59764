"""Figures, tables and numbers of exp11."""

from functools import partial
from itertools import product

import pandas as pd
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.plotting.captions import AS_BEFORE, CURVES, SEEDS
from journeylab.studies.exp11_sabag_pooling.metrics import ARMS, METRICS, TASKS
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
from journeylab.wording.typography import scientific, short

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
_SCALES, _TEMPERATURES = ([f"{x:g}" for x in each] for each in (SCALES, TEMPERATURES))
_SHAPES = [f"{n} → {k}" for n, k in SHAPES]
_STARTS = ("small", "unit")
_ENDS = (1, MULTIPLIERS[-1])


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracies, losses by rate, checks, changes of the loss in one step, and gradient ratios."""
    tables = {
        "accuracies": plot.medians(
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
            "of any permutation-invariant pooling. Diagonal: mean of S_ii on strings of distinct "
            "symbols, for poolings with one S and k = n.",
        ),
        "rates": plot.medians(
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
        ),
        "checks": plot.ranges(results, METRICS, _CHECKS),
    }
    if len(results.select("loss_change")):
        tables["changes"] = _changes(results)
    if len(results.select("gradient_ratio")):
        tables["ratios"] = _ratios(results)
    if len(results.select("safe_rate")):
        tables["steps"] = _steps(results)
    if len(results.select("search_loss")):
        tables["search-rates"] = _searched_rates(results)
    tables["search"] = plot.tabulate_trials(
        results,
        __file__,
        "exact match",
        "Search of rate and initial deviation (scale) of the compared poolings.",
        "Mean over pilot seeds 1000 and 1001 of the exact match on the test strings, and of the "
        "token accuracy for copying and the sentence. For copying, the settings of the study are "
        "not the best that were tried. Other poolings were not searched for.",
    )
    return tables


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Medians of accuracies, ratios, changes and losses; “n/a” for runs that are missing."""
    of, first = partial(plot.cited, results), {"shape": _SHAPES[0], "temperature": "1"}
    trained = ("accuracy", "exact", "diagonal", "least_pair")
    values: dict[str, float | int | str] = {
        **of("{metric}.{arm}.{variant}", trained, arm=TASKS, variant=VARIANTS),
        **of("{metric}.{arm}", "ceiling", arm=TASKS),
        **of("{metric}", ("matched_ratio", "matched_scale", "matched_norm"), short),
        **of("{metric}", "omitted_share", temperature="1"),
    }
    for scale in _SCALES:
        for key, metric in (("ratio", "gradient_ratio"), ("query_norm", "query_norm")):
            rows = results.pool(metric, **first, scale=scale)
            values[f"{key}.{scale}"] = plot.median(rows["value"], short)
        for metric in ("safe_rate", "rise_rate"):
            rows = results.select(metric, scale=scale)
            values[f"{metric}.{scale}"] = short(float(rows["value"].min())) if len(rows) else "n/a"
            values[f"{metric}.{scale}.starts"] = len(rows)
    for own, queries in APART:
        values |= of(
            "apart.{scale}.{queries}",
            "ratio_apart",
            short,
            scale=f"{own:g}",
            queries=f"{queries:g}",
        )
    for precision, rate in product(PRECISIONS, ("0.001", "1")):
        changes = results.pool("loss_change", precision=precision, rate=rate)["value"]
        values[f"change.{precision}.{rate}"] = plot.median(changes, scientific)
        values[f"rises.{precision}.{rate}"] = int((changes > 0).sum())
        values[f"starts.{precision}.{rate}"] = len(changes)
    for optimiser, bases in COMPARED.items():
        cell = partial(
            of,
            places=short,
            optimiser=optimiser,
            scale=_STARTS,
            base=[f"{base:g}" for base in bases],
            multiplier=_ENDS,
        )
        run = "{optimiser}.{scale}.{base}.{multiplier}"
        values |= cell("{metric}." + run, ("mean_loss", "learned"))
        values |= cell("loss." + run + ".{after}", "final_loss", after=("tenth", "end"))
        for start in _STARTS:
            below, values["search_starts"] = _search_signs(results, optimiser, start)
            values[f"search_below.{optimiser}.{start}"] = below
    highest = results.pool("exact", arm="string-extremes")["value"]
    values["ceiling_reached"] = int(len(highest) > 0 and float(highest.median()) > 0.95)
    for metric in ("identity_gap", "printed_twin_gap"):
        values[f"{metric}.max"] = short(float(results.select(metric)["value"].max()))
    for temperature in _TEMPERATURES:
        rows = results.select("q_error", temperature=temperature)
        values[f"q_error.{temperature}"] = scientific(float(rows["value"].max()))
    return values


def _draw_accuracy(results: StudyResults) -> Figure | None:
    whole = results.tidy("accuracy", arm=list(TASKS))
    exact = results.tidy("exact", arm="string-sorted")
    tables = [whole.assign(data=whole["data"].astype(str))]
    if len(exact):
        tables.append(exact.assign(data=f"{ARMS['string-sorted']}, exact match"))
    rows = pd.concat(tables, ignore_index=True)
    return plot.panels(
        results,
        rows,
        1.25,
        "accuracy",
        lines=partial(_line, results),
        col="data",
        col_order=list(dict.fromkeys(name for name in _panels() if name in set(rows["data"]))),
        col_wrap=4,
        xlim=(-0.05, 1.05),
    )


def _draw_ratio(results: StudyResults) -> Figure | None:
    rows = results.tidy("gradient_ratio", arm="ratio")
    rows["hue"] = "τ = " + rows["temperature"].astype(str)
    rows["scale"] = pd.Categorical(rows["scale"], _SCALES)
    return plot.panels(
        results,
        rows,
        1.7,
        "standard deviation",
        "ratio",
        styles=plot.styles(f"τ = {temperature}" for temperature in _TEMPERATURES),
        lines={"printed": _PRINTED_RATIO},
        limits={"yscale": "log", "ylim": (0.03, 3e4)},
        x="scale",
        y="value",
        hue="hue",
        col="shape",
        col_order=_SHAPES,
        col_wrap=3,
    )


def _draw_rates(results: StudyResults) -> Figure | None:
    rows = results.tidy("mean_loss", arm="rates")
    if rows.empty:
        return None
    rows["case"] = rows["optimiser"] + ", " + rows["scale"] + " start"
    rows["hue"] = "queries × " + rows["multiplier"].astype(int).astype(str)
    figure, panels = plot.facets(
        rows, 1.7, "base rate", "mean training loss", col="case", sharex=False
    )
    shown = plot.styles(f"queries × {multiplier}" for multiplier in _ENDS)
    for axes, part in panels.values():
        compared = COMPARED[part["optimiser"].iloc[0]]
        part["base"] = pd.Categorical(part["base"], [f"{base:g}" for base in compared])
        axes.set(yscale="log")
        plot.seeds(axes, part, shown, x="base", y="value", hue="hue")
    return plot.legend_above(figure)


def _changes(results: StudyResults) -> Table:
    rows = []
    for rate, stated in (("0.001", "+0.0004"), ("1", "−0.0001")):
        for precision in PRECISIONS:
            value = results.select("loss_change", precision=precision, rate=rate)["value"]
            signs = {"Rises": value > 0, "Stays": value == 0, "Falls": value < 0}
            rows.append(
                {"Rate": rate, "Precision": precision, "Printed": stated}
                | {"Median change": plot.median(value, scientific)}
                | {head: str(int(which.sum())) for head, which in signs.items()}
            )
    return plot.table(
        "changes",
        "Change of the loss of “abc” → “ab” in one step of gradient descent on Q.",
        rows,
        "Rises, stays, falls: number of starts. Printed: after an unknown number of steps.",
        words=2,
    )


def _ratios(results: StudyResults) -> Table:
    rows = []
    for shape, temperature in product(_SHAPES, _TEMPERATURES):
        at = {"shape": shape, "temperature": temperature}
        ratios = (results.select("gradient_ratio", **at, scale=s)["value"] for s in _SCALES)
        cells = dict(zip(_SCALES, (plot.median(ratio, short) for ratio in ratios), strict=True))
        rows.append({"n → k": shape, "τ": temperature} | cells)
    return plot.table(
        "ratios",
        "Median ‖∂L/∂H‖ / ‖∂L/∂Q‖ before training.",
        rows,
        "Columns: standard deviation of embeddings and queries.",
    )


def _steps(results: StudyResults) -> Table:
    rows = []
    for scale in _SCALES:
        safe = results.select("safe_rate", scale=scale)["value"]
        rising = results.select("rise_rate", scale=scale)["value"]
        row = {"Deviation": scale, "Safe rate": short(float(safe.min()))}
        row["Rises"] = f"{len(rising)} of {len(safe)}"
        row["From rate"] = short(float(rising.min())) if len(rising) else "–"
        for rate, moved in product(("0.001", "1"), ("queries", "all")):
            change = results.select("largest_change", scale=scale, rate=rate, moved=moved)
            row[rate + ", all" * (moved == "all")] = plot.median(change["value"], scientific)
        rows.append(row)
    return plot.table(
        "steps",
        "Finite steps of gradient descent on the queries of “abc” → “ab”, by deviation.",
        rows,
        "Safe rate: the smallest over all starts of the rate up to which no step can raise the "
        "loss. Rises: starts in which a single step of some rate up to a million raises it; from "
        "rate: the smallest such rate. Other columns: largest change of the loss after any number "
        "of steps of this rate on the queries; “all”: while all other weights move at rate 0.001.",
        words=0,
    )


def _searched_rates(results: StudyResults) -> Table:
    losses = results.select("search_loss")
    means = losses.groupby(["optimiser", "scale", "multiplier", "base"])["value"].mean()
    rows = []
    for optimiser, start, multiplier in product(COMPARED, _STARTS, MULTIPLIERS):
        values = means[optimiser, start, multiplier]
        shown = {
            base: ("diverged" if values[base] > _DIVERGED else short(values[base]))
            + "*" * (base == values.idxmin())
            for base in (f"{base:g}" for base in BASES)
        }
        rows.append({"Optimiser": optimiser, "Start": start, "Queries": f"× {multiplier}"} | shown)
    return plot.table(
        "search-rates",
        "Search for base rates: mean training loss of the pilot seeds.",
        rows,
        "One start of each of twelve pilot seeds (1000 to 1011). *: the best base rate. Diverged: "
        f"above {short(_DIVERGED)}.",
        words=3,
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


def _panels() -> list[str]:
    names = [ARMS[arm] for arm in TASKS]
    names.insert(names.index(ARMS["string-sorted"]) + 1, f"{ARMS['string-sorted']}, exact match")
    return names


def _line(results: StudyResults, _: str, part: pd.DataFrame) -> plot.Lines:
    arm = part["arm"].iloc[0]
    return {"permutation-invariant ceiling": results.anchor("ceiling", arm=arm)}


FIGURES: plot.Figures = {
    "accuracy": plot.Drawn(
        _draw_accuracy,
        "Token accuracy on the test strings, by task; for sorted strings also the share of strings "
        f"with only correct symbols. {SEEDS} The vertical line is the exact ceiling of poolings "
        "that do not know the order of their inputs.",
    ),
    "learning": plot.Drawn(
        lambda results: plot.panels(
            results,
            results.learning("accuracy", arm=list(TASKS)),
            1.4,
            "step",
            "accuracy",
            form=plot.curves,
            lines=partial(_line, results),
            col="data",
            col_wrap=3,
            sharex=False,
            ylim=(-0.02, 1.05),
        ),
        f"Token accuracy on the test strings against the training step. {CURVES} The horizontal "
        "line is the same ceiling.",
    ),
    "ratio": plot.Drawn(
        _draw_ratio,
        "Norm of the embeddings' gradient divided by that of the queries' gradient, at the start, "
        "against the standard deviation of both; n inputs → k outputs. Each dot is one start; "
        "symbols as in the figures before. The line “printed” is the ratio of the norms that the "
        "document prints, 0.58 / 0.0049. The claim is judged where the queries' gradient has the "
        "printed norm, between 0.02 and 0.1 of the first panel.",
    ),
    "rates": plot.Drawn(
        _draw_rates,
        "Mean training loss of “abc” → “ab” against the rate of all weights but the queries, whose "
        "rate is the same or 1000 times higher. Small starts have standard deviation 0.1, unit "
        f"starts 1. {AS_BEFORE}",
    ),
}
