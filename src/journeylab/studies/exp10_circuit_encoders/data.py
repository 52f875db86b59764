"""One seed's split of all circuits.

    split  kind3 first3 second3  kind4 first4 second4  kind5 first5 second5   degree  value
    train      3      0       1      4      3       3      3      2       4        2      1

is n3 = x0 + x1, n4 = n3·n3, n5 = 1 + n4. A kind is the type of a token: 3 add, 4 multiply.
"""

import numpy as np
import pandas as pd

from journeylab.streams import Streams
from journeylab.studies.exp10_circuit_encoders.circuits import (
    LEAVES,
    NODES,
    Integers,
    degrees,
    enumerate_circuits,
    values,
)
from journeylab.studies.exp10_circuit_encoders.settings import OPERATIONS, Data

COLUMNS = [f"{part}{n}" for n in range(LEAVES, NODES) for part in ("kind", "first", "second")]


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """A row per circuit: its split, its operations, and both answers."""
    circuits = enumerate_circuits()
    order = streams.numpy("split").permutation(len(circuits))
    test = np.zeros(len(circuits), dtype=bool)
    test[order[: round(data.test * len(circuits))]] = True
    table = pd.DataFrame(circuits.reshape(len(circuits), -1), columns=COLUMNS)
    table.insert(0, "split", np.where(test, "test", "train"))
    return table.assign(degree=degrees(circuits), value=values(circuits))


def circuits_of(table: pd.DataFrame) -> Integers:
    """The circuits ``(rows, 3, 3)`` of the rows of a dataset."""
    return table[COLUMNS].to_numpy(np.int64).reshape(len(table), OPERATIONS, -1)
