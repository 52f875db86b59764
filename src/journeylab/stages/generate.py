"""Write the dataset of one chunk of seeds."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from journeylab import catalogue
from journeylab.config import Frozen, UserError
from journeylab.records.files import verify_files, write_table
from journeylab.stages.running import Call
from journeylab.streams import Streams, data_streams


def run(call: Call) -> None:
    """plan, and the external file that the dataset is made from → table of all its seeds."""
    plan = call.plan
    catalogue.data_part(plan.study)  # a study that has no data says so first
    chosen = catalogue.dataset_settings(plan.study, plan.settings)
    if "file" in plan.inputs:
        if call.data is None:
            raise UserError(f"{plan.label}: --data is missing")
        verify_files(call.data.parent, {call.data.name: plan.inputs["file"]})
    named = [data_streams(plan.study, plan.dataset or "", seed) for seed in plan.seeds or ()]
    tables = [_of_seed(plan.study, chosen, streams, call.data) for streams in named]
    write_table(call.output, pd.concat(tables, ignore_index=True), plan.origin())


def _of_seed(study: str, chosen: Frozen, streams: Streams, file: Path | None) -> pd.DataFrame:
    if file is None:
        table = catalogue.data_part(study).generate(chosen, streams)
    else:
        table = catalogue.file_data_part(study).generate(chosen, streams, file)
    table.insert(0, "seed", streams.seed)
    return table
