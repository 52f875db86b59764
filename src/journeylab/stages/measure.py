"""Evaluate the trained models of one chunk of seeds."""

from __future__ import annotations

from journeylab import catalogue, training
from journeylab.config import UserError
from journeylab.records.files import (
    read_table,
    read_tensors,
    remake,
    sha256,
    verify_files,
    write_table,
)
from journeylab.records.runs import read_run
from journeylab.stages.running import Call
from journeylab.stages.tables import joined, labelled, of_seed
from journeylab.streams import Streams


def run(call: Call) -> None:
    """plan, data, run.json → tidy measurements of every seed that finished."""
    plan = call.plan
    if call.data is None or call.run is None:
        raise UserError(f"{plan.label}: --data and --run are needed")
    training.prepare_process(threads=1)
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
    models, measuring = catalogue.models_part(plan.study), catalogue.measure_part(plan.study)
    tables = []
    for seed in (done.seed for done in record.seeds if done.status == "finished"):
        streams, prefix = Streams(plan.study, seed), f"{seed}/"
        problem = models.problem(job, of_seed(dataset, seed), streams)
        model = problem.build(streams.generator("init"))
        state = {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}
        model.load_state_dict(state)
        measured = measuring.measure(job, evaluation, problem, model.eval())
        tables.append(labelled(measured, plan, seed))
    write_table(call.output, joined(tables), plan.origin(data=call.data, run=call.run))
