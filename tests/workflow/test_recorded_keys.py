"""Recorded evidence and registrations stay valid while the code around them changes.

``recorded_keys.json`` holds, for every study, one hash of the keys of all its plans of each stage
that makes data, runs or measurements, and the hash of every judged row. A change of a key means
that evidence must be made anew: do it on purpose, in a commit that writes the file with

    python tests/workflow/test_recorded_keys.py
"""

import hashlib
import json
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from journeylab.catalogue import discover
from journeylab.claims.hashes import row_hashes
from journeylab.claims.registration import History
from journeylab.config import read_yaml
from journeylab.records.evidence import find_evidence, read_evidence
from journeylab.workflow.planning import WorkflowPlan

PROJECT = Path(__file__).parents[2]
RECORDED = Path(__file__).with_name("recorded_keys.json")
RELEASE = "265e1053b350213f0a53622c770502e5de3d9fd9"
"""The commit of version 1.1.0, whose registers are compared with today's."""
HISTORY = History(PROJECT / "claims")
REVISED = {"exp7", "exp12"}
"""Studies that have been revised since."""
NO_RUNS = "none of the runs that it reads is there"
UNCOMMITTED = "with uncommitted changes outside the register"
"""A run of exp7 was continued after its first evidence had been written."""
STAGES = ("fetch", "generate", "train", "compute", "measure")


@cache
def planned() -> WorkflowPlan:
    return WorkflowPlan(
        read_yaml(PROJECT / "config.yaml"),
        PROJECT / "claims",
        PROJECT / "reference",
        PROJECT / "response.yaml",
    )


def plan_keys() -> dict[str, dict[str, str]]:
    """Study → stage → hash of the paths and keys of all plans of the stage."""
    listed: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, plan in planned().plans():
        if plan.stage in STAGES:
            listed[plan.study or "external"][plan.stage].append(f"{name} {plan.key}")
    return {
        study: {
            stage: hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]
            for stage, lines in sorted(stages.items())
        }
        for study, stages in listed.items()
    }


def judged_rows() -> dict[str, dict[str, str]]:
    """Study → judged row → hash of all that decides its verdict."""
    register = planned().register
    return {
        study: {
            claim.id: row_hashes(register, study)[claim.id][0]
            for claim in claims.claims
            if claim.primary
        }
        for study, claims in register.studies.items()
    }


def test_no_key_of_data_runs_or_measurements_moves() -> None:
    assert plan_keys() == json.loads(RECORDED.read_text())["plans"]


def test_no_judged_row_changes_what_decides_it() -> None:
    assert judged_rows() == json.loads(RECORDED.read_text())["rows"]


@pytest.mark.parametrize("study", discover())
def test_register_of_the_release_stays_readable_in_git(study: str) -> None:
    if HISTORY.location(RELEASE) in ("shallow", "absent"):
        pytest.skip(f"the git history lacks the commit {RELEASE}")
    then = HISTORY.rows(RELEASE, study)
    assert then is not None
    rows = judged_rows()[study]
    same = {row: then[row][0] for row in rows if row in then} == rows
    assert same != (study in REVISED)


@pytest.mark.parametrize("study", discover())
def test_every_judged_row_is_registered_before_its_runs(study: str) -> None:
    keys = {plan.key for _, plan in planned().plans() if plan.study == study}
    recorded = (read_evidence(path) for path in find_evidence(PROJECT, study).values())
    evidence = [each for each in recorded if each.plan.key in keys]  # others are of an older key
    starts = [(each.plan, each.host) for each in evidence]
    if any(HISTORY.location(host.commit or "") == "shallow" for _, host in starts):
        pytest.skip("a shallow clone lacks the commits at which the runs started")
    states = planned().registrations(study, starts)
    judged = [states[row] for row in judged_rows()[study]]
    run = [state for state in judged if state.remark != NO_RUNS]  # others wait for their runs
    assert bool(run) == bool(evidence)
    assert not any(state.exploratory for state in run)
    remarks = {part for state in run for part in state.remark.split("; ")}
    assert remarks <= {"", "reworded since", UNCOMMITTED}


if __name__ == "__main__":
    RECORDED.write_text(
        json.dumps({"plans": plan_keys(), "rows": judged_rows()}, indent=1, sort_keys=True) + "\n"
    )
    sys.stdout.write(f"wrote {RECORDED.name}\n")
