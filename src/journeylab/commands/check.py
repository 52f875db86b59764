"""Whether what was made is whole and of the current plans: what snakemake does not look at.

Snakemake compares times and inputs. A file that went missing inside a folder, or a byte that
flipped at rest, is “Nothing to be done” for it for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Any, NamedTuple, NoReturn

import yaml

from journeylab.config import UserError, read_yaml
from journeylab.records.files import (
    MANIFEST,
    MEASUREMENTS,
    VERDICTS,
    read_json,
    read_table,
    remake,
    verify,
    verify_files,
)
from journeylab.records.plans import Plan
from journeylab.records.runs import HOST, RUN, read_host, read_run
from journeylab.records.verdicts import StudyVerdicts
from journeylab.workflow.planning import WorkflowPlan

PDF_TAIL = 1024
"""Bytes at the end of a PDF among which readers look for its end."""


class Job(NamedTuple):
    """A job, and its outputs: what it writes, beginning with what vouches for the rest."""

    plan: Plan
    outputs: tuple[Path, ...]

    @property
    def made(self) -> bool:
        """Whether it has written anything that counts."""
        return self.outputs[0].exists()


def check(config: Path, overrides: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Check every output there is of every job that is planned, in the order in which data flow.

    `overrides` are KEY=VALUE, as snakemake's `--config` takes them. What is not there is a problem
    if something was made from it. Returns a summary, and the problems, one line each with the
    command that mends it.
    """
    workflow = WorkflowPlan(read_yaml(config) | dict(map(_override, overrides)))
    options = "".join(f" {word}" for word in ("--config", *overrides)) if overrides else ""
    jobs = list(find_jobs(workflow))
    read = {key for job in jobs if job.made for key in _read(job.plan)}
    looked_at = [job for job in jobs if job.made or _identity(job.plan) in read]
    problems = [
        f"{fault.partition(';')[0]}; `{_command(job, fault)}{options}` makes it anew"
        for job in looked_at
        for fault in dict.fromkeys(_LOOKS[job.plan.stage](job))
    ]
    absent = len(jobs) - len(looked_at)
    told = f"{len(looked_at)} jobs looked at, {absent} not done yet, {len(problems)} problems"
    return [told], problems


def find_jobs(workflow: WorkflowPlan) -> Iterator[Job]:
    """Every planned job with its outputs, in the order in which data flow."""
    for name, plan in workflow.plans():
        yield Job(plan, tuple(Path(workflow.folder(path)) for path in _outputs(name, plan)))


def _outputs(name: str, plan: Plan) -> tuple[str, ...]:
    """Paths below the root, from that of the plan below `plans`."""
    results, reports = f"results/{plan.study}", f"reports/{plan.study}"
    folder = f"results/{PurePath(name).parent}"
    return {
        "fetch": (f"data/{PurePath(name).with_suffix('')}",),
        "generate": (f"data/{plan.study}/{plan.dataset}/{PurePath(name).stem}.parquet",),
        "train": tuple(
            f"{folder}/{file}" for file in (RUN, HOST, "weights.safetensors", "curves.parquet")
        ),
        "compute": tuple(f"{folder}/{file}" for file in (RUN, HOST, MEASUREMENTS)),
        "measure": (f"{folder}/{MEASUREMENTS}",),
        "collect": (f"{results}/{MEASUREMENTS}",),
        "judge": (f"{results}/{VERDICTS}",),
        "draw": (f"{reports}/{MANIFEST}",),
        "typeset": (f"{reports}.pdf",),
        "respond": ("reports/response.json",),
        "index": ("reports/index.html",),
    }[plan.stage]


def _command(job: Job, fault: str) -> str:
    """The command for the output that a fault begins with, or else the one that vouches for all."""
    named = next((path for path in job.outputs if fault.startswith(f"{path} ")), job.outputs[0])
    return remake(named)


