"""Verdicts of a study, as written to ``results/<study>/verdicts.json``."""

import math
from typing import Annotated, Literal, get_args

from pydantic import Field, NonNegativeInt

from journeylab.config import Frozen

Word = Literal["supported", "refuted", "inconclusive", "undecidable"]
WORDS: tuple[Word, ...] = get_args(Word)
"""All verdicts, in the order in which they are told."""
Probability = Annotated[float, Field(ge=0.0, le=1.0)]


class Point(Frozen):
    """The value of one seed; None where the seed failed."""

    seed: int
    value: float | None


class Estimate(Frozen):
    """An effect over seeds and its distribution-free interval.

    ``effect`` is the median over the seeds that finished, the share of solving seeds, or the
    extreme value of an exact claim. ``low`` and ``high`` are the bounds that were compared with
    the region; None means unbounded (−∞, +∞), and an ``effect`` of None that no number exists.
    """

    effect: float | None
    mean: float | None
    low: float | None
    high: float | None
    n: NonNegativeInt
    failures: NonNegativeInt
    verdict: Word | None
    points: tuple[Point, ...] = ()


class Part(Estimate):
    """One part of an ``all_of`` or ``any_of`` claim.

    Of a one-sided region, the bound that can settle the whole claim by itself (the upper one of
    “all above”) is taken at the tail divided by the number of parts. Of a band, the interval shown
    is the one at the full tail.
    """

    effect_text: str
    metric_label: str


class Earlier(Frozen):
    """What an earlier revision of the register said of a row, there called ``id``."""

    id: str
    effect: float | None
    low: float | None
    high: float | None
    verdict: Word | None


class Verdict(Estimate):
    """One claim, what was measured, and the word on it.

    ``tail`` and ``k`` say which order statistics bound the interval (None for exact claims).
    ``verdict`` is None for secondary rows, for exploratory results and for rows whose gate is shut,
    which ``withheld`` tells. ``detectable`` is the distance from the margin that these seeds decide
    with probability 0.8 at their spread (of ``solves``, the probability of success that they do).
    ``notes`` are what is to be said of this row alone; ``opening`` and ``sentence`` tell the
    verdict in plain words. ``before`` is the row of the revision before that asked the same.
    """

    id: str
    theorem: str
    statement: str
    source: Literal["document", "corrected"]
    primary: bool
    kind: Literal["above", "below", "inside", "solves", "all_of", "any_of", "exact", "number"]
    region: dict[str, float | tuple[float, float] | dict[str, float]]
    region_text: str
    effect_text: str
    metric_label: str
    tail: Probability | None
    k: NonNegativeInt | None
    detectable: float | None
    cites: str = ""
    withheld: str = ""
    notes: tuple[str, ...] = ()
    opening: str
    sentence: str
    parts: tuple[Part, ...] = ()
    before: Earlier | None = None

    @property
    def extreme(self) -> float | None:
        """The effect of an exact row; infinite, beyond its bound, if a case was not finite."""
        if self.effect is None and self.n:
            return math.inf if "at_most" in self.region else -math.inf
        return self.effect


class Registration(Frozen):
    """Whether a row was registered before the runs that it reads; if not, it is exploratory.

    ``remark`` says why it is, or what is to be known of a registration that is not plain.
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

    ``look`` says whether the number of seeds is one at which the register judges, ``evidence``
    whether the scale's results may be cited, ``M`` how many tails share ``alpha``. ``exploratory``
    says why claims about seeds are not judged; it is empty where they are. ``dropped`` are the
    judged rows of the revision before that no row continues.
    """

    study: str
    scale: Literal["quick", "default", "paper"]
    seeds: NonNegativeInt
    look: bool
    evidence: bool
    alpha: Probability
    M: NonNegativeInt
    exploratory: str = ""
    revision: NonNegativeInt = 1
    amendments: tuple[str, ...] = ()
    dropped: tuple[Earlier, ...] = ()
    verdicts: tuple[Verdict, ...]
