"""Plans: everything that determines a job's output and is known before it runs, as a file.

The key of a plan is a hash of its content, which includes the keys of the plans of its inputs: one
key covers all steps from the data to the result. Plan files are ordinary inputs of the workflow's
rules and are written only if their content changed: an edited setting is an edited input file.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from journeylab.config import Frozen, UserError, build, canonical
from journeylab.records import files

REGISTER = "register.json"
"""Beside a study's plans: commit and register, which each run of the study records at its start."""
HISTORY = "history.json"
"""Beside a study's plans: what git knows of the commits at which the study's runs began."""
LOOK = "look-"
"""An input of a plan with this prefix is the record of the look at so many seeds."""


class Plan(Frozen):
    """The plan of one job. Fields that do not apply to its stage are empty.

    `settings` are resolved; `engine` and `device` say how seeds are trained; `seeds` is None for a
    job without seeds, such as a run that is computed once. `code` is the fingerprint of the code
    that decides the output, `versions` are those of libraries, `file_format` that of the files.
    `inputs` maps each input to the key of the plan that makes it; `runs` lists the folders of runs
    below the study's results with their keys, in the order of the configuration; `assets` maps
    files that are not code (prose, style sheets) to their SHA-256.
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
    file_format: int = files.FORMAT
    inputs: Mapping[str, str] = {}
    runs: tuple[tuple[str, str], ...] = ()
    assets: Mapping[str, str] = {}

    @property
    def key(self) -> str:
        """16 hexadecimal characters of the SHA-256 of all fields."""
        return plan_key(self.model_dump(mode="json"))

    @property
    def run(self) -> tuple[str, str | None, str | None]:
        """Study, arm and variant."""
        return self.study, self.arm, self.variant

    @property
    def label(self) -> str:
        """The name of the job in messages, e.g. “train exp7 native/A seeds 0 to 3”."""
        names = "/".join(filter(None, (self.dataset, self.arm, self.variant)))
        seeds = ""
        if self.seeds:
            first, last = self.seeds[0], self.seeds[-1]
            seeds = f"seed {first}" if first == last else f"seeds {first} to {last}"
        return " ".join(filter(None, (self.stage, self.study, names, seeds)))

    def origin(self, **read: Path) -> files.Origin:
        """The origin of an output of this job that was made from the files `read`."""
        hashes = {name: files.sha256(path) for name, path in read.items()}
        return files.Origin(plan_key=self.key, inputs=hashes)


def plan_key(content: Mapping[str, Any]) -> str:
    """The key of a plan with this content."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:16]


def read_plan(path: Path, stage: str) -> Plan:
    """Read a plan of `stage`; raises UserError if it is missing, damaged or of another stage."""
    plan = build(Plan, files.read_json(path), str(path))
    if plan.stage != stage:
        raise UserError(f"{path}: stage: {plan.stage!r}: write the path of a {stage} plan")
    return plan


def write_plan(path: Path, plan: Frozen) -> None:
    """Write a plan; one that :func:`is_written` stays, since a newer file looks like an edit."""
    with files.write_atomic(path, durable=False) as partial:
        partial.write_bytes(files.json_bytes(plan))


def is_written(path: Path, plan: Frozen) -> bool:
    """Whether the file has this content; its indented text, which takes long, is not made."""
    try:
        written = files.parse_json(path.read_bytes())
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return canonical(written) == canonical(plan.model_dump(mode="json"))
