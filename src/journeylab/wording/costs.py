"""The expected cost of jobs, from the outline of a study (:mod:`journeylab.workflow.costs`)."""

from collections.abc import Mapping
from typing import Any

from journeylab.wording.typography import roughly


def seconds_of(steps: int, computed: int, outline: Mapping[str, Any]) -> float:
    """The CPU-seconds of training steps and of jobs without training; 0 if unknown."""
    trained = steps * (outline.get("seconds_per_step") or 0.0)
    return trained + computed * (outline.get("seconds_per_job") or 0.0)


def more_looks(outline: Mapping[str, Any]) -> str:
    """How later looks go on, and what all of them cost at most."""
    later = outline.get("later_seconds") or 0.0
    most = f", at most {roughly(later)} of CPU time" if later >= 1.0 else ""
    return f"after each look, runs that undecided claims read get more seeds{most}"
