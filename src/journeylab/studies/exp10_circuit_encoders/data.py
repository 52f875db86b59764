"""One seed's split of all circuits of a dataset.

    split  kind3 first3 second3  kind4 first4 second4  kind5 first5 second5   degree  value  digits
    train      3      0       1      4      3       3      3      2       4        2      1       3

is n3 = x0 + x1, n4 = n3·n3, n5 = 1 + n4. A kind is the type of a token: 3 add, 4 multiply.
"""

import numpy as np
import pandas as pd

from journeylab.streams import Streams
from journeylab.studies.exp10_circuit_encoders.circuits import (
    LEAVES,
    Integers,
    degrees,
    digits,
    enumerate_circuits,
    values,
)
from journeylab.studies.exp10_circuit_encoders.settings import TASKS, Data

_PARTS = ("kind", "first", "second")


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """A row per circuit of both splits: its split, its operations, and its answers."""
    circuits = enumerate_circuits(data.operations, data.wiring)
    order = streams.numpy("split").permutation(len(circuits))
    split = np.full(len(circuits), "train" if data.train is None else "", dtype="<U5")
    test = round(data.test * len(circuits))
    if data.train is not None:
        split[order[test : test + round(data.train * len(circuits))]] = "train"
    split[order[:test]] = "test"
    circuits, split = circuits[split != ""], split[split != ""]
    nodes = range(LEAVES, LEAVES + data.operations)
    columns = [f"{part}{node}" for node in nodes for part in _PARTS]
    table = pd.DataFrame(circuits.reshape(len(circuits), -1), columns=columns)
    table.insert(0, "split", split)
    return table.assign(degree=degrees(circuits), value=values(circuits), digits=digits(circuits))


def circuits_of(table: pd.DataFrame) -> Integers:
    """The circuits ``(rows, operations, 3)`` of the rows of a dataset."""
    columns = table.columns.drop(["split", *TASKS])
    return table[columns].to_numpy(np.int64).reshape(len(table), -1, len(_PARTS))
