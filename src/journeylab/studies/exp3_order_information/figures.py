"""Figures, tables and numbers of the exp3 report."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.plotting.captions import AS_BEFORE, CURVES, seed_dots
from journeylab.studies.exp3_order_information.information import (
    blind_ceiling,
    blind_count,
    blind_information,
    coarsest_precision,
    precision_law,
)
from journeylab.studies.exp3_order_information.metrics import METRICS
from journeylab.studies.exp3_order_information.settings import (
    COLOURS,
    LENGTHS,
    PROBES,
    SETS,
    WIDTHS,
    Arm,
    Settings,
    Variant,
)

_SEEDS = seed_dots(
    lines="vertical lines",
    failed="✗ counts failed seeds, which count as ±∞ in the intervals and not at all in medians",
)
_CELLS = (100.0, 6e-4)
_SHOWN: tuple[Variant, ...] = ("sum", "as-shipped", "one-two", "standard", "quarter-turns")


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Exact information and best accuracy; accuracy of the probes; the search of their settings."""
    tables = {}
    if len(results.select("mutual_information")):
        tables["information"] = _tabulate_information(results)
        tables["retrieval"] = _tabulate_retrieval(results)
        by = dict.fromkeys(("law_excess", "information_growth"), ("epsilon",))
        tables["checks"] = plot.ranges(results, METRICS, by)
    if results.present():
        tables["probes"] = _tabulate_probes(results)
        tables["search"] = plot.tabulate_trials(
            results,
            __file__,
            "accuracy",
            "Search of the peak learning rate and the initial scale: held-out accuracy of the MLP "
            "probe, mean of the pilot seeds 1000 and 1001.",
            "They have the highest mean accuracy over the judged questions of a run; within 0.01 "
            "of it, rate 0.01 and scale 1 are kept. This tolerance was set when the values were "
            "known; at half of it, {0, 1} with two colours would have rate 0.1, the edge of the "
            "grid. Twice the steps were tried at the best point of the row.",
        )
    return tables


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Anchors, sizes of the splits and exact bits that the prose cites, for two colours."""
    [data] = _settings(results).datasets.values()
    cited: dict[str, float] = {}
    for length in LENGTHS:
        cited[f"ceiling.{length}"] = blind_ceiling(length, 2)
    for length in (min(LENGTHS), max(LENGTHS)):
        cited[f"held_out.{length}"] = min(data.held_out, int(2**length * data.largest_share))
    cited["floor.20"] = blind_count(20, 2)
    cited["quarter.16"] = blind_ceiling(16 // 4, 2)
    case: dict[str, str | int] = {"C": 2, "N": 16}
    known = float(results.select("order_entropy", **case)["value"].median())
    cited["entropy.16"] = known
    for width, pick in ((4, "min"), (16, "max")):
        case["d"] = width
        lost = results.select("information_gap", **case, frequencies="quarter-turns")
        finest = lost[lost["epsilon"].astype(float) == lost["epsilon"].astype(float).min()]
        cited[f"lost.{width}"] = float(finest["value"].agg(pick))
        reach = _reach(results, case | {"frequencies": "standard"})
        cited[f"coarsest.{width}"] = coarsest_precision(width, reach, known)
    return {key: "n/a" if np.isnan(value) else value for key, value in cited.items()}


def _draw_information(results: StudyResults) -> Figure | None:
    rows = results.tidy("mutual_information", C=2, arm="enumeration", variant=_SHOWN)
    if rows.empty:
        return None
    rows["epsilon"] = rows["epsilon"].astype(float)
    rows = rows.astype({"N": int, "d": int})
    rows["length"], rows["width"] = "N = " + rows["N"].astype(str), "d = " + rows["d"].astype(str)
    # two lines per title, since the panels are narrow
    rows["model"] = rows["model"].cat.rename_categories(lambda name: name.replace(" {", "\n{"))
    known = results.select("order_entropy", C=2)
    top = 1.3 * float(known["value"].max())
    longest = max(rows["N"])
    figure, panels = plot.facets(
        rows,
        1.5,
        "ε",
        "bits about the order",
        row="width",
        col="model",
        ylim=(-0.05 * top, top),
        xlim=_CELLS,
    )
    style = plot.styles(f"N = {length}" for length in LENGTHS)
    for axes, part in panels.values():
        axes.set(xscale="log")
        plot.curves(axes, part, style, x="epsilon", hue="length", units="draw")
        for length, draws in part.groupby("N"):
            alike = known[(known["N"] == length) & known["variant"].isin(draws["variant"])]
            ceiling = float(alike.loc[alike["d"].isin(draws["d"]), "value"].median())
            axes.axhline(ceiling, color=style[f"N = {length}"].color, lw=0.7, zorder=1)
        [width], [variant] = part["d"].unique(), part["variant"].unique()
        reach = _reach(results, {"C": 2, "d": width, "frequencies": variant, "N": longest})
        cells = np.geomspace(*_CELLS)
        law = np.array([precision_law(width, reach, cell) for cell in cells])
        plot.anchors(axes, {f"law, N = {longest}": (cells, law)})
    return plot.legend_above(figure)


def _reach(results: StudyResults, case: dict[str, str | int]) -> float:
    """The median over draws of the range r, from the tabulated d·log₂(1 + r/ε)."""
    rows = results.select("precision_law", **case)
    ratio = np.expm1(rows["value"] * np.log(2.0) / rows["d"].astype(float))
    return float((rows["epsilon"].astype(float) * ratio).median())


def _against_length(
    results: StudyResults,
    metric: str,
    least: float,
    known: Mapping[str, Callable[[int, int], float]],
    probe: str | tuple[str, ...] = PROBES,
    **options: Any,
) -> Figure | None:
    """Seeds against N, with a panel per arm (and probe); ``known`` values by N and colours.

    The vertical axis starts at ``least``, or lower if a point lies below.
    """
    rows = results.tidy(metric, probe=probe, strings="held-out")
    bits, arms = metric == "v_information", results.arms_of(Arm)

    def limits(_: Any, part: pd.DataFrame) -> dict[str, tuple[float, float]]:
        most = max(LENGTHS) * np.log2(arms[part["arm"].iloc[0]].colours) if bits else 1.0
        lowest = float((part if bits else rows)["value"].min())
        low = min(least, lowest - 0.05 * (most - lowest))
        return {"ylim": (low, most + 0.04 * (most - low))}

    def lines(_: Any, part: pd.DataFrame) -> plot.Lines:
        colours = arms[part["arm"].iloc[0]].colours
        positions = range(len(LENGTHS))
        return {name: (positions, [of(n, colours) for n in LENGTHS]) for name, of in known.items()}

    return plot.panels(
        results,
        rows.assign(shown=rows["probe"].map({"mlp": "MLP", "linear": "linear"})),
        1.25,
        "length N",
        "V-information, bits" if bits else metric.replace("_", " "),
        limits=limits,
        lines=lines,
        x="N",
        y="value",
        **options,
    )


def _tabulate_information(results: StudyResults) -> Table:
    case: dict[str, str | int] = {"C": 2}
    rows = results.select("mutual_information", **case)
    heads = [f"{precision:g}" for precision in sorted({float(e) for e in rows["epsilon"]})]
    shown = []
    for width, length, variant in product(WIDTHS, sorted({int(n) for n in rows["N"]}), SETS):
        case |= {"d": width, "N": length, "frequencies": variant}
        known = results.select("order_entropy", **case)["value"].median()
        carried = results.select("mutual_information", **case).groupby("epsilon")["value"].median()
        law = results.select("precision_law", **case, epsilon=heads[-1])["value"].median()
        room = coarsest_precision(width, _reach(results, case), known)
        cells = [f"{bits:.2f}" for bits in (known, *carried.reindex(heads), law, room)]
        shown.append([str(width), str(length), results.labels[variant], *cells])
    columns = ["d", "N", "Frequencies", "H", *(f"ε = {head}" for head in heads), "Law", "Room"]
    return Table(
        name="information",
        caption="Bits about the order in the rounded aggregate, two colours: medians over draws.",
        frame=pd.DataFrame(shown, columns=columns),
        notes="H: all bits about the order, given the counts. Law: bits that the precision law "
        f"allows at the coarsest grid, ε = {heads[-1]}. Room: the largest ε at which the law "
        "allows H bits. The frequencies are those of d = 4; at d = 16 they are the ends of a "
        "geometric grid.",
        numeric=tuple(head for head in columns if head != "Frequencies"),
    )


def _tabulate_retrieval(results: StudyResults) -> Table:
    """The accuracy that the sum and the journey as shipped allow, and that of the probes, d = 4."""
    best = results.select("best_accuracy", frequencies="as-shipped", d=4)
    heads = [f"{precision:g}" for precision in sorted({float(e) for e in best["epsilon"]})[:4]]
    mlp: dict[str, str | int] = {"probe": "mlp", "strings": "held-out"}
    arms = {arm.colours: name for name, arm in results.arms_of(Arm).items() if arm.d == 4}
    shown = []
    for colours, length in product(COLOURS, LENGTHS):
        rows = best[(best["C"] == colours) & (best["N"] == length)]
        allowed = rows.groupby("epsilon")["value"].median().reindex(heads)
        probed = [
            plot.median(
                results.values("position_accuracy", (arms[colours], variant), **mlp, N=length)
            )
            if (arms.get(colours), variant) in results.present()
            else "–"
            for variant in ("sum", "as-shipped")
        ]
        exact = ["–" if np.isnan(value) else f"{value:.3f}" for value in allowed]
        blind = f"{blind_ceiling(length, colours):.3f}"
        shown.append([str(colours), str(length), blind, probed[0], *exact, probed[1]])
    columns = ["C", "N", "Sum", "Its probe", *(f"ε = {head}" for head in heads), "Probe of {0, 1}"]
    return Table(
        name="retrieval",
        caption="Position accuracy that an aggregate allows and that a probe reaches, d = 4.",
        frame=pd.DataFrame(shown, columns=columns),
        notes="Sum: the best reader of the sum, at every precision. ε: the best reader of the "
        "counts and of the journey as shipped, {0, 1}, rounded to this grid, by enumeration (– "
        "where there are too many strings): medians over draws. Probes: medians over the seeds "
        "that did not fail, on held-out strings.",
        numeric=tuple(columns),
    )


def _tabulate_probes(results: StudyResults) -> Table:
    longest = max(LENGTHS)
    mlp: dict[str, str | int] = {"probe": "mlp", "strings": "held-out"}
    columns: dict[str, tuple[str, dict[str, str | int]]] = {
        **{f"N = {n}": ("position_accuracy", mlp | {"N": n}) for n in LENGTHS},
        "Seen": ("position_accuracy", mlp | {"N": longest, "strings": "seen"}),
        "Linear": ("position_accuracy", mlp | {"N": longest, "probe": "linear"}),
        "Seen, 8": ("position_accuracy", mlp | {"N": 8, "strings": "seen"}),
        "Linear, 8": ("position_accuracy", mlp | {"N": 8, "probe": "linear"}),
        "Counts": ("count_accuracy", mlp | {"N": longest}),
        "Bits": ("v_information", mlp | {"N": longest}),
    }
    return plot.medians(
        results,
        "probes",
        "Position accuracy of the MLP probe on held-out strings: medians over the seeds that did "
        "not fail.",
        columns,
        notes="Seen: on strings that training may draw. Linear: of the linear probe. Counts: count "
        f"accuracy. Bits: V-information about the positions. N = {longest} unless stated.",
    )


def _settings(results: StudyResults) -> Settings:
    return cast(Settings, results.settings)


FIGURES: plot.Figures = {
    "information": plot.Drawn(
        _draw_information,
        "Information about the order, given the counts, that the aggregate carries when rounded to "
        "a grid of cell width ε, by enumeration of all strings of two colours. Precision increases "
        "to the right. Thin lines are draws of the values, thick lines medians over the draws. "
        "Horizontal lines are the maximum H(order | counts) for the same N. The dashed line is the "
        "precision law d·log₂(1 + range/ε) at the largest N and the median range: on average over "
        "its offset, no grid carries more. Mean pooling coincides with the sum.",
    ),
    "bits": plot.Drawn(
        lambda results: _against_length(
            results,
            "v_information",
            -3.0,
            {
                "counts only": blind_information,
                "maximum": lambda n, colours: n * float(np.log2(colours)),
            },
            probe="mlp",
            col="data",
            col_wrap=2,
            sharey=False,
        ),
        "V-information of the MLP probe about the colours at all positions of held-out strings, "
        f"against N. {_SEEDS} The dotted line is the maximum, N·log₂ C bits. The dashed line is "
        "the information of a reader that knows only the counts. Negative values mean overfitting: "
        "confident wrong answers cost more bits than not reading s at all.",
    ),
    "positions": plot.Drawn(
        lambda results: _against_length(
            results,
            "position_accuracy",
            0.2,
            {"order-blind ceiling": blind_ceiling},
            row="data",
            col="shown",
        ),
        "Position accuracy of the MLP probe and of the linear probe on held-out strings, against "
        f"N. {AS_BEFORE} The dashed line is the exact order-blind ceiling E[max n]/N, the best "
        "accuracy of a reader that knows only the counts.",
    ),
    "counts": plot.Drawn(
        lambda results: _against_length(
            results,
            "count_accuracy",
            0.0,
            {"best constant answer": blind_count, "margin 0.99": lambda n, colours: 0.99},
            row="data",
            col="shown",
        ),
        "Count accuracy on held-out strings, the share of right counts over all colours, against "
        f"N. {AS_BEFORE} The dashed line is the exact floor max P(n = k), the accuracy of the best "
        "constant answer, which does not use s. The dotted line is the claimed margin 0.99.",
    ),
    "training": plot.Drawn(
        lambda results: plot.panels(
            results,
            results.learning(f"position_accuracy_{max(LENGTHS)}"),
            1.35,
            "step",
            "position accuracy",
            form=plot.curves,
            col="data",
            col_wrap=2,
        ),
        "Position accuracy of the MLP probe on held-out strings at the largest N, against the "
        f"training step. {CURVES}",
    ),
}
