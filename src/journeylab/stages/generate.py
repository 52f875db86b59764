"""Write the dataset of one chunk of seeds."""

from __future__ import annotations

import pandas as pd

from journeylab import catalogue
from journeylab.config import Frozen
from journeylab.records.files import write_table
from journeylab.stages.running import Call
from journeylab.streams import Streams, data_streams


def run(call: Call) -> None:
    """plan → table of all its seeds."""
    plan = call.plan
    part = catalogue.data_part(plan.study)
    chosen = catalogue.dataset_settings(plan.study, plan.settings)
    named = [data_streams(plan.study, plan.dataset or "", seed) for seed in plan.seeds or ()]
    tables = [_of_seed(part, chosen, streams) for streams in named]
    write_table(call.output, pd.concat(tables, ignore_index=True), plan.origin())


def _of_seed(part: catalogue.DataPart, chosen: Frozen, streams: Streams) -> pd.DataFrame:
    table = part.generate(chosen, streams)
    table.insert(0, "seed", streams.seed)
    return table
