"""thm:info-loss and lem:injectivity, checked by enumerating all strings.

| metric | meaning; information in bits |
| --- | --- |
| order_entropy | H(X | n): information about the order that the counts leave open |
| mutual_information | I(X; Q_ε(s) | n): the part of it that the rounded aggregate carries |
| information_gap | order_entropy − mutual_information |
| best_accuracy | position accuracy of the best reader of the counts and the rounded aggregate |
| information_growth | growth of mutual_information per token since the shortest length |
| precision_law | d·log₂(1 + r/ε), r the widest range of a coordinate within a class |
| law_excess | mutual_information − precision_law, the mean over draws |

The draws of values and of grid offsets belong to the enumeration; no seed of a probe has the same.
The law holds for the mean over offsets, so ``law_excess`` has one row per case, at the first draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from journeylab.streams import data_streams
from journeylab.studies.exp3_order_information.aggregation import terms
from journeylab.studies.exp3_order_information.data import draw_values
from journeylab.studies.exp3_order_information.information import (
    Enumeration,
    best_accuracy,
    enumerate_strings,
    information_gap,
    order_entropy,
    precision_law,
    share_cells,
    widest_range,
)
from journeylab.studies.exp3_order_information.settings import (
    COLOURS,
    WIDTHS,
    Computation,
    Enumerated,
    Variant,
)

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = ("draw", "metric", "frequencies", "C", "d", "N", "epsilon", "value")

Row = dict[str, str | int | float]


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """All cases of one frequency set as tidy rows: draw, metric, frequencies, C, d, N, ε, value.

    ε is stored as text and empty for ``order_entropy``.
    """
    del streams  # nothing depends on a seed
    rows: list[Row] = []
    for draw in range(job.first_draw, job.first_draw + job.draws):
        for colours, length in enumerable(job):
            for width in WIDTHS:
                case: Row = {"draw": draw, "frequencies": job.variant}
                case |= {"C": colours, "d": width, "N": length}
                strings = _aggregate(job.variant, draw, colours, width, length)
                rows += [case | row for row in _read(strings, job, draw, length, colours)]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return pd.concat([table, _growth(table), _law_excess(table)], ignore_index=True)


def enumerable(sizes: Enumerated) -> Iterator[tuple[int, int]]:
    """The pairs (C, N) with at most ``sizes.strings`` strings."""
    for colours in COLOURS:
        for length in sizes.lengths:
            if colours**length <= sizes.strings:
                yield colours, length


def _aggregate(variant: Variant, draw: int, colours: int, width: int, length: int) -> Enumeration:
    drawn = draw_values(data_streams("exp3", "enumeration", draw))
    values = torch.from_numpy(drawn[:colours, :width].copy())
    return enumerate_strings(terms(variant, values, length).numpy())


def _read(
    strings: Enumeration, sizes: Enumerated, draw: int, length: int, colours: int
) -> Iterator[Row]:
    width = len(strings.aggregate)
    entropy, reach = order_entropy(strings.classes), widest_range(strings)
    yield {"metric": "order_entropy", "value": entropy}
    for index, precision in enumerate(sizes.precisions):
        offset = np.random.default_rng([draw, index]).uniform(size=width)
        shared = share_cells(strings, precision, offset)
        gap = information_gap(shared)
        values = {
            "mutual_information": entropy - gap,
            "information_gap": gap,
            "best_accuracy": best_accuracy(shared, length, colours),
            "precision_law": precision_law(width, reach, precision),
        }
        for metric, value in values.items():
            yield {"metric": metric, "epsilon": f"{precision:g}", "value": value}


def _growth(table: pd.DataFrame) -> pd.DataFrame:
    """(I at N − I at the shortest N₀)/(N − N₀), for every draw and case."""
    carried = table[table["metric"] == "mutual_information"].sort_values("N", kind="stable")
    case = ["draw", "frequencies", "C", "d", "epsilon"]
    gained = carried.groupby(case)[["N", "value"]].transform(lambda x: x - x.iloc[0])
    rows = carried.assign(metric="information_growth", value=gained["value"] / gained["N"])
    return rows[gained["N"] > 0]


def _law_excess(table: pd.DataFrame) -> pd.DataFrame:
    case = ["frequencies", "C", "d", "N", "epsilon"]
    carried, allowed = (
        table[table["metric"] == metric].groupby(case)["value"].mean()
        for metric in ("mutual_information", "precision_law")
    )
    excess = (carried - allowed).reset_index().assign(metric="law_excess", draw=table["draw"].min())
    return excess[list(COLUMNS)]
