"""One seed's strings.

split   input    target
train   cabaf                    random: uniform letters; the task determines the target
train   Hi       Hi, I am …      document: a single pair, for training and test
"""

import numpy as np
import pandas as pd

from journeylab.streams import Streams
from journeylab.studies.exp11_sabag_pooling.settings import Data
from journeylab.studies.exp11_sabag_pooling.tasks import SENTENCE, SOURCE

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """The training and test strings: split, input, target."""
    if data.source == "document":
        return pd.DataFrame({"split": ["train", "test"], "input": SOURCE, "target": SENTENCE})
    rng = streams.numpy("strings")
    sizes = {"train": data.train, "test": data.test}
    tables = []
    for split, size in sizes.items():
        drawn = LETTERS[rng.integers(data.symbols, size=(size, data.length))]
        tables.append(pd.DataFrame({"split": split, "input": ["".join(row) for row in drawn]}))
    return pd.concat(tables, ignore_index=True).assign(target="")
