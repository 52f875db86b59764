"""Write one dataset for a chunk of seeds."""

from journeylab import catalogue
from journeylab.chunks.generate import generate
from journeylab.records.files import verify_files, write_table
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, and the external file of the dataset, if any → table of all seeds."""
    plan = call.plan
    part = catalogue.data_part(plan.study)  # a study without data.py is refused first
    settings = catalogue.dataset_settings(plan.study, plan.settings)
    file = None
    if "file" in plan.inputs:
        file = call.file("data")
        verify_files(file.parent, {file.name: plan.inputs["file"]})
    table = generate(part, settings, plan.study, plan.dataset or "", plan.seeds or (), file)
    write_table(call.output, table, plan.origin())
