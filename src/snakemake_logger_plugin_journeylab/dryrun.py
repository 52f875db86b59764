"""A dry run as one table: jobs by rule and arm, why they run, and their expected cost."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from snakemake_logger_plugin_journeylab.wording import roughly

ORDER = (
    *("fetch", "generate", "train", "compute", "measure", "restore"),
    *("look", "collect", "judge", "draw", "typeset"),
)
_REASONS = (
    ("Updated input files: ", "changed"),
    ("Missing output files: ", "new"),
    ("Incomplete output files: ", "unfinished"),
    ("Forced execution", "forced"),
    ("Code has changed", "changed rule"),
    ("Params have changed", "changed rule"),
    ("Set of input files has changed", "changed inputs"),
    ("Input files updated by another job: ", "follows"),
)


class PlannedJob(NamedTuple):
    """A job that would run: its rule, study and arm, its plan file, and why it runs."""

    rule: str
    study: str
    arm: str
    plan: str
    reason: str


class DryRun:
    """Collects the jobs of a dry run; `outline` returns all planned jobs, for comparison.

    It maps each study to its number of jobs per "rule arm" (`jobs`), the training steps of
    each plan (`steps`), and the expected CPU-seconds per step and per job without training
    (`seconds_per_step`, `seconds_per_job`; None if unknown).
    """

    def __init__(self) -> None:
        """Start without any job."""
        self.jobs: list[PlannedJob] = []
        self.outline: Callable[[], Mapping[str, Any]] = dict

    def add(self, about: Mapping[str, Any]) -> None:
        """Add the job of a record."""
        wildcards = about["wildcards"] or {}
        plan = next((path for path in about["input"] if "plans/" in path), "")
        if about["rule_name"] != "all":
            rule, _, study = about["rule_name"].partition("_")  # restore_exp7 has no wildcards
            self.jobs.append(
                PlannedJob(
                    rule,
                    str(wildcards.get("study", study)),
                    str(wildcards.get("arm", "")),
                    plan,
                    classify(about["reason"] or ""),
                )
            )

    def lines(self) -> Iterator[str]:
        """The summary, one line at a time."""
        if not self.jobs:
            return
        planned = self.outline()
        studies = sorted({job.study for job in self.jobs}, key=lambda name: (len(name), name))
        for study in studies:
            jobs = [job for job in self.jobs if job.study == study]
            yield from _study(study, jobs, planned.get(study, {}))
        counts = Counter(job.rule for job in self.jobs)
        yield f"{len(self.jobs)} jobs: " + ", ".join(
            f"{counts[rule]} {rule}" for rule in sorted(counts, key=_position)
        )
        yield "This was a dry-run: nothing was run. All jobs with their commands: --printshellcmds"


def _study(study: str, jobs: Sequence[PlannedJob], outline: Mapping[str, Any]) -> Iterator[str]:
    """The jobs of a study by rule and arm: how many of all planned jobs run, and why."""
    planned = outline.get("jobs", {})
    groups: defaultdict[tuple[str, str], list[PlannedJob]] = defaultdict(list)
    for job in jobs:
        groups[job.rule, job.arm].append(job)
    title = study or "all studies"
    yield f"{title}: {len(jobs)} jobs{_cost(jobs, outline)}"
    width = max(len(" ".join(key)) for key in groups)
    counted = {rule for rule, _ in groups}
    for (rule, arm), members in sorted(groups.items(), key=_rank):
        name = f"{rule} {arm}".strip()
        total = max(planned.get(name, 0), len(members))
        reasons = Counter(job.reason for job in members)
        why = ", ".join(
            reason if count == len(members) else f"{count} {reason}"
            for reason, count in reasons.most_common()
        )
        yield f"  {name:<{width}}  {len(members)} of {total}  {why}"
    if "look" in counted:
        yield "  after each look, runs that undecided claims read get more seeds"


def _cost(jobs: Sequence[PlannedJob], outline: Mapping[str, Any]) -> str:
    """The expected CPU time of the jobs, from the last recorded run of the study."""
    steps = sum(outline.get("steps", {}).get(job.plan, 0) for job in jobs)
    seconds = steps * (outline.get("seconds_per_step") or 0.0)
    computed = sum(job.rule == "compute" for job in jobs)
    seconds += computed * (outline.get("seconds_per_job") or 0.0)
    return f", about {roughly(seconds)} of CPU time" if seconds >= 1.0 else ""


def classify(reason: str) -> str:
    """Why a job runs, in a word or two: new, changed, follows …"""
    plan = re.match(r"Updated input files: [^,;]*plans/", reason)
    if plan:
        return "changed plan"
    return next((word for start, word in _REASONS if start in reason), reason or "unknown")


def _rank(group: tuple[tuple[str, str], Sequence[PlannedJob]]) -> tuple[int, str]:
    (rule, arm), _ = group
    return _position(rule), arm


def _position(rule: str) -> int:
    return ORDER.index(rule) if rule in ORDER else len(ORDER)
