"""Figures, tables and numbers of exp6."""

from collections.abc import Collection
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from journeylab.plotting import (
    StudyResults,
    Table,
    canvas,
    curves_with_band,
    legend_above,
    looks,
    points_with_interval,
)
from journeylab.studies.exp6_coupling_rank.metrics import ARMS, FREQUENCY_SETS, LABELS
from journeylab.studies.exp6_coupling_rank.settings import (
    ARITHMETICS,
    HEADS,
    OPERATORS,
    STACKED,
    D,
    Variant,
)
from journeylab.typography import fixed, scientific

CAPTIONS = {
    "heads": (
        "Accuracy on the whole noiseless table of models that were trained on the labels of noisy "
        "queries, against the number of heads H. Thin lines are seeds, thick ones medians, bands "
        "their distribution-free 95 % intervals, of the seeds that did not fail. Horizontal lines "
        "are medians over seeds: of one journey head with given frequencies, of naming the most "
        "frequent noisy label at every position and role, and of the exact ceiling of answers that "
        "do not know the position."
    ),
    "models": (
        "The same accuracies, and those of models that have no number of heads to vary. Every "
        "point is one seed, bars are medians over seeds, vertical lines their distribution-free "
        "95 % intervals; ✗ counts seeds that failed. The broken line is the ceiling of answers "
        "that do not know the position, its median over seeds."
    ),
    "errors": (
        "Squared error of separable heads that were fitted to the noiseless scores, in units of "
        "the mean square of M. The line is the least error that H separable terms can have "
        "(Eckart–Young), its median over seeds; with d terms it is 0. Symbols as before. Values "
        "below the foot of a panel are drawn there."
    ),
    "spectrum": (
        "Singular values of the coupling, for every set of frequencies. Every point is one draw "
        "of a teacher with toral or with orthogonal roles. What is zero in exact arithmetic is "
        "rounding, and falls with the precision."
    ),
    "learning": (
        "Accuracy on the whole noiseless table against the training step: of eight heads where "
        "there are several, of the restart with the least training loss so far where frequencies "
        "are learned. Thin lines are seeds, thick ones medians, bands their distribution-free "
        "95 % intervals."
    ),
}

_FITTED = tuple(arm for arm in ARMS if arm.endswith("-scores"))
_LABELLED = tuple(arm for arm in ARMS if arm not in _FITTED)
_WHOLE = tuple(variant for variant in LABELS if variant not in STACKED)
_FOOT = 1e-8
_WHOLE_MODEL = "Accuracy"
_NUMERIC = ("Parameters", _WHOLE_MODEL, *map(str, HEADS), "Failed")
_ERRORS = ("Error", "Least", "Excess", "Largest excess", "Accuracy", "Truncated")
_LOOKS = looks(LABELS)
_ANCHORS: tuple[dict[str, Any], ...] = (
    {"color": "#202020", "linewidth": 0.9, "linestyle": (0, (5, 2))},
    {"color": "#202020", "linewidth": 1.0, "linestyle": (0, (1, 1.2))},
    {"color": "#707070", "linewidth": 0.9, "linestyle": (0, (6, 1.5, 1, 1.5))},
)


