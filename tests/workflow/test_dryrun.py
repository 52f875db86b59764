"""A dry run prints a table of jobs by rule and arm, with reasons and cost as recorded."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from journeylab.records.cost import Cost
from journeylab.records.plans import Plan
from journeylab.wording.costs import Outline
from journeylab.workflow.costs import COSTS, StudyCost, outline, read_costs, record_costs
from snakemake_logger_plugin_journeylab.dryrun import classify, summary
from snakemake_logger_plugin_journeylab.wording import name_job

from ..made import write_finished
from .conftest import Copy

PLAN = "plans/exp7/{arm}/{variant}/seeds-00-03/{rule}.json"


def job(rule: str, arm: str = "", variant: str = "", reason: str = "", study: str = "exp7") -> dict:
    wildcards = {"study": study, "arm": arm, "variant": variant}
    return {
        "rule_name": rule,
        "wildcards": {key: value for key, value in wildcards.items() if value},
        "input": [PLAN.format(arm=arm, variant=variant, rule=rule), "data/x.parquet"],
        "reason": reason,
    }


MORE = "after each look, runs that undecided claims read get more seeds"


def outlines(**seconds: float) -> dict[str, Outline]:
    paths = {PLAN.format(arm="words", variant=name, rule="train"): n for name, n in seconds.items()}
    return {"exp7": Outline({"train words": 6, "judge": 1}, {}, paths, later_seconds=7200.0)}


def test_a_dry_run_counts_jobs_by_rule_and_arm_with_reasons_and_cost():
    new = "Missing output files: results/exp7/run.json"
    changed = "Updated input files: plans/exp7/words/C/seeds-00-03/train.json, data/x.parquet"
    follows = "Input files updated by another job: results/exp7/m.parquet"
    jobs = [
        job("judge", reason=follows),
        job("look", reason=follows),
        job("train", "words", "A", new),
        job("train", "words", "B", new),
        job("train", "words", "C", changed),
    ]
    assert [*summary(jobs, outlines(A=50.0, B=50.0, C=20.0, D=500.0))] == [
        "exp7: 5 jobs, about 2 min of CPU time",
        "  train words  3 of 6  2 new, 1 changed plan",
        "  look         1 of 1  follows",
        "  judge        1 of 1  follows",
        f"  {MORE}, at most 2 h of CPU time",
        "5 jobs: 3 train, 1 look, 1 judge",
        "This was a dry-run: nothing was run. All jobs with their commands: --printshellcmds",
    ]


def test_a_job_that_restores_a_study_is_counted_with_it():
    restoring = {**job("restore_exp7", reason="Missing output files: x"), "wildcards": {}}
    assert [*summary([restoring], {"exp7": Outline({"restore": 1})})][:3] == [
        "exp7: 1 jobs",
        "  restore  1 of 1  new",
        "1 jobs: 1 restore",
    ]
    assert name_job("restore_exp7", {}) == "restore exp7"


def test_a_run_without_jobs_prints_no_table():
    assert [*summary([], {})] == [*summary([job("all")], {})] == []


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("Updated input files: build/quick/plans/exp5/judge.json", "changed plan"),
        ("Updated input files: data/exp5/a.parquet", "changed"),
        ("Incomplete output files: results/a", "unfinished"),
        ("Forced execution", "forced"),
        ("Missing output files: a; Code has changed since last execution", "new"),
        ("Something else", "Something else"),
    ],
)
def test_a_reason_is_classified_in_a_word(reason, word):
    assert classify(reason) == word


@pytest.mark.workflow
def test_a_dry_run_is_short_unless_commands_are_requested(fresh: Copy):
    short = fresh.snakemake("-n", "reports/exp7.pdf").stdout
    assert "exp7: " in short
    assert "train characters" in short
    assert "\n  train words " in short
    assert len(short.splitlines()) < 25
    whole = fresh.snakemake("-n", "--printshellcmds", "reports/exp7.pdf").stdout
    assert whole.count("journeylab train ") == whole.count("\nrule train:") > 1


def remove_a_figure(project: Copy) -> None:
    next(project.path.glob("reports/exp5/figures/*.pdf")).unlink()


def put_back_old_verdicts(project: Copy) -> None:
    """Newer than their plan, and with the record of the verdicts that were there before."""
    verdicts = project.path / "results/exp5/verdicts.json"
    old = verdicts.read_bytes()
    project.configure(lambda config: config.update(seeds_from=2000))
    project.snakemake("results/exp5/verdicts.json")
    verdicts.write_bytes(old)


def remove_the_plans(project: Copy) -> None:
    project.run("rm", "-r", "plans")


def contents(project: Copy) -> dict[Path, tuple[float, bytes]]:
    """Every file except caches of snakemake and Python, and snakemake's log."""
    own = {"iocache", "log", "source_cache", "auxiliary", "__pycache__"}
    files = (path for path in project.path.rglob("*") if path.is_file())
    return {
        path: (path.stat().st_mtime, path.read_bytes())
        for path in files
        if not own & set(path.parts)
    }


