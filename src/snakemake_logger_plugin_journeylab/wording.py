"""Printed names of jobs, the end of a failed job's log, and what a report or a look found."""

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from journeylab.config import ONCE, UserError, build, chunk_seeds
from journeylab.records.files import read_json
from journeylab.records.looks import LookRecord
from journeylab.records.plans import Plan
from journeylab.records.searches import SearchRecord

LINES = 12
"""How many last lines of a failed job's log are printed."""
_FROM_SLURM = re.compile(
    r"(slurmd|slurmstepd|srun)\S*: error: (?!.*: tasks? \S+: (Exited|Terminated))"
)
_FULL = 1 << 16
"""Free bytes below which an empty log is explained by a full disk."""


def name_job(rule: str, wildcards: Mapping[str, str]) -> str:
    """The printed name of a job: “train exp7 native/A seeds 0 to 3”."""
    stage, _, study = rule.partition("_")  # restore_exp7 has no wildcards
    known = {"study": study} | {key: str(value) for key, value in wildcards.items()}
    named = {key: known[key] for key in ("study", "dataset", "arm", "variant") if key in known}
    seeds = None
    with suppress(UserError):  # a run that is computed once
        seeds = tuple(chunk_seeds(known.get("seeds", ONCE)))
    label = Plan.model_validate({"stage": stage, "seeds": seeds, **named}).label
    if "round" in known:
        return f"{label}, round {known['round']}"
    return f"{label} at {known['look']} seeds" if "look" in known else label


def why(log: Path) -> list[str]:
    """The error line if the log ends with one, else the last lines."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ["its log is missing"]
    lines = [line.rstrip() for line in lines if line.strip()]
    if not lines:
        full = shutil.disk_usage(log.parent).free < _FULL
        return ["its log is empty" + ", because the disk is full" * full]
    return lines[-1:] if lines[-1].startswith("error: ") else lines[-LINES:]


def has_text(log: Path) -> bool:
    """Whether a log is there and not empty."""
    with suppress(OSError):
        return log.stat().st_size > 0
    return False


def cluster_errors(log: Path) -> list[str]:
    """What SLURM itself wrote into its log of a job, as that memory exceeded the limit; once each.

    That a task exited is left out: the log of the job says why.
    """
    with suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        return list(dict.fromkeys(filter(_FROM_SLURM.match, lines)))[:LINES]
    return []


def cluster_message(message: str) -> list[str]:
    """An executor's message in a line, how the job ended, without its advice."""
    advice = r"Detailed failure reason|For further error details|sbatch call:"
    text = " ".join(re.split(advice, message)[0].split())
    return [text] if text else []


def was_refused(message: str) -> bool:
    """Whether a job was never submitted, so that it has no log."""
    return message.startswith(("SLURM sbatch failed", "Job submission failed", "It was not sub"))


def count_verdicts(files: Iterable[Path]) -> str:
    """The verdicts of one or more studies: “12 claims: 5 supported, 1 refuted, 6 inconclusive”."""
    # loaded only after a report is made
    from journeylab.claims.forms import printed_word
    from journeylab.claims.register import read_register
    from journeylab.wording.verdicts import tally

    try:
        studies = [json.loads(path.read_text(encoding="utf-8")) for path in files]
        rows = read_register(Path("claims"), {study["study"] for study in studies}).by_id
        words = [
            printed_word(row["verdict"], claim.form, claim.evidence)
            for study in studies
            for row in study["verdicts"]
            if row["verdict"] and (claim := rows[row["id"]]).form != "check"
        ]
    except (OSError, UserError, ValueError, KeyError, TypeError) as error:
        return f"its verdicts cannot be read: {error}"
    counts = ", ".join(f"{n} {word}" for word, n in tally(words))
    claims = f"{len(words)} {'claim' if len(words) == 1 else 'claims'}"
    evidence = all(study.get("evidence") for study in studies)
    return (f"{claims}: {counts}" if words else "no claim was judged") + " (no evidence)" * (
        not evidence
    )


def describe(stage: str, record: Path) -> str:
    """A look or a round in a line: “exp7: look 2, 16 seeds: 3 of 14 claims open, 6 runs go on”."""
    kind: type[LookRecord | SearchRecord] = LookRecord if stage == "look" else SearchRecord
    try:
        made = build(kind, read_json(record), str(record))
    except (OSError, UserError):
        return f"{record} cannot be read"
    return f"{made.study}: {made.summary}"
