"""The start of a workflow: what the Snakefile needs, and plan files before jobs are chosen."""

import gc
import logging
import re
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from snakemake.io import _IOFile
from snakemake.logging import logger
from snakemake.persistence.file import FilePersistence
from snakemake.utils import update_config

from journeylab.config import UserError, check_checkout, read_yaml
from journeylab.records.files import read_json
from journeylab.records.machine import print_any_text
from journeylab.records.stages import RUN_STAGES
from journeylab.wording.typography import roughly
from journeylab.workflow.forking import start_server
from journeylab.workflow.planning import WorkflowPlan
from journeylab.workflow.preview import hide_records, show_changes
from journeylab.workflow.recovery import begin_run, check_writable

DEFAULT_LIMIT = (100, 1)
"""The jobs that snakemake starts at most, in this many seconds, if nobody sets a limit."""
_is_protected = _IOFile.protected


def start(workflow: Any, config: dict[str, Any], file: str = "config.yaml") -> WorkflowPlan:
    """The plan of a configuration; plan files are written before snakemake builds its graph.

    `config` is what the command line sets, and goes before the `file`. Snakemake's own reader, the
    directive `configfile`, would take a fifth of a short start and keep the last of equal keys.
    When the graph is built, the targets are known, also of a workflow that Python starts, and
    whether jobs will run: a run writes the plans of the studies that its targets need, a dry run or
    a list writes nothing. A job on a cluster keeps the plan with which it was submitted.
    """
    print_any_text()
    replace_links()
    logging.raiseExceptions = False  # a log that cannot be written is no reason for a traceback
    # Thousands of planned jobs live until the end: looking through them again and again for
    # garbage took a fifth of a start with nothing to do.
    gc.disable()
    try:
        check_checkout()
        settings = read_yaml(Path(file))
        update_config(settings, config)
        if not workflow.is_main_process:
            return WorkflowPlan(settings, studies=submitted_studies(sys.argv))
        check_writable()
        plan = WorkflowPlan(settings)
    except (UserError, OSError) as problem:
        raise SystemExit(f"error: {problem}") from None

    class Planned(type(workflow)):  # type: ignore[misc]
        def _build_dag(self) -> None:
            try:
                _prepare(self, plan)
            except (UserError, OSError) as problem:
                raise SystemExit(f"error: {problem}") from None
            super()._build_dag()
            gc.freeze()
            gc.enable()

    workflow.__class__ = Planned
    return plan


def _prepare(workflow: Any, plan: WorkflowPlan) -> None:
    """Bring plans up to date, or show snakemake how they would be."""
    files = [str(file) for file in workflow.dag.targetfiles]
    plan.check_targets(files)
    rules = [rule.name for rule in workflow.dag.targetrules]
    # a job on a node is named by its rule and wildcards
    jobs = [f"job {job.rulename}" for job in workflow.dag_settings.target_jobs]
    scope = plan.scope(files, (*rules, *jobs))
    if workflow.executor_plugin is None or workflow.dryrun:
        show_changes(plan.changes(scope), workflow)
    else:
        check_writable(Path(plan.folder("logs")))
        with begin_run(Path(plan.config.root)) as active:
            plan.changes(scope).make(active)
        hide_records(workflow)
    for warning in plan.warnings(scope):
        logger.warning(warning)
    # the logger plugin calls it for the summary of a dry run
    logger.info("", extra={"outline": partial(plan.outline, scope.studies)})


def submitted_studies(arguments: Sequence[str]) -> set[str]:
    """The studies in the wildcards of the command line with which snakemake starts a job on a node.

    Each job starts snakemake twice; reading all studies would take most of that time.
    """
    return set(re.findall(r"\bstudy=(?:search/)?(exp\d+)\b", " ".join(arguments)))


def replace_links() -> None:
    """Let snakemake replace outputs that are links into the cache of DVC by files of their own.

    If its `cache.type` is symlink or hardlink, a linked file is read-only. Snakemake would refuse
    to replace an output that is a hard link, and would write its own records into the files of the
    cache: an ordinary user may not, and the superuser would overwrite what earlier results were
    made with.
    """
    FilePersistence._write_record = _write_record
    _IOFile.protected = _protected


def _write_record(records: Any, key: str, record: Any) -> None:
    records._delete_record(key)
    records._io_write(records._metadata_path, dict(record.items()), key)


async def _protected(file: Any) -> bool:
    path = Path(file)
    linked = path.is_file() and path.stat().st_nlink > 1
    return not linked and await _is_protected(file)


def begin_jobs(workflow: Any, plan: WorkflowPlan) -> None:
    """What is done once before the first job runs."""
    lift_default_limit(workflow.scheduler)
    try:
        prepare_cluster(workflow)
    except UserError as problem:
        raise SystemExit(f"error: {problem}") from None
    jobs = list(workflow.dag.needrun_jobs())
    runs: dict[str, list[str]] = {}  # the plans of each study
    for job in jobs:
        if job.rule.name not in RUN_STAGES:
            continue
        if plan.config.evidence == "only":
            raise SystemExit(
                f"error: evidence=only trains nothing; remove {job.output.run}, which is outdated"
            )
        runs.setdefault(job.wildcards.study, []).append(str(job.input.plan))
    outlines = plan.outline(runs)
    training = {
        path: outlines[study].steps[path]
        for study, plans in runs.items()
        for path in plans
        if path in outlines[study].steps  # others are computed
    }
    logger.info("", extra={"training": training})  # for the logger plugin
    for study, outline in outlines.items():
        if (seconds := outline.cost(runs[study])) >= 60.0:
            more = f"; {outline.more_looks}" if outline.later_seconds else ""
            logger.info(f"{study}: about {roughly(seconds)} of CPU time{more}")
    if workflow.executor_plugin.name == "local":
        start_server(len(jobs))


def prepare_cluster(workflow: Any) -> None:
    """Make the SLURM executor poll at the interval of its profile, also after an outage of SLURM.

    Raises UserError if jobs are to be submitted to SLURM and the machine has none. Other executors
    stay as they are.
    """
    if workflow.executor_plugin.name != "slurm":
        return
    if shutil.which("sbatch") is None:
        raise UserError(
            "there is no SLURM on this machine (sbatch is missing); "
            "without --workflow-profile profiles/slurm jobs run here"
        )
    seconds = workflow.remote_execution_settings.seconds_between_status_checks
    from journeylab.workflow.submission import keep_polling  # only this executor needs it

    keep_polling(workflow.scheduler._executor, seconds)


def lift_default_limit(scheduler: Any) -> None:
    """Remove snakemake's default limit of job starts; a limit that was chosen stays.

    As long as jobs are ready, a scheduler with a limit ends each of its passes by starting a timer
    for another pass. Each finished job adds such a chain of timers: after some hundred jobs they
    take a third of a core.
    """
    limiter = scheduler.job_rate_limiter
    if limiter is not None and (limiter.max_jobs, limiter.timespan) == DEFAULT_LIMIT:
        scheduler.job_rate_limiter = None


class Captions:
    """The captions of a study's figures by name; ``snakemake --report`` reads them."""

    def __init__(self, content: str) -> None:
        self._content = Path(content)

    def __getitem__(self, figure: str) -> str:
        """A caption as escaped reStructuredText."""
        figures = {entry["name"]: entry["caption"] for entry in read_json(self._content)["figures"]}
        return re.sub(r"([\\*`|_])", r"\\\1", figures[figure])

    def __str__(self) -> str:
        return f"{self._content}"
