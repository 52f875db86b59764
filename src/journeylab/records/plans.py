"""Plans: what a job depends on, known before anything runs, as a file beside its inputs.

A plan's key hashes all that is in it, the keys of the plans it builds on included, so that one key
stands for everything from the data to the result. Plan files change only when a plan does, and are
ordinary inputs of the workflow's rules: an edited setting is an edited file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from journeylab.config import Frozen, UserError, build, canonical
from journeylab.records import files

REGISTER = "register.json"
"""Beside a study's plans: its register, of which each of its runs notes what it begins under."""


class Plan(Frozen):
    """One job. What does not apply to its stage is empty.

    `settings` are resolved; `engine` and `device` say how seeds are trained; `seeds` is None where
    there are none, and for a run that is computed once. `inputs` maps what the job reads to the
    keys of the plans that make it, `runs` lists folders of runs below the study's results with
    theirs, in the order of the configuration;
    `assets` maps files that are no code (prose, style sheets) to their SHA-256.
    """

    stage: str
    study: str = ""
    dataset: str | None = None
    arm: str | None = None
    variant: str | None = None
    seeds: tuple[int, ...] | None = None
    settings: Mapping[str, Any] = {}
    engine: Literal["auto", "sequential", "batched"] = "auto"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    code: str = ""
    versions: Mapping[str, str] = {}
    inputs: Mapping[str, str] = {}
    runs: tuple[tuple[str, str], ...] = ()
    assets: Mapping[str, str] = {}

    @property
    def key(self) -> str:
        """16 hexadecimal characters of the SHA-256 of everything above."""
        return plan_key(self.model_dump(mode="json"))

    @property
    def label(self) -> str:
        """What people call the job, e.g. “train exp7 native/A seeds 0 to 3”."""
        place = "/".join(filter(None, (self.dataset, self.arm, self.variant)))
        seeds = ""
        if self.seeds:
            first, last = self.seeds[0], self.seeds[-1]
            seeds = f"seed {first}" if first == last else f"seeds {first} to {last}"
        return " ".join(filter(None, (self.stage, self.study, place, seeds)))

    def origin(self, **read: Path) -> files.Origin:
        """The origin of what this job writes from the files `read`."""
        hashes = {name: files.sha256(path) for name, path in read.items()}
        return files.Origin(plan_key=self.key, inputs=hashes)


def plan_key(content: Mapping[str, Any]) -> str:
    """The key of a plan with this content."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:16]


def read_plan(path: Path, stage: str) -> Plan:
    """Read the plan of a job of `stage`; raises UserError for a missing, damaged or other one."""
    plan = build(Plan, files.read_json(path), str(path))
    if plan.stage != stage:
        raise UserError(f"{path}: stage: {plan.stage!r}: write the path of a {stage} plan")
    return plan


def write_plan(path: Path, plan: Frozen) -> bool:
    """Write a plan where its file says something else, or nothing; whether it did."""
    content = files.json_bytes(plan)
    try:
        if path.read_bytes() == content:
            return False
    except OSError:
        pass
    with files.write_atomic(path, durable=False) as partial:
        partial.write_bytes(content)
    return True
