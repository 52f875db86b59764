"""The seeds of a study: those that may be run, and those that its looks have taken so far."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from journeylab.claims.looks import schedule, why_unjudged
from journeylab.claims.schema import PILOT, Register
from journeylab.config import Config, UserError, build, chunks
from journeylab.records.files import read_json
from journeylab.records.looks import LookRecord, SeedRange, seeds_taken

FindRecord = Callable[[str, int], str]
"""The file of a study's look at a number of seeds, or of a round of its search by number.

It raises for one that was not made.
"""


class Taken(NamedTuple):
    """The seeds of every run, and the files of the looks that took them."""

    seeds: SeedRange
    files: list[str]


@dataclass(frozen=True)
class StudySeeds:
    """All seeds of a study that may be run, and its looks: a single one, unless looks add seeds."""

    study: str
    all: range
    looks: tuple[int, ...]

    def chunks(self, size: int) -> list[str]:
        """The names of the chunks of all seeds; no chunk reaches across a look."""
        added = (self.all[before:n] for before, n in pairwise((0, *self.looks)))
        return [name for seeds in added for name in chunks(seeds, size)]

    @property
    def first(self) -> SeedRange:
        """The seeds of the first look."""
        return SeedRange(first=self.all.start + self.looks[0])

    def taken(self, find: FindRecord, before: float = math.inf, *, so_far: bool = False) -> Taken:
        """What the looks before the one at ``before`` seeds took, and the files of their records.

        ``so_far`` ends them at the first look that was not made yet, or that is damaged. After the
        last look nothing is to be planned, so it has no record.
        """
        files = []

        def read(n: int, _: SeedRange) -> LookRecord | None:
            try:
                files.append(path := find(self.study, n))
                return build(LookRecord, read_json(Path(path)), path)
            except (UserError, OSError):
                if so_far:
                    return None
                raise

        looks = [n for n in self.looks[:-1] if n < before]
        return Taken(seeds_taken(looks, self.first, read), files)


def study_seeds(
    config: Config, register: Register, study: str, most: int | None = None
) -> StudySeeds:
    """The seeds of a study: registered seeds, pilot seeds, or those from `seeds_from`.

    Where the configuration names no number, registered seeds go to the last look, and other seeds
    to the first. There are no more than `most`.
    """
    claims = register.claims_of(study)
    plan = schedule(register, claims)
    first = config.seeds_from
    if first is None:
        first = PILOT if config.scale == "quick" else claims.seeds_from
    count = config.seed_count
    if count is None:
        count = plan.looks[-1 if first == claims.seeds_from else 0]
    if most is not None:
        count = min(count, most)
    seeds = range(first, first + count)
    looks = plan.looks if claims.tails and config.scale != "quick" else ()
    if why_unjudged(claims, seeds, looks):
        looks = (count,)
    return StudySeeds(study, seeds, tuple(n for n in looks if n <= count))
