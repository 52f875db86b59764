"""The verdicts, figures and records of all studies: input of the stages that join studies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from journeylab.claims.hashes import register_hash
from journeylab.claims.registration import read_history, registrations
from journeylab.claims.schema import Register
from journeylab.claims.theorems import Theorems
from journeylab.records.files import read_json, verify
from journeylab.records.plans import Plan
from journeylab.records.runs import RunHost, RunRecord, read_host, read_run
from journeylab.records.verdicts import StudyVerdicts
from journeylab.reports.answers import Answer, print_answer
from journeylab.reports.summary import JudgedStudy
from journeylab.stages.running import Call
from journeylab.wording.rows import StudyRows, in_planned_words


def read_judged(call: Call) -> list[JudgedStudy]:
    """Every study that a plan reads, in the order of the configuration.

    The plan's inputs are ``<study>.verdicts`` and ``<study>.content``, its runs
    ``<study>/<folder of the run>``. Raises UserError for an input that is missing, damaged or of
    another plan.
    """
    plan, folder = call.plan, call.file("runs")
    histories, judged, manifests = map(call.by_study, ("history", "verdicts", "manifests"))
    register = Register.model_validate(plan.settings["register"])
    theorems = Theorems.model_validate(plan.settings["theorems"])
    answers = plan.settings["answers"]
    studies = []
    for name, key in plan.inputs.items():
        study, _, kind = name.partition(".")
        if kind != "verdicts":
            continue
        history = read_history(histories[study])
        report = manifests[study].parent
        verify(report, plan.inputs[f"{study}.content"])
        content = read_json(report / "content.json")
        verdicts = read_rows(judged[study], key, plan, content)
        planned = [
            (run.removeprefix(f"{study}/"), run_key)
            for run, run_key in plan.runs
            if run.startswith(f"{study}/")
        ]
        records = read_records(folder / study, verdicts.select(planned))
        rows = verdicts.completed(registrations(register, study, records, history), theorems)
        answer = Answer.model_validate(answers[study]) if answers.get(study) else None
        studies.append(
            JudgedStudy(
                verdicts=rows,
                folder=report,
                content=content,
                numbers=read_json(report / "numbers.json"),
                records=records,
                register=register_hash(register, study),
                answer=print_answer(answer, rows),
            )
        )
    return sorted(studies, key=lambda study: (len(study.study), study.study))


def read_records(folder: Path, runs: Mapping[str, str]) -> list[tuple[RunRecord, RunHost]]:
    """The records of runs, which are given with their keys by their folders below a folder."""
    return [(read_run(folder / name, key), read_host(folder / name)) for name, key in runs.items()]


def read_rows(path: Path, key: str, plan: Plan, names: Mapping[str, Any]) -> StudyRows:
    """The verdicts of a study with the words of the register of a plan.

    ``names`` holds the printed names of variants and arms as ``labels`` and ``arms``.
    """
    verdicts = StudyVerdicts.model_validate(read_json(path, key))
    return in_planned_words(verdicts, plan.settings, names)
