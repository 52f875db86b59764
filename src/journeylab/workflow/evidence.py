"""What ``evidence/`` holds of the planned runs of a study, and which runs it can restore."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from journeylab.config import UserError
from journeylab.records.evidence import (
    RunEvidence,
    changes,
    collect_evidence,
    find_evidence,
    read_evidence,
)
from journeylab.records.plans import Plan

Plans = tuple[Plan, Plan]
"""The plan of a run and that of its measurements; they are equal for a computed run."""
State = Literal["current", "of an older key", "damaged", "missing", "no longer planned"]
LISTED = 4
"""The number of changes that a warning names."""


class Recorded(NamedTuple):
    """The state of the evidence of a run; `reason` says what is damaged, or what changed."""

    state: State
    evidence: RunEvidence | None = None
    reason: str = ""


def run_plans(study: str, plans: Iterable[tuple[str, Plan]]) -> dict[str, Plans]:
    """The plans of every run of a study, by the run's folder, from all plans of the study."""
    made: dict[str, Plan] = {}
    measured: dict[str, Plan] = {}
    for name, plan in plans:
        folder = name.removeprefix(f"{study}/").rpartition("/")[0]
        if plan.stage in ("train", "compute"):
            made[folder] = plan
        if plan.stage in ("measure", "compute"):
            measured[folder] = plan
    return {folder: (plan, measured[folder]) for folder, plan in made.items()}


def read_recorded(root: Path, study: str, planned: Mapping[str, Plans]) -> dict[str, Recorded]:
    """The state of the evidence of all runs that are planned or have evidence, by folder."""
    paths = find_evidence(root, study)
    missing = {folder: Recorded("missing") for folder in planned}
    return missing | {
        folder: _read(path, planned.get(folder)) for folder, path in sorted(paths.items())
    }


def restorable(
    root: Path, study: str, planned: Mapping[str, Plans], recorded: Mapping[str, Recorded]
) -> dict[str, RunEvidence]:
    """The evidence of the runs that are to be restored, by folder.

    A run that was finished here is not restored: its record names this machine, and its weights
    belong to it. Raises UserError if the evidence of a planned run is damaged.
    """
    evidence: dict[str, RunEvidence] = {}
    for folder, plans in planned.items():
        entry = recorded[folder]
        if entry.state == "damaged":
            raise UserError(entry.reason)
        here = root / "results" / study / folder
        if entry.state == "current" and entry.evidence and not is_finished(here, plans):
            evidence[folder] = entry.evidence
    return evidence


def is_finished(folder: Path, plans: Plans) -> bool:
    """Whether the results of a run are whole, of the current plan, and not restored."""
    try:
        return not collect_evidence(folder, *plans).host.restored
    except UserError:
        return False


def outdated_warning(
    root: Path, study: str, planned: Mapping[str, Plans], recorded: Mapping[str, Recorded]
) -> list[str]:
    """A line about runs that are made anew since their evidence is of an older key, if any are."""
    older = {
        folder: recorded[folder].reason
        for folder, plans in planned.items()
        if recorded[folder].state == "of an older key"
        and not is_finished(root / "results" / study / folder, plans)
    }
    if not older:
        return []
    reasons = list(dict.fromkeys(part for reason in older.values() for part in reason.split("; ")))
    more = f" and {len(reasons) - LISTED} more" if len(reasons) > LISTED else ""
    changed = ", ".join(reasons[:LISTED]) + more
    number = f"{len(older)} of {len(planned)} runs"
    return [f"{study}: the evidence of {number} is of an older key; they run anew: {changed}"]


def is_complete(planned: Mapping[str, Plans], recorded: Mapping[str, Recorded]) -> bool:
    """Whether every planned run of a study has current evidence."""
    return all(recorded[folder].state == "current" for folder in planned)


def _read(path: Path, plans: Plans | None) -> Recorded:
    try:
        evidence = read_evidence(path)
    except UserError as error:
        return Recorded("damaged", reason=str(error))
    if plans is None:
        return Recorded("no longer planned", evidence)
    if evidence.keys == tuple(plan.key for plan in plans):
        return Recorded("current", evidence)
    return Recorded("of an older key", evidence, "; ".join(changes(evidence, *plans)))
