"""thm:info-loss and lem:injectivity, checked by enumerating every string.

| metric | meaning, in bits |
| --- | --- |
| order_entropy | H(X | n): what the counts leave open |
| mutual_information | I(X; Q_ε(s) | n): what the grid tells of it |
| information_gap | order_entropy − mutual_information |
| precision_law | d·log₂(1 + r/ε), r the widest range of a coordinate within a class |
| law_excess | mutual_information − precision_law, the mean over draws |

The values of draw i are those of seed i; the offsets of its grids are its own as well. The law
holds for the mean over offsets, so ``law_excess`` has one row per case, at seed 0.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch

from journeylab.studies.exp3_order_information.aggregation import terms
from journeylab.studies.exp3_order_information.data import draw_values
from journeylab.studies.exp3_order_information.information import (
    Enumeration,
    enumerate_strings,
    information_gap,
    order_entropy,
    precision_law,
    widest_range,
)
from journeylab.studies.exp3_order_information.settings import (
    COLOURS,
    SETS,
    WIDTHS,
    Certificates,
    Variant,
)

COLUMNS = ("variant", "seed", "metric", "frequencies", "C", "d", "N", "epsilon", "value")

Row = dict[str, str | int | float]


def certify(certificates: Certificates) -> pd.DataFrame:
    """All cases as tidy rows: variant, seed (the draw), metric, frequencies, C, d, N, ε, value.

    ε is written as text; ``order_entropy`` has none.
    """
    rows: list[Row] = []
    for draw in range(certificates.draws):
        for colours, length in enumerable(certificates):
            for width in WIDTHS:
                for variant in SETS:
                    case: Row = {"variant": variant, "seed": draw, "frequencies": variant}
                    case |= {"C": colours, "d": width, "N": length}
                    strings = _aggregate(variant, draw, colours, width, length)
                    rows += [case | row for row in _read(strings, certificates, draw)]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return pd.concat([table, _law_excess(table)], ignore_index=True)


def enumerable(certificates: Certificates) -> Iterator[tuple[int, int]]:
    """The (C, N) that have few enough strings."""
    for colours in COLOURS:
        for length in certificates.lengths:
            if colours**length <= certificates.strings:
                yield colours, length


def _aggregate(variant: Variant, draw: int, colours: int, width: int, length: int) -> Enumeration:
    values = torch.from_numpy(draw_values(draw)[:colours, :width].copy())
    return enumerate_strings(terms(variant, values, length).numpy())


def _read(strings: Enumeration, certificates: Certificates, draw: int) -> Iterator[Row]:
    width = len(strings.aggregate)
    entropy, reach = order_entropy(strings.classes), widest_range(strings)
    yield {"metric": "order_entropy", "value": entropy}
    for place, precision in enumerate(certificates.precisions):
        offset = np.random.default_rng([draw, place]).uniform(size=width)
        gap = information_gap(strings, precision, offset)
        found = {
            "mutual_information": entropy - gap,
            "information_gap": gap,
            "precision_law": precision_law(width, reach, precision),
        }
        for metric, value in found.items():
            yield {"metric": metric, "epsilon": f"{precision:g}", "value": value}


def _law_excess(table: pd.DataFrame) -> pd.DataFrame:
    case = ["variant", "frequencies", "C", "d", "N", "epsilon"]
    told, allowed = (
        table[table["metric"] == metric].groupby(case)["value"].mean()
        for metric in ("mutual_information", "precision_law")
    )
    excess = (told - allowed).reset_index().assign(metric="law_excess", seed=0)
    return excess[list(COLUMNS)]
