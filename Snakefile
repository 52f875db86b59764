"""journeylab: from a claim to evidence. One topic per file in workflow/rules."""

import gc
import sys
from pathlib import Path

from snakemake.cli import get_argument_parser
from snakemake.logging import logger
from snakemake.utils import min_version

from journeylab.workflow.captions import Captions
from journeylab.workflow.cluster import prepare_cluster, submitted_studies
from journeylab.config import UserError, read_yaml
from journeylab.workflow.forking import start_server
from journeylab.workflow.recovery import begin_run, check_writable
from journeylab.workflow.planning import WorkflowPlan
from journeylab.workflow.scheduling import lift_default_limit

min_version("9.27")

# Thousands of planned jobs live until the end: looking through them again and again for garbage took
# a fifth of a start with nothing to do. The collector begins with the first job.
gc.disable()


# snakemake's own reader, below, silently keeps the last of two equal keys
try:
    read_yaml(Path("config.yaml"))
except UserError as problem:
    raise SystemExit(f"error: {problem}")


configfile: "config.yaml"


try:
    if workflow.is_main_process:
        check_writable()
        plan = WorkflowPlan(config)
        called = get_argument_parser().parse_args(sys.argv[1:])
        plan.check_targets(called.targets)
        works = not (called.dryrun or called.unlock)
        with begin_run(Path(plan.config.root), works=works) as active:
            if not called.unlock:
                plan.write(active)
        for warning in plan.warnings:
            logger.warning(warning)
        # the logger plugin calls it for the summary of a dry run
        logger.info("", extra={"outline": plan.outline})
    else:  # a job on a cluster keeps the plan with which it was submitted
        plan = WorkflowPlan(config, studies=submitted_studies(sys.argv))
except (UserError, OSError) as problem:
    raise SystemExit(f"error: {problem}")


pathvars:
    plans=plan.folder("plans"),
    data=plan.folder("data"),
    results=plan.folder("results"),
    reports=plan.folder("reports"),
    logs=plan.folder("logs"),


# On a cluster, training and computing are submitted. All other jobs take seconds: submitting them
# would take longer.
localrules:
    all,
    fetch,
    generate,
    measure,
    look,
    collect,
    judge,
    draw,
    typeset,
    respond,
    index,


onstart:
    gc.freeze()
    gc.enable()
    # the timers of the limit would take a third of a core
    lift_default_limit(workflow.scheduler)
    try:
        prepare_cluster(workflow)
    except UserError as problem:
        raise SystemExit(f"error: {problem}")
    training = {}
    for job in workflow.dag.needrun_jobs():
        if plan.config.evidence == "only" and job.rule.name in ("train", "compute"):
            raise SystemExit(
                f"error: evidence=only trains nothing; remove {job.output.run}, which is outdated"
            )
        if job.rule.name == "train":
            training[str(job.input.plan)] = plan.steps(job.wildcards)
    logger.info("", extra={"training": training})  # for the logger plugin
    if workflow.executor_plugin.name == "local":
        start_server(sum(1 for _ in workflow.dag.needrun_jobs()))


wildcard_constraints:
    study=r"exp\d+",
    file=r"[0-9a-f]{16}",
    dataset=r"[A-Za-z0-9][A-Za-z0-9_.-]*",
    arm=r"[A-Za-z0-9][A-Za-z0-9_.-]*",
    variant=r"[A-Za-z0-9][A-Za-z0-9_.-]*",
    look=r"\d+",
    seeds=r"seeds-\d\d+-\d\d+|once",


rule all:
    """The reports of all studies except optional ones, the response to the reviewers, all claims."""
    default_target: True
    input:
        expand("<reports>/{study}.pdf", study=plan.required),
        expand("<reports>/{study}/manifest.json", study=plan.required),  # a removed manifest is drawn again
        "<reports>/response.pdf",
        "<reports>/index.html",


# seeds are added look by look: which runs a study has is known when its looks are done
plan.follow(lambda study, n: checkpoints.look.get(study=study, look=n).output[0])


include: "workflow/rules/generate.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/judge.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/response.smk"
include: "workflow/rules/track.smk"
