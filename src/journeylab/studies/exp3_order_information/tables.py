"""Tables of exp3, and the numbers of its prose that are no reductions of measurements."""

from collections.abc import Mapping
from itertools import product
from typing import cast

import numpy as np
import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.studies.exp3_order_information import settings as own
from journeylab.studies.exp3_order_information.information import (
    blind_ceiling,
    blind_count,
    coarsest_precision,
)

_MLP: dict[str, str | int] = {"probe": "mlp", "strings": "held-out"}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Exact information, and the accuracy that it allows."""
    if results.select("mutual_information").empty:
        return {}
    return {
        "information": _tabulate_information(results),
        "retrieval": _tabulate_retrieval(results),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Sizes of the splits, closed forms, and the coarsest grids that could carry the order."""
    [data] = cast(own.Settings, results.settings).datasets.values()
    held_out = {n: min(data.held_out, int(2**n * data.largest_share)) for n in (8, 20)}
    known = float(results.select("order_entropy", C=2, N=16)["value"].median())
    cited: dict[str, float | int | str] = {
        "floor.20": blind_count(20, 2),
        "quarter.16": blind_ceiling(16 // 4, 2),
        **{f"held_out.{length}": count for length, count in held_out.items()},
    }
    for width in own.WIDTHS:
        reach = reach_of(results, {"C": 2, "N": 16, "d": width, "frequencies": "standard"})
        coarsest = coarsest_precision(width, reach, known)
        cited[f"coarsest.{width}"] = "n/a" if np.isnan(coarsest) else coarsest
    return cited


def reach_of(results: StudyResults, case: Mapping[str, str | int]) -> float:
    """The median over draws of the range r, from the tabulated d·log₂(1 + r/ε)."""
    rows = results.select("precision_law", **case)
    if rows.empty:
        return np.nan
    ratio = np.expm1(rows["value"] * np.log(2.0) / rows["d"].astype(float))
    return float((rows["epsilon"].astype(float) * ratio).median())


def _tabulate_information(results: StudyResults) -> Table:
    rows = results.select("mutual_information", C=2)
    heads, shown = sorted(set(rows["epsilon"]), key=float), []
    for width, length, variant in product(
        own.WIDTHS, sorted({int(n) for n in rows["N"]}), own.SETS
    ):
        case: dict[str, str | int] = {"C": 2, "d": width, "N": length, "frequencies": variant}
        known = results.select("order_entropy", **case)["value"].median()
        carried = results.select("mutual_information", **case).groupby("epsilon")["value"].median()
        law = results.select("precision_law", **case, epsilon=heads[-1])["value"].median()
        room = coarsest_precision(width, reach_of(results, case), known)
        cells = [f"{bits:.2f}" for bits in (known, *carried.reindex(heads), law, room)]
        shown.append([str(width), str(length), results.labels[variant], *cells])
    columns = ["d", "N", "Frequencies", "H", *(f"ε = {head}" for head in heads), "Law", "Room"]
    return Table(
        pd.DataFrame(shown, columns=columns),
        tuple(head for head in columns if head != "Frequencies"),
    )


def _tabulate_retrieval(results: StudyResults) -> Table:
    """The accuracy that the sum and the journey as shipped allow, and that of the probes, d = 4."""
    best = results.select("best_accuracy", frequencies="as-shipped", d=4)
    heads, shown = sorted(set(best["epsilon"]), key=float)[:4], []
    for colours, length in product(own.COLOURS, own.LENGTHS):
        rows = best[(best["C"] == colours) & (best["N"] == length)]
        allowed = rows.groupby("epsilon")["value"].median().reindex(heads)
        arms = [
            name
            for name, arm in results.arms_of(own.Arm).items()
            if (arm.colours, arm.d) == (colours, 4)
        ]
        probed = [
            results.pool("position_accuracy", arm=arms, variant=variant, **_MLP, N=length)["value"]
            for variant in ("sum", "as-shipped")
        ]
        read = [plot.median(values) if len(values) else "–" for values in probed]
        shown.append(
            {"C": str(colours), "N": str(length), "Sum": f"{blind_ceiling(length, colours):.3f}"}
            | {"Its probe": read[0]}
            | {f"ε = {e}": "–" if np.isnan(x) else f"{x:.3f}" for e, x in allowed.items()}
            | {"Probe of {0, 1}": read[1]}
        )
    return plot.table(shown, words=0)
