"""Printed names of jobs, durations, and the lines of a log that state why a job failed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

LINES = 12
"""How many last lines of a failed job's log are printed."""
_FULL = 1 << 16
"""Free bytes below which an empty log is explained by a full disk."""

_SEEDS = re.compile(r"seeds-(\d+)-(\d+)")


def name_job(rule: str, wildcards: Mapping[str, str]) -> str:
    """The printed name of a job: “train exp7 native/A seeds 0 to 3”."""
    left = {key: str(value) for key, value in wildcards.items()}
    seeds = left.pop("seeds", "")
    if "look" in left:
        left["look"] = f"at {left['look']} seeds"
    run = "/".join(left.pop(key) for key in ("arm", "variant") if key in left)
    words = [rule.partition("_")[0] if left or run or seeds else rule.replace("_", " ")]
    words += [left.pop("study", ""), run, *left.values(), name_seeds(seeds)]
    return " ".join(word for word in words if word)


def name_seeds(chunk: str) -> str:
    """“seeds 0 to 3”, “seed 2”, or "" for a run that is computed once."""
    match = _SEEDS.fullmatch(chunk)
    if not match:
        return "" if chunk == "once" else chunk
    first, last = int(match[1]), int(match[2])
    return f"seed {first}" if first == last else f"seeds {first} to {last}"


def clock(seconds: float) -> str:
    """“2:31”, or “1:02:31”."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def roughly(seconds: float) -> str:
    """A rounded duration: “40 s”, “12 min”, “3 h 20 min”."""
    if seconds < 90:
        return f"{max(round(seconds, -1), 10):.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(round(minutes, -1), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def why(log: Path) -> list[str]:
    """The error line if the log ends with one, else the last lines."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ["its log is missing"]
    lines = [line.rstrip() for line in lines if line.strip()]
    if not lines and shutil.disk_usage(log.parent).free < _FULL:
        return ["its log is empty, because the disk is full"]
    if not lines:
        return ["its log is empty"]
    return lines[-1:] if lines[-1].startswith("error: ") else lines[-LINES:]


def cluster_message(message: str) -> list[str]:
    """The first line of an executor's message, how the job ended, without its advice."""
    text = re.split(r"\s*(?:Detailed failure reason|For further error details)", message)[0]
    return text.strip().splitlines()[:1]


def count_verdicts(files: Iterable[Path]) -> str:
    """The verdicts of one or more studies: “12 claims: 5 supported, 1 refuted, 6 inconclusive”."""
    from journeylab.records.verdicts import WORDS  # loaded only after a report is made

    words: list[str] = []
    evidence = True
    for path in files:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            words += [row["verdict"] for row in content["verdicts"] if row["verdict"] is not None]
        except (OSError, ValueError, KeyError, TypeError):
            return f"{path} cannot be read"
        evidence = evidence and bool(content.get("evidence"))
    counts = [f"{words.count(word)} {word}" for word in WORDS if word in words]
    claims = f"{len(words)} {'claim' if len(words) == 1 else 'claims'}"
    headline = f"{claims}: {', '.join(counts)}" if words else "no claim was judged"
    return headline if evidence else f"{headline} (no evidence)"


def describe_look(record: Path) -> str:
    """A look in a line: “exp7: look 2, 16 seeds: 3 of 14 claims open, 6 runs go on”."""
    from journeylab.records.looks import LookRecord  # loaded only after a look

    try:
        content = json.loads(record.read_text(encoding="utf-8"))
        fields = {name: content[name] for name in LookRecord.model_fields}
        look = LookRecord.model_validate(fields)
    except (OSError, ValueError, KeyError):
        return f"{record} cannot be read"
    return f"{look.study}: {look.summary}"
