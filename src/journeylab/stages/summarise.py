"""Write the numbers that `dvc metrics diff` compares."""

from __future__ import annotations

from journeylab.records.files import read_json, write_json
from journeylab.records.verdicts import StudyVerdicts
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, results → effect of every claim, by study."""
    results = call.read_from
    studies = [
        StudyVerdicts.model_validate(read_json(results / study / "verdicts.json", key))
        for study, key in call.plan.inputs.items()
    ]
    numbers = {study.study: {v.id: v.effect for v in study.verdicts} for study in studies}
    write_json(call.output, numbers, sealed=False)
