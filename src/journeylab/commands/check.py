"""``journeylab check``: are all outputs undamaged and of the current plans?

Snakemake compares times and inputs: it does not notice a file that is missing inside a folder, or a
byte that changed on the disk. With ``--remote``: are the objects of the DVC remote there and
undamaged? DVC names an object by the MD5 of its content. `dvc pull` trusts that name unless the
remote has `verify: true`, and then says only that its checkout failed, not which object is damaged.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

import typer

from journeylab.commands.results import CONFIG, JSON, current_plan, end, print_json
from journeylab.config import Frozen, UserError, masked
from journeylab.records.files import MANIFEST, read_json, read_table, read_verified, verify_files
from journeylab.records.looks import LookRecord
from journeylab.records.plans import Plan
from journeylab.records.repair import remake
from journeylab.records.runs import HOST, read_host, read_run
from journeylab.records.verdicts import StudyVerdicts
from journeylab.workflow.plan_files import job_outputs
from journeylab.workflow.planning import WorkflowPlan


class Job(NamedTuple):
    """A job and its outputs; the first output marks the others as complete."""

    plan: Plan
    outputs: tuple[Path, ...]

    @property
    def made(self) -> bool:
        """Whether its first output exists."""
        return self.outputs[0].exists()


def check_outputs(
    overrides: Annotated[list[str] | None, typer.Argument(help="KEY=VALUE, as planned.")] = None,
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    remote: Annotated[bool, typer.Option(help="Check the objects of the DVC remote.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find damaged, missing and outdated files, with the command that makes each anew."""
    given = overrides or []
    summary, problems = check_remote() if remote else check_plan(current_plan(config, given), given)
    if json:
        print_json("check", summary=summary, problems=problems)
        raise typer.Exit(1 if problems else 0)
    end(summary, problems)


