"""Verdicts of a study, as written to ``results/<study>/verdicts.json``."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field, NonNegativeInt

from journeylab.config import Frozen, Scale
from journeylab.records.looks import SeedRange, State

Word = Literal["supported", "refuted", "depends", "inconclusive", "undecidable"]
WORDS: tuple[Word, ...] = get_args(Word)
"""All verdicts, in the order in which they are printed."""
Unjudged = Literal["number", "first"]
"""Why seeds are not judged: no look has their number, or they are not the registered ones."""
Probability = Annotated[float, Field(ge=0.0, le=1.0)]


class Point(Frozen):
    """The value of one seed; None where the seed failed."""

    seed: int
    value: float | None


class Estimate(Frozen):
    """An effect over seeds and its distribution-free interval.

    ``effect`` is the median over the seeds that finished, the share of solving seeds, or the
    extreme value of an exact claim; None if there is no such number. ``low`` and ``high`` are the
    bounds that were compared with the region; None means unbounded (−∞, +∞).
    """

    effect: float | None
    mean: float | None
    low: float | None
    high: float | None
    n: NonNegativeInt
    failures: NonNegativeInt
    verdict: Word | None
    points: tuple[Point, ...] = ()


class Outcome(Frozen):
    """Effect, interval and verdict of a claim, as a reference keeps them; None as in `Estimate`.

    ``withheld`` is the reason if a gate withheld the verdict; ``seeds`` is the number of seeds at
    which looks at it ended. Fields that do not apply are not written.
    """

    effect: float | None
    low: float | None
    high: float | None
    verdict: Word | None
    withheld: Annotated[str, Field(exclude_if=lambda reason: not reason)] = ""
    seeds: Annotated[NonNegativeInt | None, Field(exclude_if=lambda seeds: seeds is None)] = None

    @property
    def word(self) -> str:
        """The verdict, or “withheld”, or “not judged”."""
        return self.verdict or ("withheld" if self.withheld else "not judged")


class Earlier(Outcome):
    """The outcome of a row in an earlier revision of the register, where its id was ``id``."""

    id: str


class FailedGate(Frozen):
    """A gate that seeds fail: ``median`` is the largest of the medians of its runs.

    None if half the seeds of each run failed.
    """

    gate: str
    median: float | None


class Saturation(Frozen):
    """Two compared runs whose medians are at the same end of their scale."""

    end: Literal["floor", "ceiling"]
    runs: tuple[str, str]
    medians: tuple[float, float]


class _Gated(Estimate):
    failed_gates: tuple[FailedGate, ...] = ()

    @property
    def word(self) -> str:
        """The verdict, or “withheld”, or “not judged”."""
        return self.verdict or ("withheld" if self.failed_gates else "not judged")


class ScopePoint(_Gated):
    """A row at one point of its scope, with the level of every axis; fields as in `Verdict`."""

    at: Mapping[str, str]
    k: NonNegativeInt
    state: State | None = None

    @property
    def label(self) -> str:
        """The levels: “template 0, length 8”."""
        return ", ".join(f"{axis} {level}" for axis, level in self.at.items())

    @property
    def key(self) -> str:
        """The levels as part of the key of a number."""
        return "at-" + "-".join(self.at.values())


class Verdict(_Gated):
    """What was decided on one claim, in numbers.

    ``tail`` and ``k`` determine the order statistics that bound the interval (None for exact
    claims). ``verdict`` is None for secondary rows, for exploratory results and if a gate failed.
    ``detectable`` is the minimum detectable distance from the margin (power 0.8) at the spread of
    these seeds; for ``solves``, a probability of success. ``parts`` are those of an ``all_of`` or
    ``any_of`` claim: for a one-sided region, the bound that alone can settle the whole claim (for
    “all above” the upper bound) is taken at the tail divided by the number of parts; for a band,
    the interval is taken at the full tail. ``state`` is where looks left a judged claim
    over seeds, at ``n`` seeds.

    ``absent`` are runs without any value, ``saturated`` comparisons without room for a difference,
    ``missing`` the levels and seeds of an exact claim that were not measured. ``scope`` holds the
    verdicts at the points of a scope; the claim then has no numbers of its own.
    """

    id: str
    primary: bool = True
    tail: Probability | None
    k: NonNegativeInt | None
    detectable: float | None
    parts: tuple[Estimate, ...] = ()
    state: Annotated[State | None, Field(exclude_if=lambda state: state is None)] = None
    absent: tuple[str, ...] = ()
    saturated: tuple[Saturation, ...] = ()
    missing: tuple[str, ...] = ()
    scope: Annotated[tuple[ScopePoint, ...], Field(exclude_if=lambda points: not points)] = ()


class Registration(Frozen):
    """Whether a row was registered before the runs that it reads; if not, it is exploratory.

    ``remark`` is the reason why it is exploratory, or a caveat about its registration.
    """

    exploratory: bool
    remark: str = ""

    @property
    def text(self) -> str:
        """The state and the remark, as reports print them."""
        if self.exploratory:
            return f"exploratory: {self.remark}"
        return "registered before these runs" + (f" ({self.remark})" if self.remark else "")


class StudyVerdicts(Frozen):
    """All claims of a study.

    ``evidence`` is whether the scale's results may be cited, ``M`` the number of tails that share
    ``alpha``. ``unjudged`` is why claims about seeds are not judged; None if they are. ``first`` is
    the first seed and ``seeds`` the largest number of seeds of a run; ``taken`` are the seeds of
    every run if ``looks`` took them.
    """

    study: str
    scale: Scale
    seeds: NonNegativeInt
    first: NonNegativeInt = 0
    evidence: bool
    alpha: Probability
    M: NonNegativeInt
    unjudged: Unjudged | None = None
    revision: NonNegativeInt = 1
    looks: Annotated[tuple[int, ...], Field(exclude_if=lambda looks: not looks)] = ()
    taken: Annotated[SeedRange | None, Field(exclude_if=lambda taken: taken is None)] = None
    verdicts: tuple[Verdict, ...]

    def look_of(self, row: Verdict) -> int | None:
        """The look, counted from 1, at which the looks at a row ended, if it has any."""
        return self.looks.index(row.n) + 1 if row.state else None

    def select(self, runs: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Of the planned runs and their keys, those that lie within the seeds of the looks."""
        known = dict(runs)
        chosen = self.taken.select(known) if self.taken else known
        return {folder: known[folder] for folder in chosen}
