"""One dataset for a chunk of seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pandas as pd

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
    """The rows of all seeds, with a first column `seed`; `file` is the external file, if any."""
    tables = []
    for seed in seeds:
        streams = data_streams(study, dataset, seed)
        if file is None:
            table = cast("DataPart", part).generate(settings, streams)
        else:
            table = cast("FileDataPart", part).generate(settings, streams, file)
        table.insert(0, "seed", seed)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
