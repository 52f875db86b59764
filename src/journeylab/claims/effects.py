"""The effect of a claim: a number per seed.

A :class:`Measure` names what is read from a run, a :class:`Cell` reads it from one run; an effect
is built from cells, differences and constants.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    PositiveFloat,
    StringConstraints,
    Tag,
    model_validator,
)

from journeylab.claims.expressions import parse_term
from journeylab.config import Frozen, Name

Level = str | int | None
"""A factor level; null where the factor does not apply."""
RunId = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9{][A-Za-z0-9_.{}-]*(/[A-Za-z0-9{][A-Za-z0-9_.{}-]*)?$"),
]
"""``arm/variant``; a name alone, as tables of other tools have it, is its own arm and variant."""
Text = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\n]+$")]


def _keyed(names: str, choices: str) -> Discriminator:
    """Choose a union's member by the keys that are written, so that an error lists the choices.

    A cell has two keys, any other member is named after its only key.
    """

    def tag(value: object) -> str | None:
        keys = set(value) if isinstance(value, Mapping) else set()
        if isinstance(value, BaseModel):
            keys = set(type(value).model_fields)
        name = "cell" if keys == {"run", "measure"} else "".join(map(str, keys))
        if isinstance(value, int | float) and not isinstance(value, bool):
            name = "number"
        return f"({name})" if name in names.split() else None

    return Discriminator(
        tag, custom_error_type="shape", custom_error_message=f"write one of: {choices}"
    )


def _share(step: object) -> object:
    """``1/n`` as a number, rounded to four decimals, or two digits if these are more."""
    if isinstance(step, str) and (count := re.fullmatch(r"1/([1-9]\d*)", step)):
        n = int(count[1])
        return round(1 / n, max(4, math.ceil(math.log10(n)) + 1))
    return step


Step = Annotated[PositiveFloat, BeforeValidator(_share, json_schema_input_type=str | float)]
"""The least difference of two values of a measure; in YAML also a share, 1/44."""


class Quantity(Frozen):
    """What is read from a run: a metric at one level of each of its factors.

    ``range`` holds its least and largest possible value, ``step`` the least difference of two
    values, where it has steps (hits@1 over 44 facts: 1/44).
    """

    metric: Text
    at: Mapping[Name, Level] = {}
    range: tuple[float, float] | None = None
    step: Step | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.range and not self.range[0] < self.range[1]:
            raise ValueError(f"range {list(self.range)}: the first end must be the smaller one")
        return self


class Measure(Quantity):
    """A quantity with its printed name."""

    label: Text


class Cell(Frozen):
    """One number per seed: a measure of the run ``arm/variant``."""

    run: RunId
    measure: Text

    @property
    def arm(self) -> str:
        """The arm of the run."""
        return self.run.split("/")[0]

    @property
    def variant(self) -> str:
        """The variant of the run."""
        return self.run.split("/")[-1]


class Difference(Frozen):
    """First minus second, seed by seed."""

    difference: tuple["Term", "Term"]

    @model_validator(mode="after")
    def _can_differ(self) -> Self:
        first, second = self.difference
        if first == second:
            raise ValueError("difference: both terms are the same; write two that can differ")
        if not any(cells(self.difference)):
            raise ValueError(
                "difference: both terms are numbers only; write e.g. arm/variant@measure - 0.5"
            )
        return self


class Mean(Frozen):
    """The mean of several terms, seed by seed; a seed without one of them has none."""

    mean: Annotated[tuple["Term", ...], Field(min_length=2)]

    @model_validator(mode="after")
    def _varies(self) -> Self:
        if not any(cells(self.mean)):
            raise ValueError(
                "mean: all terms are numbers; write e.g. mean(arm/a@measure, arm/b@measure)"
            )
        return self


Term = Annotated[
    Annotated[Cell, Tag("(cell)")]
    | Annotated[Difference, Tag("(difference)")]
    | Annotated[Mean, Tag("(mean)")]
    | Annotated[float, Tag("(number)")],
    _keyed(
        "cell difference mean number",
        "arm/variant@measure, term - term, mean(term, …), a number",
    ),
    BeforeValidator(parse_term, json_schema_input_type=str | float),
]
"""A number per seed: a cell, a difference or a mean of terms, or a constant."""


class AllOf(Frozen):
    """Every part lies in the region."""

    all_of: Annotated[tuple[Term, ...], Field(min_length=2)]


class AnyOf(Frozen):
    """At least one part lies in the region."""

    any_of: Annotated[tuple[Term, ...], Field(min_length=2)]


class Cases(Frozen):
    """All values of a metric in an arm, at any seed and draw, unless restricted."""

    label: Text
    metric: Text
    arm: Name
    variant: Name | None = None
    at: Mapping[Name, Level | tuple[Level, ...]] = {}


class Every(Frozen):
    """The extreme value over rows, for exact claims."""

    every: Cases


Effect = Annotated[
    Annotated[Cell, Tag("(cell)")]
    | Annotated[Difference, Tag("(difference)")]
    | Annotated[Mean, Tag("(mean)")]
    | Annotated[AllOf, Tag("(all_of)")]
    | Annotated[AnyOf, Tag("(any_of)")]
    | Annotated[Every, Tag("(every)")],
    _keyed(
        "cell difference mean all_of any_of every",
        "arm/variant@measure, term - term, mean(term, …), {all_of: [term, …]}, "
        "{any_of: [term, …]}, {every: {arm: …, metric: …, at: …}}",
    ),
    BeforeValidator(parse_term, json_schema_input_type=str | AllOf | AnyOf | Every),
]


def divided_cells(term: Term, divisor: int = 1) -> Iterator[tuple[Cell, int]]:
    """The cells in a term, from left to right, with what divides them: -2 in ``1 - mean(a, b)``."""
    if isinstance(term, Cell):
        yield term, divisor
    elif isinstance(term, Difference):
        yield from divided_cells(term.difference[0], divisor)
        yield from divided_cells(term.difference[1], -divisor)
    elif isinstance(term, Mean):
        for part in term.mean:
            yield from divided_cells(part, divisor * len(term.mean))


def cells(terms: Iterable[Term]) -> Iterator[Cell]:
    """All cells in the terms, from left to right."""
    return (cell for term in terms for cell, _ in divided_cells(term))


def steps(term: Term, measures: Mapping[str, Quantity]) -> Iterator[float]:
    """The steps of the measures in a term; those in a mean of k terms are k times finer."""
    for cell, divisor in divided_cells(term):
        if step := measures[cell.measure].step:
            yield step / abs(divisor)


def extent(term: Term, measures: Mapping[str, Quantity]) -> tuple[float, float]:
    """The smallest and the largest value that a term can take."""
    if isinstance(term, Cell):
        return measures[term.measure].range or (-math.inf, math.inf)
    if isinstance(term, Difference):
        (low, high), (least, largest) = (extent(part, measures) for part in term.difference)
        return low - largest, high - least
    if isinstance(term, Mean):
        lows, highs = zip(*(extent(part, measures) for part in term.mean), strict=True)
        return sum(lows) / len(lows), sum(highs) / len(highs)
    return term, term
