"""The seeds of a study: those that may be run, and those that its looks have taken so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from journeylab.claims.looks import schedule, steps, why_unjudged
from journeylab.claims.register import PILOT, Register, StudyClaims
from journeylab.config import Config, UserError, build, chunks
from journeylab.records.files import read_json
from journeylab.records.looks import LookRecord, SeedRange

FindRecord = Callable[[str, int], str]
"""The file of the look of a study at a number of seeds; it raises for a look that was not made."""


@dataclass(frozen=True)
class StudySeeds:
    """All seeds of a study that may be run, and its sequential looks, if it has any."""

    study: str
    all: range
    looks: tuple[int, ...]

    def chunks(self, size: int) -> list[str]:
        """The names of the chunks of all seeds; no chunk reaches across a look."""
        added = steps(self.looks or (len(self.all),), self.all.start)
        return [name for seeds in added for name in chunks(seeds, size)]

    @property
    def first(self) -> SeedRange:
        """The seeds of the first look, or all seeds of a study without sequential looks."""
        return SeedRange(first=self.all.start + (self.looks or (len(self.all),))[0])

    def records(
        self, find: FindRecord, before: float = math.inf
    ) -> Iterator[tuple[str, LookRecord]]:
        """The files and records of the looks in order, up to the first after which no run goes on.

        ``before`` ends them before the look at that number of seeds. After the last look nothing is
        to be planned, so it has no record.
        """
        for n in self.looks[:-1]:
            if n >= before:
                return
            path = find(self.study, n)
            record = build(LookRecord, read_json(Path(path)), path)
            yield path, record
            if not record.goes_on:
                return

    def taken(self, find: FindRecord, before: float = math.inf) -> SeedRange:
        """The seeds of every run that the looks have taken."""
        taken = self.first
        for _, record in self.records(find, before):
            taken = record.taken
        return taken

    def taken_so_far(self, find: FindRecord) -> SeedRange:
        """The same up to the first look that was not made yet, or that is damaged."""
        taken = self.first
        with suppress(UserError, OSError):
            for _, record in self.records(find):
                taken = record.taken
        return taken


def study_seeds(
    config: Config, register: Register, study: str, most: int | None = None
) -> StudySeeds:
    """The seeds of a study: registered seeds, pilot seeds, or those from `seeds_from`.

    Where the configuration names no number, registered seeds go to the last sequential look; of
    fixed looks the default scale takes the first and the paper scale the last. There are no more
    than `most`.
    """
    claims = register.studies.get(study) or StudyClaims(claims=())
    plan = schedule(register, claims)
    first = config.seeds_from
    if first is None:
        first = PILOT if config.scale == "quick" else claims.seeds_from
    count = config.seed_count
    if count is None:
        to_the_end = first == claims.seeds_from if plan.sequential else config.scale == "paper"
        count = plan.looks[-1 if to_the_end else 0]
    if most is not None:
        count = min(count, most)
    seeds = range(first, first + count)
    looks = plan.looks if plan.sequential and config.scale != "quick" else ()
    if why_unjudged(claims, seeds, looks):
        looks = ()
    return StudySeeds(study, seeds, tuple(n for n in looks if n <= count))
