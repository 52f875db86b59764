"""Figures, tables and numbers of exp3."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from journeylab.plotting import (
    TEXT,
    Look,
    StudyResults,
    Table,
    canvas,
    curves_with_band,
    legend_above,
    looks,
    points_with_interval,
)
from journeylab.studies.exp3_order_information.information import (
    blind_ceiling,
    blind_count,
    blind_information,
    coarsest_precision,
    precision_law,
)
from journeylab.studies.exp3_order_information.settings import (
    LENGTHS,
    SETS,
    WIDTHS,
    Arm,
    Settings,
    Variant,
)

CAPTIONS = {
    "information": (
        "Bits against precision, by enumeration of all strings of two colours: what the aggregate, "
        "read through a grid of cell width ε, tells of the order once the counts are known. Every "
        "point is one draw of the values, lines are medians over the draws; precision grows to the "
        "right. Dashed lines are all there is to know, H(order | counts), for the same N. The "
        "dotted line is the precision law d·log₂(1 + range/ε) at the largest N, for the median "
        "range: no grid tells more, on average over its offset. It is drawn for coarser grids as "
        "well, up to where it leaves room for more bits than there are. Mean pooling coincides "
        "with the sum."
    ),
    "positions": (
        "Position accuracy on held-out strings against N. Every point is one seed of the MLP "
        "probe, bars are medians over seeds, vertical lines their distribution-free 95 % "
        "intervals; hollow diamonds are medians of the linear probe. Dashed lines are the exact "
        "order-blind ceiling E[max n]/N: the best guess of one who knows the counts and nothing "
        "else. ✗ counts failed seeds: intervals take them as lying anywhere, medians are over the "
        "others."
    ),
    "counts": (
        "Count accuracy on held-out strings against N: share of right counts over all colours. "
        "Symbols as in the figure before. Dashed lines are the exact floor max P(n = k), the best "
        "constant answer: reaching it takes no knowledge of s. The dotted line is the margin 0.99."
    ),
    "bits": (
        "V-information of the MLP probe about the positions of held-out strings, against N. Dotted "
        "lines are all there is, N·log₂ C bits; dashed ones are what an order-blind reader of the "
        "counts has. Below 0 a probe is overfitted: it is so sure of wrong answers on strings that "
        "it has not seen that not reading s at all would lose fewer bits."
    ),
    "training": (
        "Held-out position accuracy of the MLP probe at the largest N against the training step. "
        "Thin lines are seeds, thick ones medians, bands their distribution-free 95 % intervals; "
        "failed seeds have no line."
    ),
}

_GAP = 0.13
_CELLS = (100.0, 6e-4)
_SHOWN: tuple[Variant, ...] = ("sum", "as-shipped", "one-two", "standard", "quarter-turns")


def draw(results: StudyResults) -> dict[str, Figure]:
    """Bits against precision; accuracy of positions and counts against N; V-information."""
    figures: dict[str, Figure] = {}
    if len(results.select("mutual_information")):
        figures["information"] = _draw_information(results)
    if _arms(results):
        figures["positions"] = _draw_positions(results)
        figures["counts"] = _draw_counts(results)
        figures["bits"] = _draw_bits(results)
        if results.curves is not None:
            figures["training"] = _draw_training(results)
    return figures


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Exact information by set and precision; the probes' accuracy by arm, set and N."""
    tables = {}
    if len(results.select("mutual_information")):
        tables["information"] = _tabulate_information(results)
    if _arms(results):
        tables["probes"] = _tabulate_probes(results)
    return tables


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Anchors, sizes of the splits, and the exact bits that the prose cites, for two colours."""
    [data] = _settings(results).datasets.values()
    found: dict[str, float] = {}
    for length in LENGTHS:
        found[f"ceiling.{length}"] = blind_ceiling(length, 2)
    for length in (min(LENGTHS), max(LENGTHS)):
        found[f"held_out.{length}"] = min(data.held_out, int(2**length * data.largest_share))
    found["floor.20"] = blind_count(20, 2)
    found["quarter.16"] = blind_ceiling(16 // 4, 2)
    case: dict[str, str | int] = {"C": 2, "N": 16}
    known = float(results.select("order_entropy", **case)["value"].median())
    found["entropy.16"] = known
    for width, pick in ((4, "min"), (16, "max")):
        case["d"] = width
        lost = results.select("information_gap", **case, frequencies="quarter-turns")
        finest = lost[lost["epsilon"].astype(float) == lost["epsilon"].astype(float).min()]
        found[f"lost.{width}"] = float(finest["value"].agg(pick))
        reach = _reach(results, case | {"frequencies": "standard"})
        found[f"coarsest.{width}"] = coarsest_precision(width, reach, known)
    return {key: "n/a" if np.isnan(value) else value for key, value in found.items()}


def _draw_information(results: StudyResults) -> Figure:
    rows = results.select("mutual_information", C=2)
    lengths = sorted({int(n) for n in rows["N"]})
    look = looks(map(str, LENGTHS))
    figure, axes = canvas(
        len(WIDTHS), len(_SHOWN), width=TEXT * 1.06, height=3.7, sharex=True, sharey=True
    )
    top = 1.3 * float(results.select("order_entropy", C=2)["value"].max())
    for i, width in enumerate(WIDTHS):
        for j, variant in enumerate(_SHOWN):
            each = axes[i * len(_SHOWN) + j]
            of_set: dict[str, str | int] = {"C": 2, "d": width, "frequencies": variant}
            each.set_title(_name(variant) if width == 4 else "")
            for place, length in enumerate(lengths):
                known = float(results.select("order_entropy", **of_set, N=length)["value"].median())
                shown = look[str(length)]
                each.axhline(known, color=shown.color, lw=0.7, ls=(0, (4, 2)), zorder=1)
                here = results.select("mutual_information", **of_set, N=length)
                shift = 1.15 ** ((len(lengths) - 1) / 2 - place)
                _against_precision(each, here, shown, shift, f"N = {length}")
            cells = np.geomspace(*_CELLS)
            reach = _reach(results, of_set | {"N": max(lengths)})
            law = [precision_law(width, reach, cell) for cell in cells]
            label = f"law, N = {max(lengths)}"
            each.plot(cells, law, color="#404040", ls=":", lw=1.2, label=label)
            each.set(xscale="log", xlim=_CELLS, ylim=(-0.05 * top, top))
            if i == len(WIDTHS) - 1:
                each.set_xlabel("ε")
        axes[i * len(_SHOWN)].set_ylabel(f"d = {width}\nbits of order")
    legend_above(figure, axes)
    return figure


def _against_precision(
    axes: Axes,
    rows: pd.DataFrame,
    look: Look,
    shift: float,
    label: str,
) -> None:
    cells = rows["epsilon"].astype(float) * shift
    axes.scatter(
        cells, rows["value"], s=6, marker=look.marker, color=look.color, alpha=0.4, linewidth=0
    )
    median = rows.groupby(cells)["value"].median()
    axes.plot(
        median.index.to_numpy(),
        median.to_numpy(),
        color=look.color,
        marker=look.marker,
        markersize=3,
        ls=look.line,
        lw=1.0,
        label=label,
    )


def _reach(results: StudyResults, case: dict[str, str | int]) -> float:
    """The median over the draws of the range in the precision law, from what the law allows."""
    rows = results.select("precision_law", **case)
    ratio = np.expm1(rows["value"] * np.log(2.0) / rows["d"].astype(float))
    return float((rows["epsilon"].astype(float) * ratio).median())


def _draw_positions(results: StudyResults) -> Figure:
    figure, axes = _grid(results, sharey=True)
    for each, arm in zip(axes, _arms(results), strict=False):
        ceilings = [blind_ceiling(n, _arm(results, arm).colours) for n in LENGTHS]
        _marks(each, ceilings, "order-blind ceiling")
        _by_length(each, results, arm, "position_accuracy")
        _linear(each, results, arm, "position_accuracy")
        each.set(ylabel="position accuracy")
    _hold(axes, 0.2, 1.03)
    legend_above(figure, axes, columns=4)
    return figure


def _draw_counts(results: StudyResults) -> Figure:
    figure, axes = _grid(results, sharey=True)
    for each, arm in zip(axes, _arms(results), strict=False):
        each.axhline(0.99, color="#303030", lw=0.9, ls=":", zorder=2, label="margin 0.99")
        floors = [blind_count(n, _arm(results, arm).colours) for n in LENGTHS]
        _marks(each, floors, "best constant answer")
        _by_length(each, results, arm, "count_accuracy")
        _linear(each, results, arm, "count_accuracy")
        each.set(ylabel="count accuracy", ylim=(0.0, 1.04))
    legend_above(figure, axes, columns=4)
    return figure


def _draw_bits(results: StudyResults) -> Figure:
    figure, axes = _grid(results, sharey=False)
    for each, arm in zip(axes, _arms(results), strict=False):
        colours = _arm(results, arm).colours
        all_bits = [n * np.log2(colours) for n in LENGTHS]
        _marks(each, [blind_information(n, colours) for n in LENGTHS], "order-blind")
        _marks(each, all_bits, "all there is", ":")
        _by_length(each, results, arm, "v_information")
        each.set(ylabel="bits")
        _hold([each], -0.15 * max(all_bits), 1.08 * max(all_bits))
    legend_above(figure, axes, columns=4)
    return figure


def _draw_training(results: StudyResults) -> Figure:
    curves = cast(pd.DataFrame, results.curves)
    wanted = curves[curves["metric"] == f"position_accuracy_{max(LENGTHS)}"]
    figure, axes = _grid(results, sharey=True)
    for each, arm in zip(axes, _arms(results), strict=False):
        for variant in _variants(results, arm):
            rows = wanted[(wanted["arm"] == arm) & (wanted["variant"] == variant)]
            if len(rows):
                curves_with_band(each, rows, _look(variant), label=_name(variant))
        each.set(xlabel="step", ylabel=f"position accuracy, N = {max(LENGTHS)}")
    legend_above(figure, axes, columns=4)
    return figure


def _hold(axes: Sequence[Axes], low: float, high: float) -> None:
    """Limits of the ordinate that the axes share, wider where a point lies outside."""
    least = min(float(each.dataLim.y0) for each in axes)
    margin = 0.05 * (high - least)
    for each in axes:
        each.set_ylim(min(low, least - margin), high)


def _grid(results: StudyResults, *, sharey: bool) -> tuple[Figure, list[Axes]]:
    """A panel per arm, two to a row; a panel without an arm is hidden."""
    arms = _arms(results)
    rows = -(-len(arms) // 2)
    figure, axes = canvas(rows, 2, width=TEXT, height=0.3 + 2.1 * rows, sharey=sharey)
    for each, arm in zip(axes, arms, strict=False):
        chosen = _arm(results, arm)
        each.set_title(f"{chosen.colours} colours, d = {chosen.d}")
    for spare in axes[len(arms) :]:
        spare.set_axis_off()
    return figure, axes


def _by_length(axes: Axes, results: StudyResults, arm: str, metric: str) -> None:
    for variant, shift in _shifts(results, arm).items():
        for place, length in enumerate(LENGTHS):
            points_with_interval(
                axes,
                place + shift,
                _values(results, metric, arm, variant, length),
                _look(variant),
                label=_name(variant),
                width=_GAP * 0.8,
                failures=results.failures(arm, variant),
            )
    axes.set_xticks(range(len(LENGTHS)), [str(n) for n in LENGTHS])
    axes.set(xlabel="length N", xlim=(-0.55, len(LENGTHS) - 0.45))


def _linear(axes: Axes, results: StudyResults, arm: str, metric: str) -> None:
    for variant, shift in _shifts(results, arm).items():
        medians = [
            _values(results, metric, arm, variant, length, "linear").median() for length in LENGTHS
        ]
        axes.scatter(
            np.arange(len(LENGTHS)) + shift,
            medians,
            s=11,
            marker="d",
            facecolor="none",
            edgecolor=_look(variant).color,
            linewidth=0.7,
            label="linear probe" if shift == 0.0 else None,
            zorder=3,
        )


def _marks(axes: Axes, values: Sequence[float], label: str, line: object = (0, (4, 2))) -> None:
    """A horizontal mark at every length."""
    for place, value in enumerate(values):
        span = [place - 0.47, place + 0.47]
        axes.plot(span, [value] * 2, color="#303030", lw=0.9, ls=line, zorder=2, label=label)


def _tabulate_information(results: StudyResults) -> Table:
    rows = results.select("mutual_information", C=2)
    entropy = results.select("order_entropy", C=2)
    lengths = sorted({int(n) for n in rows["N"]})
    precisions = sorted({float(e) for e in rows["epsilon"]})
    heads = [f"{precision:g}" for precision in precisions]
    shown = []
    for width in WIDTHS:
        for length in (n for n in lengths if n in (lengths[0], lengths[-1])):
            known = entropy[(entropy["d"] == width) & (entropy["N"] == length)]["value"].median()
            for variant in SETS:
                here = rows[
                    (rows["d"] == width) & (rows["N"] == length) & (rows["variant"] == variant)
                ]
                of_set: dict[str, str | int] = {"C": 2, "d": width, "N": length}
                law = results.select("precision_law", variant=variant, **of_set)
                medians = [here.loc[here["epsilon"] == e, "value"].median() for e in heads]
                medians.append(law.loc[law["epsilon"] == heads[-1], "value"].median())
                reach = _reach(results, of_set | {"frequencies": variant})
                medians.append(coarsest_precision(width, reach, known))
                cells = [f"{median:.2f}" for median in medians]
                shown.append([str(width), str(length), _name(variant), f"{known:.2f}", *cells])
    columns = ["d", "N", "Frequencies", "H", *(f"ε = {head}" for head in heads), "Law", "Room"]
    return Table(
        name="information",
        caption="Bits of order that the grid tells, two colours: medians over the draws.",
        frame=pd.DataFrame(shown, columns=columns),
        notes="H: all bits there are, given the counts. Law: what the precision law allows at the "
        f"coarsest grid, ε = {heads[-1]}. Room: the ε up to which it leaves room for H. "
        "The frequencies are those of d = 4; at d = 16 they are the ends of a geometric grid.",
        numeric=tuple(head for head in columns if head != "Frequencies"),
    )


def _tabulate_probes(results: StudyResults) -> Table:
    longest = max(LENGTHS)
    shown = []
    for arm in _arms(results):
        chosen = _arm(results, arm)
        for variant in _variants(results, arm):
            row = {"C": str(chosen.colours), "d": str(chosen.d), "Frequencies": _name(variant)}
            columns = {
                f"N = {length}": _values(results, "position_accuracy", arm, variant, length)
                for length in LENGTHS
            }
            for head, probe, split in (("Seen", "mlp", "seen"), ("Linear", "linear", "held-out")):
                columns[head] = _values(
                    results, "position_accuracy", arm, variant, longest, probe, split
                )
            columns["Counts"] = _values(results, "count_accuracy", arm, variant, longest)
            row |= {head: f"{x.median():.3f}" if len(x) else "n/a" for head, x in columns.items()}
            shown.append(row | {"Failed": str(results.failures(arm, variant))})
    frame = pd.DataFrame(shown)
    return Table(
        name="probes",
        caption="Position accuracy of the MLP probe on held-out strings: medians over the seeds "
        "that did not fail.",
        frame=frame,
        notes=f"At N = {longest}: Seen, the same on strings that training may draw; Linear, "
        "the linear probe; Counts, count accuracy of the MLP probe.",
        numeric=tuple(head for head in frame.columns if head != "Frequencies"),
    )


def _settings(results: StudyResults) -> Settings:
    return cast(Settings, results.settings)


def _trained_arms(results: StudyResults) -> dict[str, Arm]:
    arms = _settings(results).arms
    return {name: arm for name, arm in arms.items() if isinstance(arm, Arm)}


def _arm(results: StudyResults, arm: str) -> Arm:
    return _trained_arms(results)[arm]


def _arms(results: StudyResults) -> list[str]:
    measured = set(results.pool("position_accuracy")["arm"])
    present = measured | {run.arm for run in results.runs}
    arms = _trained_arms(results)
    return sorted(present & set(arms), key=lambda arm: (arms[arm].colours, arms[arm].d))


def _variants(results: StudyResults, arm: str) -> list[Variant]:
    trained = {variant for each, variant in results.settings.trained() if each == arm}
    return [variant for variant in SETS if variant in trained]


def _shifts(results: StudyResults, arm: str) -> dict[Variant, float]:
    variants = _variants(results, arm)
    return {variant: _GAP * (i - len(variants) // 2) for i, variant in enumerate(variants)}


def _values(
    results: StudyResults,
    metric: str,
    arm: str,
    variant: str,
    length: int,
    probe: str = "mlp",
    split: str = "held-out",
) -> "pd.Series[float]":
    where: dict[str, str | int] = {"probe": probe, "N": length, "strings": split}
    rows = results.select(metric, arm=arm, variant=variant, **where)
    return rows.sort_values("seed")["value"]


def _name(variant: Variant) -> str:
    return SETS[variant].label


def _look(variant: Variant) -> Look:
    return looks(SETS)[variant]
