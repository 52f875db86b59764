"""journeylab: from a claim to evidence. One topic per file in workflow/rules."""

from snakemake.utils import min_version

from journeylab.workflow.start import Captions, begin_jobs, start

min_version("9.27")
plan = start(workflow, config)  # reads config.yaml


pathvars:
    plans=plan.folder("plans"),
    data=plan.folder("data"),
    results=plan.folder("results"),
    reports=plan.folder("reports"),
    logs=plan.folder("logs"),


onstart:
    begin_jobs(workflow, plan)


wildcard_constraints:
    study=r"(search/)?exp\d+",  # a search has the runs of a study in a folder of its own
    file=r"[0-9a-f]{16}",
    dataset=r"[A-Za-z0-9][A-Za-z0-9_.-]*",
    arm=r"[A-Za-z0-9][A-Za-z0-9_.-]*",
    variant=r"[A-Za-z0-9][A-Za-z0-9_.-]*",
    look=r"\d+",
    round=r"\d+",
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
plan.follow(
    lambda study, n: checkpoints.look.get(study=study, look=n).output.look,
    lambda study, n: checkpoints.choose.get(study=study, round=n).output.record,
)


include: "workflow/rules/generate.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/search.smk"
include: "workflow/rules/judge.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/response.smk"
include: "workflow/rules/track.smk"