def draw(results: StudyResults) -> dict[str, Figure]:
    """Accuracy by heads and by model, errors of fitted scores, singular values, and learning."""
    figures: dict[str, Figure] = {}
    if arms := _arms(results, _LABELLED):
        figures["heads"] = _draw_heads(results, arms)
        figures["models"] = _draw_models(results, arms)
    if arms := _arms(results, _FITTED):
        figures["errors"] = _draw_errors(results, arms)
    figures["spectrum"] = _draw_spectrum(results)
    if results.curves is not None:
        figures["learning"] = _draw_learning(results, results.curves)
    return figures


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracies, errors over Eckart–Young, and ranks with their gaps."""
    return {
        "accuracies": Table(
            name="accuracies",
            caption="Median accuracy on the whole noiseless table, over the seeds.",
            frame=_accuracies(results),
            notes=(
                "Columns 1 … 8: with so many heads H. Training is on noisy labels, or on the "
                "noiseless scores where the arm says so."
            ),
            numeric=_NUMERIC,
        ),
        "errors": Table(
            name="errors",
            caption="H separable heads fitted to the noiseless scores: medians over the seeds.",
            frame=_errors(results),
            notes=(
                "Error: ‖S − M‖² / ‖M‖²; least: of any scores of rank H (Eckart–Young); excess: "
                "error / least − 1; truncated: accuracy of the best scores of rank H."
            ),
            numeric=("H", *_ERRORS),
        ),
        "ranks": _ranks(results),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Median accuracies, anchors, largest excesses and least gaps; “n/a” of what did not run."""
    found: dict[str, float | int | str] = {}
    for arm in ARMS:
        for variant in LABELS:
            for heads in HEADS if variant in STACKED else (None,):
                key = f"accuracy.{arm}.{variant}" + (f".{heads}" if heads else "")
                found[key] = _median(_accuracy(results, arm, variant, heads))
    for arm in _LABELLED:
        for anchor in ("blind_ceiling", "memory"):
            found[f"{anchor}.{arm}"] = _median(_anchor(results, anchor, arm))
    for arm in ("random-toral", "random-orthogonal"):
        sizes = results.pool("parameters", arm=arm, variant="separable-matched")["value"]
        found[f"matched.{arm}"] = _median(sizes, 0)
    for arm in _FITTED:
        rows = results.pool("excess", arm=arm)
        few = rows.loc[rows["H"] <= D // 2, "value"]
        found[f"excess.{arm}.max"] = scientific(float(few.max())) if len(few) else "n/a"
    for arithmetic in ARITHMETICS:
        gaps = results.select("gap", arm="rank", arithmetic=arithmetic)["value"]
        found[f"gap.{arithmetic}.min"] = scientific(float(gaps.min()))
    return found


def _draw_heads(results: StudyResults, arms: list[str]) -> Figure:
    figure, axes = _panels(arms, 1.8)
    for each, arm in zip(axes, arms, strict=False):
        each.set(
            title=ARMS[arm], xlabel="heads H", ylabel="accuracy", ylim=(0.0, 1.05), xticks=HEADS
        )
        for variant in STACKED:
            rows = results.pool("accuracy", arm=arm, variant=variant)
            if len(rows):
                rows = rows.rename(columns={"H": "step"}).astype({"step": int})
                curves_with_band(each, rows, _LOOKS[variant], label=LABELS[variant])
        journey = results.pool("accuracy", arm=arm, variant="journey")["value"]
        lines = {"journey": journey}
        lines["most frequent noisy label"] = _anchor(results, "memory", arm)
        lines["t-blind ceiling"] = _anchor(results, "blind_ceiling", arm)
        for (name, values), style in zip(lines.items(), _ANCHORS, strict=True):
            if len(values):
                each.axhline(float(values.median()), label=name, **style)
    legend_above(figure, axes, columns=3)
    return figure


def _draw_models(results: StudyResults, arms: list[str]) -> Figure:
    cases: list[tuple[Variant, int | None]] = [(variant, None) for variant in _WHOLE]
    cases += [(variant, D) for variant in STACKED]
    figure, axes = _panels(arms, 2.4, sharey=True)
    for each, arm in zip(axes, arms, strict=False):
        shown = [case for case in cases if (arm, case[0]) in _runs(results)]
        for place, (variant, heads) in enumerate(shown):
            values = _accuracy(results, arm, variant, heads)
            lost = results.failures(arm, variant)
            points_with_interval(each, place, values, _LOOKS[variant], width=0.7, failures=lost)
        ceiling = float(_anchor(results, "blind_ceiling", arm).median())
        each.axhline(ceiling, label="t-blind ceiling", **_ANCHORS[2])
        each.set(title=ARMS[arm], ylabel="accuracy", ylim=(0.0, 1.05))
        names = [LABELS[v] + (f", H = {h}" if h else "") for v, h in shown]
        each.set_xticks(range(len(shown)), names, rotation=90)
    legend_above(figure, axes)
    return figure


def _draw_errors(results: StudyResults, arms: list[str]) -> Figure:
    figure, axes = _panels(arms, 1.7, columns=2)
    for each, arm in zip(axes, arms, strict=False):
        for heads in HEADS:
            rows = results.pool("squared_error", arm=arm, variant="separable", H=heads)
            values = rows["value"].clip(lower=_FOOT)
            lost = results.failures(arm, "separable")
            look = _LOOKS["separable"]
            points_with_interval(each, heads, values, look, failures=lost)
        least = results.pool("eckart_young", arm=arm, variant="separable")
        line = least.groupby("H")["value"].median().clip(lower=_FOOT)
        style = _ANCHORS[0] | {"marker": "_"}
        each.plot(line.index.to_numpy(int), line.to_numpy(float), label="Eckart–Young", **style)
        each.set(title=ARMS[arm], yscale="log", ylim=(_FOOT / 2, 2.0), xticks=HEADS)
        each.set(xlabel="heads H", ylabel="squared error")
    legend_above(figure, axes)
    return figure


def _draw_spectrum(results: StudyResults) -> Figure:
    rows = results.pool("singular_value", arm="rank")
    known = [name for name in FREQUENCY_SETS if name in set(rows["frequencies"])]
    figure, axes = canvas(1, len(known), height=2.1, sharey=True)
    for each, frequencies in zip(axes, known, strict=True):
        for (arithmetic, look), shift in zip(
            looks(ARITHMETICS).items(), (-0.18, 0.18), strict=True
        ):
            chosen = rows[(rows["frequencies"] == frequencies) & (rows["arithmetic"] == arithmetic)]
            values = chosen["value"].clip(lower=1e-33)
            each.scatter(
                chosen["i"].to_numpy(float) + shift,
                values,
                s=7,
                marker=look.marker,
                color=look.color,
                alpha=0.45,
                linewidth=0,
                label=arithmetic,
            )
        each.set(title=FREQUENCY_SETS[frequencies], yscale="log", ylim=(1e-34, 10.0))
        each.set(xlabel="i", xticks=range(1, D + 2))
    axes[0].set_ylabel("σᵢ / σ₁")
    legend_above(figure, axes)
    return figure


def _draw_learning(results: StudyResults, curves: pd.DataFrame) -> Figure:
    rows = curves[curves["metric"].isin(("accuracy", f"accuracy_{D}"))]
    arms = [arm for arm in _LABELLED if arm in set(rows["arm"])]
    figure, axes = _panels(arms, 1.7)
    for each, arm in zip(axes, arms, strict=False):
        for variant, label in LABELS.items():
            here = rows[(rows["arm"] == arm) & (rows["variant"] == variant)]
            if len(here):
                curves_with_band(each, here, _LOOKS[variant], label=label)
        each.set(title=ARMS[arm], xlabel="step", ylabel="accuracy", ylim=(0.0, 1.05))
    legend_above(figure, axes, columns=3)
    return figure


def _panels(
    arms: list[str], height: float, columns: int = 3, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A panel per arm; spare ones are hidden."""
    columns = min(columns, len(arms))
    rows = -(-len(arms) // columns)
    figure, axes = canvas(rows, columns, height=0.3 + height * rows, **options)
    for spare in axes[len(arms) :]:
        spare.set_axis_off()
    return figure, axes


def _accuracies(results: StudyResults) -> pd.DataFrame:
    rows = []
    for arm, variant in _runs(results):
        sizes = results.pool("parameters", arm=arm, variant=variant)["value"]
        heads = HEADS if variant in STACKED else ()
        size = _median(sizes.nsmallest(1), 0) + (" H" if heads else "")
        told = {"Arm": ARMS[arm], "Model": LABELS[variant], "Parameters": size}
        for h in heads or (None,):
            told[str(h or _WHOLE_MODEL)] = _median(_accuracy(results, arm, variant, h))
        rows.append(told | {"Failed": str(results.failures(arm, variant))})
    return pd.DataFrame(rows, columns=["Arm", "Model", *_NUMERIC]).fillna("")


def _errors(results: StudyResults) -> pd.DataFrame:
    rows = []
    for arm in _FITTED:
        where = {"arm": arm, "variant": "separable"}
        for heads in HEADS:
            error, least, excess, truncated = (
                results.pool(metric, **where, H=heads)["value"]
                for metric in ("squared_error", "eckart_young", "excess", "truncated_accuracy")
            )
            if len(error):
                told = ["0", "–", "–"]  # eight heads can say everything
                if heads < D:
                    known = (least.median(), excess.median(), excess.max())
                    told = [scientific(float(value)) for value in known]
                told = [scientific(float(error.median())), *told]
                told += map(_median, (_accuracy(results, arm, "separable", heads), truncated))
                rows.append([ARMS[arm], str(heads), *told])
    return pd.DataFrame(rows, columns=["Arm", "H", *_ERRORS])


def _ranks(results: StudyResults) -> Table:
    rows = []
    for frequencies, title in FREQUENCY_SETS.items():
        for operators in OPERATORS:
            where = {"arm": "rank", "frequencies": frequencies, "operators": operators}
            ranks = results.pool("rank", **where)["value"]
            if len(ranks):
                gaps = [results.pool("gap", **where, arithmetic=a)["value"] for a in ARITHMETICS]
                told = ", ".join(sorted({str(int(rank)) for rank in ranks}))
                rows.append([title, operators, told, *(scientific(gap.min()) for gap in gaps)])
    heads = ("Rank", *(f"Least gap, {arithmetic}" for arithmetic in ARITHMETICS))
    return Table(
        name="ranks",
        caption="Rank r of the coupling in all draws and both arithmetics, and σ(r) / σ(r + 1).",
        frame=pd.DataFrame(rows, columns=["Frequencies", "Roles", *heads]),
        numeric=heads,
    )


def _accuracy(
    results: StudyResults, arm: str, variant: str, heads: int | None
) -> "pd.Series[float]":
    rows = results.pool("accuracy", arm=arm, variant=variant)
    if heads is not None:
        rows = rows[rows["H"] == heads]
    return rows.sort_values("seed")["value"]


def _anchor(results: StudyResults, metric: str, arm: str) -> "pd.Series[float]":
    """An anchor of every seed; all variants of an arm tell the same."""
    return results.pool(metric, arm=arm).drop_duplicates("seed")["value"]


def _runs(results: StudyResults) -> list[tuple[str, Variant]]:
    """What was trained, whether or not it finished."""
    measured = results.measurements[["arm", "variant"]].itertuples(index=False, name=None)
    known = {*measured, *((run.arm, run.variant) for run in results.runs)}
    return [(arm, variant) for arm in ARMS for variant in LABELS if (arm, variant) in known]


def _arms(results: StudyResults, wanted: Collection[str]) -> list[str]:
    return list(dict.fromkeys(arm for arm, _ in _runs(results) if arm in wanted))


def _median(values: "pd.Series[float]", places: int = 3) -> str:
    return fixed(float(values.median()), places) if len(values) else "n/a"
