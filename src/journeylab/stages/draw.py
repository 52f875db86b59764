"""Draw a study's figures and write its tables and number macros."""

from __future__ import annotations

from journeylab import catalogue
from journeylab.config import UserError
from journeylab.plotting import StudyResults
from journeylab.records.files import (
    read_json,
    read_origin,
    read_table,
    sha256,
    verify_files,
    write_folder,
)
from journeylab.records.runs import read_run
from journeylab.records.verdicts import StudyVerdicts
from journeylab.reports.draw import draw_results, join_curves
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, results → the folder of figures, tables, macros and content, sealed as a whole."""
    plan = call.plan
    if call.results is None:
        raise UserError(f"{plan.label}: --results is missing")
    measurements = call.results / "measurements.parquet"
    verdicts = call.results / "verdicts.json"
    table = read_table(measurements, plan.inputs["measurements"])
    judged = StudyVerdicts.model_validate(read_json(verdicts, plan.inputs["verdicts"]))
    origin = read_origin(verdicts)
    if origin is None or origin.inputs["measurements"] != sha256(measurements):
        raise UserError(
            f"{verdicts} judges other measurements than {measurements} holds; "
            f"`snakemake --cores 1 --force {verdicts}` judges them anew"
        )
    records = {name: read_run(call.results / name, key) for name, key in plan.runs}
    trained = [call.results / name for name, run in records.items() if run.kind == "trained"]
    for folder in trained:
        curves = {
            "curves.parquet": records[str(folder.relative_to(call.results))].files["curves.parquet"]
        }
        verify_files(folder, curves)
    results = StudyResults(
        study=plan.study,
        settings=catalogue.study_settings(plan.study, plan.settings),
        measurements=table,
        verdicts=judged,
        curves=join_curves([read_table(folder / "curves.parquet") for folder in trained]),
        runs=tuple(records.values()),
    )
    made = plan.origin(measurements=measurements, verdicts=verdicts)
    with write_folder(call.output.parent, made) as folder:
        draw_results(
            results,
            catalogue.figures_part(plan.study),
            catalogue.metrics_part(plan.study),
            folder,
        )
