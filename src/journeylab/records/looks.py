"""What the looks of a study decided: the state of every claim, and the seeds of every run."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from pydantic import NonNegativeInt

from journeylab.config import ONCE, Frozen, chunk_seeds

State = Literal["decided", "withheld", "settled", "open"]
"""A claim over seeds after a look: decided; withheld by a gate; settled, since no number of further
seeds could decide it; or open."""
FOLDER = "looks"
"""Below the results of a study, with a record of each look."""


class SeedRange(Frozen):
    """The seeds of the runs of a study that stops by looks.

    ``first`` is the end of the first look, which all runs reach: the number after its last seed.
    ``further`` holds the ends of the runs that went on, by ``arm/variant``.
    """

    first: NonNegativeInt
    further: Mapping[str, NonNegativeInt] = {}

    def end(self, run: str) -> int:
        """The number after the last seed of a run ``arm/variant``."""
        return self.further.get(run, self.first)

    def select(self, folders: Iterable[str]) -> list[str]:
        """The folders ``arm/variant/seeds`` of runs that lie within these seeds."""
        return [folder for folder in folders if self._includes(folder)]

    def _includes(self, folder: str) -> bool:
        run, _, seeds = folder.rpartition("/")
        return seeds == ONCE or chunk_seeds(seeds).stop <= self.end(run)


class LookRecord(Frozen):
    """A look: the claims over seeds by their state, and the seeds that are to be run after it.

    ``seeds`` is the number of seeds at the look, ``number`` counts looks from 1. ``goes_on`` lists
    the runs that are extended to the next look; it is empty if no claim is open.
    """

    study: str
    number: int
    seeds: int
    states: Mapping[str, State]
    goes_on: tuple[str, ...]
    taken: SeedRange

    @property
    def open(self) -> list[str]:
        """The claims that are still open."""
        return [row for row, state in self.states.items() if state == "open"]

    @property
    def summary(self) -> str:
        """The look in one line."""
        rows, runs = len(self.states), len(self.goes_on)
        count = f"look {self.number}, {self.seeds} seeds: {len(self.open)} of {rows} claims open"
        return f"{count}, {runs} runs go on" if runs else count


def seeds_taken(
    looks: Iterable[int], first: SeedRange, read: Callable[[int, SeedRange], LookRecord | None]
) -> SeedRange:
    """The seeds of every run after the looks so far, in order; ``first`` are those of the first.

    ``read`` gives the record of a look, for which runs have the given seeds. The looks end with one
    that has no record yet, or after which no run goes on.
    """
    taken = first
    for n in looks:
        if (record := read(n, taken)) is None:
            break
        taken = record.taken
        if not record.goes_on:
            break
    return taken


def seeded_by_run(folders: Iterable[str]) -> dict[str, bool]:
    """Whether the runs ``arm/variant`` of folders ``arm/variant/seeds`` have seeds."""
    parts = (folder.rpartition("/") for folder in folders)
    return {run: seeds != ONCE for run, _, seeds in parts}