def jobs_with_reasons(text: str) -> set[tuple[str, ...]]:
    found = re.findall(
        r"^(?:local)?(?:rule|checkpoint) (\w+):\n(?:    .*\n)*?    reason: (.*)\n"
        r"(?:(?:    .*\n)*?    wildcards: (.*)\n)?",
        text,
        re.MULTILINE,
    )
    return {job for job in found if job[0] != "all"}


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("change", "first"),
    [
        (remove_a_figure, "Missing output files: reports/exp5/manifest.json"),
        pytest.param(
            put_back_old_verdicts,
            "Updated input files: plans/exp5/judge.json",
            marks=pytest.mark.system,
        ),
        (remove_the_plans, None),
    ],
)
def test_a_dry_run_changes_nothing_and_says_what_a_run_does(
    project: Copy, change: Callable[[Copy], None], first: str | None
) -> None:
    change(project)
    before = contents(project)
    targets = ("reports/exp5/manifest.json", "reports/exp5.pdf")
    dry = jobs_with_reasons(project.snakemake("-np", "--quiet", "host", "--", *targets).stdout)
    assert contents(project) == before
    assert (first is None) == (dry == set())
    assert first is None or any(first in reason for _, reason, _ in dry)
    project.snakemake(*targets)
    log = max((project.path / ".snakemake/log").iterdir(), key=os.path.getmtime)
    assert jobs_with_reasons(log.read_text()) == dry


SCRIPT = """
import sys
from pathlib import Path
from snakemake.api import SnakemakeApi
from snakemake.settings.types import DAGSettings, OutputSettings, ResourceSettings

sys.argv = {argv!r}
with SnakemakeApi(OutputSettings(dryrun=True)) as api:
    workflow = api.workflow(ResourceSettings(cores=1), snakefile=Path("Snakefile"))
    workflow.dag(DAGSettings(targets={targets!r})).execute_workflow(executor="dryrun")
"""


@pytest.mark.workflow
def test_a_workflow_that_python_starts_plans_its_targets(fresh: Copy) -> None:
    """The arguments of its own process say nothing about it."""
    argv = ["pytest", "-x", "--weird", "exp99"]
    own = fresh.run("python", "-c", SCRIPT.format(argv=argv, targets={"reports/exp5.pdf"}))
    jobs = re.findall(r"^(?:local)?(?:rule|checkpoint) (\w+):", own.stdout + own.stderr, re.M)
    assert sorted(set(jobs)) == ["collect", "compute", "draw", "judge", "typeset"]
    every = fresh.run("python", "-c", SCRIPT.format(argv=argv, targets=set()))
    assert "rule respond:" in every.stdout + every.stderr
    assert not (fresh.path / "plans").exists()


def test_jobs_cost_what_reference_runs_did_per_step_or_per_computed_run() -> None:
    chunks = ((0, 1), (2, 3))  # the second belongs to a later look
    plans = {
        f"{stage} {seeds}": Plan(stage=stage, seeds=seeds, settings={"training": {"steps": 100}})
        for stage in ("train", "compute")
        for seeds in chunks
    }
    known = outline(plans.items(), StudyCost(seconds=10.0, steps=1000), 2)
    assert known.jobs == {"train": 1, "compute": 1}
    assert known.steps == {"train (0, 1)": 200, "train (2, 3)": 200}
    assert (known.cost([*plans, "data/x.parquet"]), known.later_seconds) == (4.0, 2.0)
    known = outline(plans.items(), StudyCost(seconds=10.0, steps=0), 2)
    assert (known.cost(plans), known.later_seconds) == (20.0, 10.0)
    assert outline(plans.items(), None, 2).seconds == {}


def write(root: Path, arm: str, device: str, cpu_seconds: float) -> None:
    known = {"stage": "train", "study": "exp99", "arm": arm, "variant": "A"}
    plan = Plan(**known, seeds=(0, 1), settings={"training": {"steps": 100}})
    cost = Cost(cpu_seconds=cpu_seconds, imports_seconds=0.5, wall_seconds=1.0, peak_mib=1.0)
    write_finished(root / f"results/exp99/{arm}/A/seeds-00-01", plan, device=device, cost=cost)


def test_cost_is_that_of_the_runs_on_a_cpu(tmp_path: Path) -> None:
    (tmp_path / COSTS).write_text('{"studies": {}}')
    write(tmp_path, "three", "cuda (a GPU)", 7.0)
    record_costs(tmp_path / "results", tmp_path)
    assert read_costs(tmp_path) == {}
    write(tmp_path, "one", "cpu", 30.0)
    write(tmp_path, "two", "cpu", 50.0)
    record_costs(tmp_path / "results", tmp_path)
    cost = read_costs(tmp_path)["exp99"]
    assert (cost.seconds, cost.steps) == (80.0, 400)
