"""Draw a study's figures and write its tables and number macros."""

from pathlib import Path

import pandas as pd

from journeylab import catalogue
from journeylab.claims.schema import Register
from journeylab.config import UserError
from journeylab.plotting import StudyResults, read_trials
from journeylab.records.evidence import CURVES
from journeylab.records.files import (
    MANIFEST,
    read_origin,
    read_table,
    sha256,
    verify_files,
    write_folder,
)
from journeylab.records.repair import remake
from journeylab.records.runs import read_run
from journeylab.records.searches import PrintedSearch
from journeylab.reports.draw import DRAWN, draw_results
from journeylab.stages.judged import read_rows
from journeylab.stages.running import Call
from journeylab.wording.effects import Names


def run(call: Call) -> None:
    """plan, measurements, verdicts, runs → a sealed folder of figures, tables, macros, content."""
    plan = call.plan
    _check_replaced(call.output.parent)
    measurements, verdicts = call.file("measurements"), call.file("verdicts")
    folder_of_runs = call.file("runs")
    table = read_table(measurements, plan.inputs["measurements"])
    names = catalogue.printed_names(plan.study)
    of_runs = Names(names.labels, names.arms)
    register = Register.model_validate(plan.settings["register"])
    judged = read_rows(verdicts, plan, register, of_runs)
    origin = read_origin(verdicts)
    if origin is None or origin.inputs["measurements"] != sha256(measurements):
        raise UserError(
            f"{verdicts} judges other measurements than {measurements} holds; "
            f"`{remake(verdicts)}` judges them again"
        )
    runs = judged.select(plan.runs)
    records = {name: read_run(folder_of_runs / name, key) for name, key in runs.items()}
    figures = catalogue.figures_part(plan.study)
    trials, searched = catalogue.study_folder(plan.study) / "trials.csv", plan.settings["search"]
    curves = []
    for name, record in records.items():
        if record.kind == "trained":
            folder = folder_of_runs / name
            verify_files(folder, {CURVES: record.files[CURVES]})
            curve = read_table(folder / CURVES)
            curves += [] if curve.empty else [curve]
    results = StudyResults(
        study=plan.study,
        settings=catalogue.study_settings(plan.study, plan.settings["settings"]),
        measurements=table,
        names=names,
        verdicts=judged,
        curves=pd.concat(curves, ignore_index=True) if curves else None,
        runs=tuple(records.values()),
        search=searched and PrintedSearch.model_validate(searched),
        trials=read_trials(trials) if trials.exists() else None,
    )
    made = plan.origin(measurements=measurements, verdicts=verdicts)
    with write_folder(call.output.parent, made) as folder:
        draw_results(results, figures, folder, plan.settings["cited"])


def _check_replaced(folder: Path) -> None:
    """Refuse a folder with other files: the whole folder is replaced, and they would be lost."""
    others = sorted(path.name for path in folder.glob("*") if path.name not in DRAWN)
    if others:
        raise UserError(
            f"--output: {folder} holds {others[0]}, and draw replaces the whole folder; write "
            f"FOLDER/{MANIFEST} of a new folder or of one that draw made"
        )
