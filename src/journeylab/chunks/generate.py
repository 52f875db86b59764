"""One dataset for a chunk of seeds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pandas as pd

from journeylab.config import SeveralWorlds
from journeylab.streams import data_streams

if TYPE_CHECKING:
    from journeylab.config import Frozen
    from journeylab.parts import DataPart, FileDataPart


def generate(
    part: DataPart | FileDataPart,
    settings: Frozen,
    study: str,
    dataset: str,
    seeds: Sequence[int],
    file: Path | None = None,
) -> pd.DataFrame:
    """The rows of all seeds, with a first column `seed`; `file` is the external file, if any.

    If a seed has several worlds, a second column is `world`: 0, 1, ….
    """
    worlds = settings.worlds if isinstance(settings, SeveralWorlds) else 1
    tables = []
    for seed, world in product(seeds, range(worlds)):
        streams = data_streams(study, dataset, seed, world)
        if file is None:
            table = cast("DataPart", part).generate(settings, streams)
        else:
            table = cast("FileDataPart", part).generate(settings, streams, file)
        table.insert(0, "seed", seed)
        if worlds > 1:
            table.insert(1, "world", world)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
