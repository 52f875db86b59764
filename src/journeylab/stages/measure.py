"""Evaluate the trained models of one chunk of seeds."""

from __future__ import annotations

from journeylab import catalogue
from journeylab.chunks.measure import measure
from journeylab.config import UserError
from journeylab.records.files import (
    read_table,
    read_tensors,
    sha256,
    verify_files,
    write_table,
)
from journeylab.records.repair import remake
from journeylab.records.runs import read_run
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, data, run.json → tidy measurements of all seeds that finished."""
    plan = call.plan
    if call.data is None or call.run is None:
        raise UserError(f"{plan.label}: --data and --run are needed")
    folder = call.run.parent
    record = read_run(folder, plan.inputs["run"])
    verify_files(folder, record.files)
    dataset = read_table(call.data, plan.inputs["data"])
    if record.inputs["data"] != sha256(call.data):
        raise UserError(
            f"{call.run} was trained on other data than {call.data} holds; "
            f"`{remake(call.run)}` trains it anew"
        )
    job = catalogue.trained_job(plan.study, record.settings)
    evaluation = catalogue.evaluation_settings(plan.study, plan.settings)
    weights = read_tensors(folder / "weights.safetensors")
    table = measure(
        catalogue.models_part(plan.study),
        catalogue.measure_part(plan.study),
        job,
        evaluation,
        dataset,
        weights,
        plan.run,
        [each.seed for each in record.seeds if each.status == "finished"],
    )
    write_table(call.output, table, plan.origin(data=call.data, run=call.run))
