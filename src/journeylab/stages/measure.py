"""Evaluate the trained models of one chunk of seeds."""

from journeylab import catalogue
from journeylab.chunks.measure import measure
from journeylab.config import UserError
from journeylab.records.files import read_table, read_tensors, sha256, verify_files, write_table
from journeylab.records.repair import remake
from journeylab.records.runs import read_run
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, data, run.json → tidy measurements of all seeds that finished."""
    plan = call.plan
    data, run_record = call.file("data"), call.file("run")
    folder = run_record.parent
    record = read_run(folder, plan.inputs["run"])
    verify_files(folder, record.files)
    dataset = read_table(data, plan.inputs["data"])
    if record.inputs["data"] != sha256(data):
        raise UserError(
            f"{run_record} was trained on other data than {data} holds; "
            f"`{remake(run_record)}` trains it anew"
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
    write_table(call.output, table, plan.origin(data=data, run=run_record))
