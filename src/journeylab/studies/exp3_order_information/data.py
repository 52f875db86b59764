"""One seed's values, and the strings held out from the training of its probes.

Values are standard normal. All arms of a seed share one table: an arm with C colours and width d
takes its first C rows and d columns, so the arms are paired. *Distinct strings* of each length and
alphabet are held out. A probe trains on all other strings, drawn anew at every step.

    N = 8, C = 2    256 strings: 64 held out, 192 to train on
    N = 20, C = 4   2^40 strings: 1000 held out
"""

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from journeylab.streams import Streams
from journeylab.studies.exp3_order_information.settings import COLOURS, LENGTHS, WIDTHS, Data

Integers = NDArray[np.int64]


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """One seed's values and strings: kind, colours, length, colour, coordinate, string, value.

    Rows of kind ``value`` have colour, coordinate and value; rows of the kinds ``held-out`` and
    ``seen`` have colours, length and string. The other columns are empty.
    """
    parts = [_tabulate_values(draw_values(streams))]
    for colours in COLOURS:
        for length in LENGTHS:
            rng = streams.numpy(f"strings {colours} {length}")
            held_out, seen = draw_strings(colours**length, data, rng)
            for kind, strings in (("held-out", held_out), ("seen", seen)):
                columns = {"kind": kind, "colours": colours, "length": length, "string": strings}
                parts.append(pd.DataFrame(columns))
    integers = dict.fromkeys(("colours", "length", "colour", "coordinate", "string"), "Int64")
    return pd.concat(parts, ignore_index=True).astype(integers)


def draw_values(streams: Streams) -> NDArray[np.float64]:
    """The seed's values v, standard normal, for the most colours and the largest d: ``(4, 16)``."""
    return streams.numpy("values").standard_normal((max(COLOURS), max(WIDTHS)))


def draw_strings(count: int, data: Data, rng: Generator) -> tuple[Integers, Integers]:
    """Distinct held-out strings, ascending, and distinct other strings, of ``count`` strings."""
    size = max(min(data.held_out, int(count * data.largest_share)), 1)
    held_out = np.sort(_distinct(count, size, rng))
    rest = count - size
    others = torch.from_numpy(_distinct(rest, min(data.seen, rest), rng))
    return held_out, skip(others, torch.from_numpy(held_out)).numpy()


def skip(ranks: Int[Tensor, "*batch"], held_out: Int[Tensor, " held_out"]) -> Int[Tensor, "*batch"]:
    """The strings with the given ranks among all strings that are not held out.

    ``held_out`` is ascending. h_i − i other strings precede its i-th string h_i, so the string of
    rank r is r plus the number of i with h_i − i ≤ r.
    """
    before = held_out - torch.arange(len(held_out))
    return ranks + torch.searchsorted(before, ranks, right=True)


def values_of(table: pd.DataFrame, colours: int, width: int) -> Float[Tensor, "colours width"]:
    """The values of an arm, in float64."""
    rows = table[table["kind"] == "value"]
    drawn = rows.pivot_table(index="colour", columns="coordinate", values="value").to_numpy()
    return torch.tensor(drawn[:colours, :width])


def strings_of(
    table: pd.DataFrame, kind: str, colours: int, length: int
) -> Int[Tensor, " strings"]:
    """The strings of one kind, held-out or seen."""
    rows = table[
        (table["kind"] == kind) & (table["colours"] == colours) & (table["length"] == length)
    ]
    return torch.from_numpy(rows["string"].to_numpy(dtype=np.int64))


def _tabulate_values(values: NDArray[np.float64]) -> pd.DataFrame:
    colour, coordinate = np.indices(values.shape)
    return pd.DataFrame(
        {
            "kind": "value",
            "colour": colour.ravel(),
            "coordinate": coordinate.ravel(),
            "value": values.ravel(),
        }
    )


def _distinct(count: int, size: int, rng: Generator) -> Integers:
    """``size`` distinct numbers below ``count``, uniform."""
    if count <= 1 << 20:
        return rng.choice(count, size, replace=False)
    # Avoids an array of the whole range, up to 2^40 numbers; duplicates are rare and dropped.
    drawn = rng.integers(count, size=2 * size)
    distinct = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return distinct[:size]