def check_plan(
    workflow: WorkflowPlan, overrides: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Check all existing outputs of all planned jobs, in the order in which data flow.

    A missing output is a problem if another output was made from it. Returns a summary, and one
    line for each problem with the command that repairs it.
    """
    options = "".join(f" {word}" for word in ("--config", *overrides)) if overrides else ""
    jobs = [
        Job(plan, tuple(Path(workflow.folder(path)) for path in job_outputs(name, plan)))
        for name, plan in workflow.plans()
    ]
    made = [job.plan for job in jobs if job.made]
    read = {key for plan in made for key in (*plan.inputs.values(), *dict(plan.runs).values())}
    read -= _later(workflow, jobs)
    checked = [job for job in jobs if job.made or _identities(job.plan) & read]
    problems = [
        f"{fault.partition(';')[0]}; `{_command(job, fault, options)}` makes it anew"
        for job in checked
        for fault in dict.fromkeys(_CHECKS[job.plan.stage](job))
    ]
    absent = len(jobs) - len(checked)
    summary = f"{len(checked)} jobs checked, {absent} not done yet, {len(problems)} problems"
    return [summary], problems


def _command(job: Job, fault: str, options: str) -> str:
    """The command that makes the output named by a fault, or else the first output."""
    named = next((path for path in job.outputs if fault.startswith(f"{path} ")), job.outputs[0])
    return remake(named, options)


def _fault(path: Path, read: Callable[[], object]) -> list[str]:
    """The error of reading a file or folder, as a line that begins with a path."""
    try:
        read()
    except UserError as error:
        return [str(error)]
    except (OSError, ValueError, KeyError) as error:
        return [f"{path} cannot be read ({' '.join(str(error).split())[:100]})"]
    return []


def _files(folder: Path, read: Callable[[], Mapping[str, str]]) -> list[str]:
    """Errors in the manifest or, if it is intact, in the files that it lists."""
    hashes: dict[str, str] = {}
    return _fault(folder, lambda: hashes.update(read())) or [
        fault
        for name, expected in sorted(hashes.items())
        for fault in _fault(folder / name, partial(verify_files, folder, {name: expected}))
    ]


def _fetched(job: Job) -> list[str]:
    [path] = job.outputs
    return _files(path.parent, lambda: {path.name: job.plan.settings["sha256"]})


def _table(job: Job) -> list[str]:
    path = job.outputs[-1]
    return _fault(path, lambda: read_table(path, job.plan.key))


def _trained(job: Job) -> list[str]:
    folder = job.outputs[0].parent
    named = _files(folder, lambda: read_run(folder, job.plan.key).files)
    return named + _fault(folder / HOST, lambda: read_host(folder))


def _restored(job: Job) -> list[str]:
    return _files(job.outputs[0].parents[3], lambda: job.plan.settings["files"])


def _record(model: type[Frozen], job: Job) -> list[str]:
    [path] = job.outputs
    return _fault(path, lambda: model.model_validate(read_json(path, job.plan.key)))


def _drawn(job: Job) -> list[str]:
    [path] = job.outputs
    return _files(path.parent, lambda: read_json(path, job.plan.key)["files"])


def _document(mark: str, job: Job) -> list[str]:
    """A PDF or page contains its checksum, and a mark with the key of its plan."""
    [path] = job.outputs

    def read() -> None:
        if mark.format(job.plan.key).encode() not in read_verified(path):
            raise UserError(f"{path} was made with other settings, data or code than planned")

    return _fault(path, read)


def _identities(plan: Plan) -> set[str]:
    """The names of a job's outputs among the inputs of others: keys, or a file's SHA-256."""
    if plan.stage == "restore":
        return set(dict(plan.runs).values())
    return {plan.settings["sha256"] if plan.stage == "fetch" else plan.key}


def _later(workflow: WorkflowPlan, jobs: Iterable[Job]) -> set[str]:
    """The keys of runs and looks that plans name, but that no job reads: the looks ended before."""
    # a look that is missing or damaged is among the files: its job is checked
    taken = {study: workflow.taken_so_far(study) for study in workflow.studies}

    def is_later(job: Job) -> bool:
        plan = job.plan
        if plan.stage == "look":
            return str(job.outputs[0]) not in taken[plan.study].files
        if plan.arm is None or plan.seeds is None:
            return False
        return plan.seeds[-1] >= taken[plan.study].seeds.end(f"{plan.arm}/{plan.variant}")

    return {job.plan.key for job in jobs if is_later(job)}


def _answered(job: Job) -> list[str]:
    """The files of the response, and those of its LaTeX folder."""
    latex = job.outputs[0].parent / "latex"
    return _drawn(job) or _files(latex, lambda: read_json(latex / MANIFEST)["files"])


_CHECKS: Mapping[str, Callable[[Job], list[str]]] = {
    "fetch": _fetched,
    "generate": _table,
    "train": _trained,
    "compute": lambda job: _trained(job) + _table(job),
    "measure": _table,
    "restore": _restored,
    "look": partial(_record, LookRecord),
    "collect": _table,
    "judge": partial(_record, StudyVerdicts),
    "draw": _drawn,
    "typeset": partial(_document, "plan {}"),
    "respond": _answered,
    "index": partial(_document, '<meta name="plan" content="{}">'),
}


# ---- the DVC remote ------------------------------------------------------------------------------


def check_remote() -> tuple[list[str], list[str]]:
    """Read every object that the files of DVC in this folder name, and compare its MD5.

    Returns a summary, and one line for each missing or damaged object. Raises UserError without a
    remote, or if it cannot be read.
    """
    from dvc.repo import Repo

    try:
        with Repo() as repo:
            store = repo.cloud.get_remote_odb()
            objects = {
                entry.obj_name or entry.value: entry.value
                for entries in repo.used_objs().values()
                for entry in entries
            }
            problems = list(_problems(store, objects))
    except Exception as error:  # the library of each kind of store has errors of its own
        reason = masked(" ".join(filter(None, (str(error), str(error.__cause__ or "")))))
        raise UserError(f"the DVC remote cannot be checked: {reason}") from error
    return [f"{len(objects)} objects checked, {len(problems)} problems"], problems


def _problems(store: Any, objects: Mapping[str, str]) -> Iterator[str]:
    """`objects` maps files and folders to the names of their objects."""
    for file, name in sorted(objects.items()):
        path = store.oid_to_path(name)
        # DVC pushes nothing of a folder whose own object is in the remote
        above = [objects[str(each)] for each in PurePosixPath(file).parents if str(each) in objects]
        delete = [_address(store, each) for each in above]
        try:
            intact = _md5(store, path) == name.removesuffix(".dir")
        except FileNotFoundError:
            problem = f"object {_address(store, name)} is missing"
        else:
            if intact:
                continue
            problem = f"object {_address(store, name)} is damaged (its MD5 differs)"
            delete = [_address(store, name), *delete]
        before = f"delete {' and '.join(delete)}, then " if delete else ""
        yield f"{file}: {problem}; {before}run `dvc push` in a folder that has the file"


def _address(store: Any, name: str) -> str:
    return str(store.fs.unstrip_protocol(store.oid_to_path(name)))


def _md5(store: Any, path: str) -> str:
    with store.fs.open(path, "rb") as content:
        return hashlib.file_digest(content, partial(hashlib.md5, usedforsecurity=False)).hexdigest()
