"""A dry run as one table: jobs by rule and arm, why they run, and their expected cost."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from journeylab.records.stages import STAGES
from journeylab.wording.costs import Outline
from journeylab.wording.typography import roughly

_REASONS = {
    "Updated input files: ": "changed",
    "Missing output files: ": "new",
    "Incomplete output files: ": "unfinished",
    "Forced execution": "forced",
    "Code has changed": "changed rule",
    "Params have changed": "changed rule",
    "Set of input files has changed": "changed inputs",
    "Input files updated by another job: ": "follows",
}
_ORDER = [*STAGES]


def summary(jobs: Iterable[Mapping[str, Any]], outlines: Mapping[str, Outline]) -> Iterator[str]:
    """The lines about the jobs of a dry run, which are given as records of snakemake."""
    groups: defaultdict[str, dict[tuple[int, str], list[Mapping[str, Any]]]] = defaultdict(dict)
    for job in jobs:
        rule, _, study = job["rule_name"].partition("_")  # restore_exp7 has no wildcards
        if rule in STAGES:  # others only name targets
            known = {"study": study, "arm": ""} | (job["wildcards"] or {})
            group = _ORDER.index(rule), str(known["arm"])
            groups[str(known["study"])].setdefault(group, []).append(job)
    counts: Counter[int] = Counter()
    for study in sorted(groups, key=lambda name: (len(name), name)):
        yield from _study(study, groups[study], outlines.get(study, Outline()))
        for (rule, _), members in groups[study].items():
            counts[rule] += len(members)
    if counts:
        each = ", ".join(f"{counts[rule]} {_ORDER[rule]}" for rule in sorted(counts))
        yield f"{counts.total()} jobs: {each}"
        yield "This was a dry-run: nothing was run. All jobs with their commands: --printshellcmds"


def _study(
    study: str,
    groups: Mapping[tuple[int, str], list[Mapping[str, Any]]],
    outline: Outline,
) -> Iterator[str]:
    """The jobs of a study by rule and arm: how many of all planned jobs run, and why."""
    jobs = [job for members in groups.values() for job in members]
    seconds = outline.cost(path for job in jobs for path in job["input"])
    cost = f", about {roughly(seconds)} of CPU time" if seconds >= 1.0 else ""
    yield f"{study or 'all studies'}: {len(jobs)} jobs{cost}"
    names = {group: f"{_ORDER[group[0]]} {group[1]}".strip() for group in groups}
    width = max(map(len, names.values()))
    for group, name in sorted(names.items()):
        count = len(groups[group])
        total = max(outline.jobs.get(name, 0), count)
        reasons = Counter(classify(job["reason"] or "") for job in groups[group])
        why = ", ".join(
            reason if number == count else f"{number} {reason}"
            for reason, number in reasons.most_common()
        )
        yield f"  {name:<{width}}  {count} of {total}  {why}"
    rules = {job["rule_name"] for job in jobs}
    if "look" in rules:
        yield f"  {outline.more_looks}"
    if "choose" in rules:
        yield "  after each round, runs whose choice has a neighbour that was not tried try it"


def classify(reason: str) -> str:
    """Why a job runs, in a word or two: new, changed, follows …"""
    first, changed, paths = reason.partition("Updated input files: ")
    if changed and not first and "plans/" in paths.replace(";", ",").partition(",")[0]:
        return "changed plan"
    return next((word for start, word in _REASONS.items() if start in reason), reason or "unknown")
