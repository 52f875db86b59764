"""The verdicts, figures and records of all studies: input of the stages that join studies."""

from pathlib import Path

from journeylab.claims.hashes import register_hash
from journeylab.claims.registration import read_history, registrations
from journeylab.claims.schema import Register
from journeylab.claims.theorems import Theorems
from journeylab.records.files import read_json, verify
from journeylab.records.plans import Plan
from journeylab.records.runs import read_host, read_run
from journeylab.records.verdicts import StudyVerdicts
from journeylab.reports.answers import Answer, print_answer
from journeylab.reports.summary import JudgedStudy
from journeylab.stages.running import Call
from journeylab.wording.effects import Names
from journeylab.wording.rows import StudyRows, in_planned_words


def read_judged(call: Call) -> list[JudgedStudy]:
    """Every study that a plan reads, in the order of their numbers.

    The plan's inputs are ``<study>.verdicts`` and ``<study>.content``, its runs
    ``<study>/<folder of the run>``. Raises UserError for an input that is missing, damaged or of
    another plan.
    """
    plan, folder = call.plan, call.file("runs")
    histories, judged, manifests = map(call.by_study, ("history", "verdicts", "manifests"))
    register = Register.model_validate(plan.settings["register"])
    runs = [(run.partition("/"), key) for run, key in plan.runs]
    names = {name.partition(".")[0] for name in plan.inputs}
    studies = []
    for study in sorted(names, key=lambda name: (len(name), name)):
        of_study = {
            "study": study,
            "inputs": {part: plan.inputs[f"{study}.{part}"] for part in ("verdicts", "content")},
            "runs": tuple((run, key) for (of, _, run), key in runs if of == study),
        }
        own = plan.model_copy(update=of_study)
        files = judged[study], manifests[study].parent, histories[study], folder / study
        studies.append(judged_study(own, register, *files))
    return studies


def judged_study(
    plan: Plan, register: Register, verdicts: Path, report: Path, history: Path, runs: Path
) -> JudgedStudy:
    """The study of a plan, whose inputs are ``verdicts`` and ``content``, from these files.

    ``register`` is that of the plan, ``report`` the drawn folder, ``runs`` the folder of the runs.
    Raises UserError as above.
    """
    study, settings = plan.study, plan.settings
    verify(report, plan.inputs["content"])
    content = read_json(report / "content.json")
    names = Names(content["labels"], content["arms"])
    rows = read_rows(verdicts, plan, register, names)
    chosen = rows.select(plan.runs)
    records = [(read_run(runs / name, key), read_host(runs / name)) for name, key in chosen.items()]
    registered = registrations(register, study, records, read_history(history))
    rows = rows.completed(registered, Theorems.model_validate(settings["theorems"]))
    answer = settings["answers"][study]
    return JudgedStudy(
        verdicts=rows,
        folder=report,
        content=content,
        numbers=read_json(report / "numbers.json"),
        records=records,
        register=register_hash(register, study),
        answer=print_answer(Answer.model_validate(answer) if answer else None, rows),
    )


def read_rows(path: Path, plan: Plan, register: Register, names: Names) -> StudyRows:
    """The verdicts of the study of a plan, in the words of its register."""
    verdicts = StudyVerdicts.model_validate(read_json(path, plan.inputs["verdicts"]))
    return in_planned_words(verdicts, register, plan.settings, names)
