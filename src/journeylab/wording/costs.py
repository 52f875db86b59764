"""The planned jobs of a study and their expected cost."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from journeylab.wording.typography import roughly


class Outline(NamedTuple):
    """The planned jobs of a study, and the CPU-seconds of those whose cost is known.

    ``jobs`` counts them by ``stage arm``, without those of later looks. ``steps`` are the training
    steps and ``seconds`` the CPU-seconds of every job, by the path of its plan; all jobs of later
    looks take ``later_seconds``.
    """

    jobs: Mapping[str, int] = {}
    steps: Mapping[str, int] = {}
    seconds: Mapping[str, float] = {}
    later_seconds: float = 0.0

    def cost(self, plans: Iterable[str]) -> float:
        """The CPU-seconds of the jobs with these plans; paths of other files count nothing."""
        return sum(self.seconds.get(path, 0.0) for path in plans)

    @property
    def more_looks(self) -> str:
        """How later looks go on, and what all of them cost at most."""
        later = self.later_seconds
        most = f", at most {roughly(later)} of CPU time" if later >= 1.0 else ""
        return f"after each look, runs that undecided claims read get more seeds{most}"