def _fault(path: Path, look: Callable[[], object]) -> list[str]:
    """What a look at a file or folder complains about: one line that begins with a path."""
    try:
        look()
    except UserError as error:
        return [str(error)]
    except (OSError, ValueError, KeyError) as error:
        return [f"{path} cannot be read ({' '.join(str(error).split())[:100]})"]
    return []


def _files(folder: Path, read: Callable[[], Mapping[str, str]]) -> list[str]:
    """What is wrong with the file that names others with their hashes, or else with those."""
    hashes: dict[str, str] = {}
    return _fault(folder, lambda: hashes.update(read())) or [
        fault
        for name, expected in sorted(hashes.items())
        for fault in _fault(folder / name, partial(verify_files, folder, {name: expected}))
    ]


def _fetched(job: Job) -> list[str]:
    [path] = job.outputs
    return _fault(path, partial(verify_files, path.parent, {path.name: _identity(job.plan)}))


def _table(job: Job) -> list[str]:
    path = job.outputs[-1]
    return _fault(path, lambda: read_table(path, job.plan.key))


def _trained(job: Job) -> list[str]:
    folder = job.outputs[0].parent
    named = _files(folder, lambda: read_run(folder, job.plan.key).files)
    return named + _fault(folder / HOST, lambda: read_host(folder))


def _computed(job: Job) -> list[str]:
    return _trained(job) + _table(job)


def _judged(job: Job) -> list[str]:
    [path] = job.outputs
    return _fault(path, lambda: StudyVerdicts.model_validate(read_json(path, job.plan.key)))


def _drawn(job: Job) -> list[str]:
    [path] = job.outputs
    return _files(path.parent, lambda: read_json(path, job.plan.key)["files"])


def _typeset(job: Job) -> list[str]:
    """A PDF has a beginning, an end, and the key of its plan among its keywords."""
    [path] = job.outputs
    faults = _fault(path, path.read_bytes)
    if faults:
        return [f"{path} is missing"] if not path.exists() else faults
    content = path.read_bytes()
    if not content.startswith(b"%PDF-") or b"%%EOF" not in content[-PDF_TAIL:]:
        return [f"{path} is damaged (it is no whole PDF)"]
    if f"plan {job.plan.key}".encode() not in content:
        return [f"{path} was made with other settings, data or code than planned"]
    return []


def _listed(job: Job) -> list[str]:
    """A page holds its seal, and the key of its plan among what describes it."""
    [path] = job.outputs

    def look() -> None:
        verify(path)
        if f'<meta name="plan" content="{job.plan.key}">' not in path.read_text(encoding="utf-8"):
            raise UserError(f"{path} was made with other settings, data or code than planned")

    return _fault(path, look)


def _override(written: str) -> tuple[str, Any]:
    key, equals, value = written.partition("=")
    try:
        return key, yaml.safe_load(value) if equals else _refuse(written)
    except yaml.YAMLError:
        return _refuse(written)


def _refuse(written: str) -> NoReturn:
    raise UserError(f"{written!r}: write KEY=VALUE, as in scale=quick")


def _identity(plan: Plan) -> str:
    """What other plans call the output of a job: its plan's key, or a file that is not ours."""
    return str(plan.settings["sha256"]) if plan.stage == "fetch" else plan.key


def _read(plan: Plan) -> list[str]:
    """What a job reads, as :func:`_identity` calls it."""
    return [*plan.inputs.values(), *dict(plan.runs).values()]


def _answered(job: Job) -> list[str]:
    """The answer's files, and those of its LaTeX folder."""
    [path] = job.outputs
    latex = path.parent / "latex"
    faults = _files(path.parent, lambda: read_json(path, job.plan.key)["files"])
    return faults or _files(latex, lambda: read_json(latex / MANIFEST)["files"])


_LOOKS: Mapping[str, Callable[[Job], list[str]]] = {
    "fetch": _fetched,
    "generate": _table,
    "train": _trained,
    "compute": _computed,
    "measure": _table,
    "collect": _table,
    "judge": _judged,
    "draw": _drawn,
    "typeset": _typeset,
    "respond": _answered,
    "index": _listed,
}
