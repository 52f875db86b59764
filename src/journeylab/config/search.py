"""The section ``search`` of a study: settings that are chosen on pilot seeds, before any seed that
is judged."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    field_serializer,
    field_validator,
    model_validator,
)

from journeylab.config.fields import MOST, AsNumber, Frozen, Name, distinct

DIGITS = 2
"""Significant digits of a value that the grid grows by."""
Setting = Annotated[
    str,
    StringConstraints(
        pattern=r"^(model|training)\.[a-z_]+(\.[a-z_]+)*( \* (model|training)\.[a-z_]+)?$"
    ),
]
"""``training.learning_rate``; or ``a * b``: b is what is searched, divided by a."""
_Value = Annotated[float, Field(gt=0.0, le=MOST), AsNumber]
Values = Annotated[tuple[_Value, ...], Field(min_length=2), AfterValidator(distinct)]
MetricName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.@/-]*$", max_length=100)]
_Levels = Mapping[Name, str | Annotated[int, Field(ge=-MOST, le=MOST)] | None]
Index = tuple[int, ...]
"""A point of the grid: the place of each setting's value; beyond the ends where the grid grew."""


class Trial(NamedTuple):
    """A point, and the steps as a multiple of those of the study."""

    point: Index
    budget: float = 1.0


class Measured(Frozen):
    """A quantity that is measured after training, as the claims read it: `metric` at levels `at`.

    Each is the same for all arms, or written by arm.
    """

    metric: MetricName | dict[Name, MetricName]
    at: _Levels | Mapping[Name, _Levels] = Field(default_factory=dict)

    def of(self, arm: str) -> tuple[str, dict[str, str | int | None]]:
        """The metric of an arm, and its levels. Raises ValueError if the arm is not written."""
        metric = {arm: self.metric} if isinstance(self.metric, str) else self.metric
        nested = any(isinstance(levels, Mapping) for levels in self.at.values())
        by_arm: dict[str, Any] = {"metric": metric, "at": self.at if nested else {arm: self.at}}
        for key, written in by_arm.items():
            if arm not in written:
                raise ValueError(f"{key}: {dict(written)}: write one for {arm}")
        return by_arm["metric"][arm], dict(by_arm["at"][arm])

    @property
    def metrics(self) -> list[str]:
        """The metrics, each once."""
        return list(
            dict.fromkeys([self.metric] if isinstance(self.metric, str) else self.metric.values())
        )


class Gate(Measured):
    """What a point must reach to count, as a mean over the pilot seeds."""

    at_least: Annotated[float, Field(ge=-MOST, le=MOST), AsNumber]

    def passed(self, mean: float | None) -> bool:
        """Whether a mean reaches the gate, up to single precision; a failed trial has no mean."""
        return mean is not None and (
            mean >= self.at_least or math.isclose(mean, self.at_least, rel_tol=1e-6)
        )


class Search(Measured):
    """What is tried, and what decides.

    Every run of `arms`, each an arm or ``arm/variant``, first tries all points of `grid`. A run
    whose choice has a neighbour that was not tried tries it as well, in up to `rounds` rounds. The
    choice has the `best` mean over the pilot seeds of `metric` at the levels `at`. Of values within
    `tie` of the best, the point nearest to the middle of the grid counts, on a logarithmic scale,
    then the one with the smaller values. Only points that reach the `gate` count; if no point of a
    run does, the choice is the one nearest to it. With `budgets`, each choice is also tried with
    these multiples of the steps; else `curve`, a metric along training, says at which step it was
    best.
    """

    arms: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=r"^[\w.-]+(/[\w.-]+)?$")], ...],
        Field(min_length=1),
        AfterValidator(distinct),
    ]
    grid: Annotated[dict[Setting, Values], Field(min_length=1, max_length=3)]
    gate: Gate | None = Field(default=None, exclude_if=lambda gate: gate is None)
    best: Literal["highest", "lowest"]
    tie: Annotated[float, Field(ge=0.0)]
    seeds: Annotated[int, Field(ge=1, le=24)] = 2
    seeds_from: Annotated[int, Field(ge=1000, le=10**6)] = 1000
    rounds: Annotated[int, Field(ge=1, le=6)] = 3
    curve: MetricName | None = None
    budgets: tuple[_Value, ...] = ()

    @model_validator(mode="after")
    def _is_decidable(self) -> Self:
        for setting, values in self.grid.items():
            if list(values) != sorted(values):
                raise ValueError(f"grid: {setting}: write the values from small to large")
        if self.curve == "loss" or (self.curve is None and not self.budgets):
            raise ValueError(
                "curve: write a metric that the curves hold on data that is not trained on, not "
                "the training loss; or budgets, as in [0.5, 2]"
            )
        return self

    @field_validator("grid", mode="before")
    @classmethod
    def _as_mapping(cls, written: Any) -> Any:
        try:
            return dict(written)
        except (TypeError, ValueError):  # no pairs either
            return written

    @field_serializer("grid")
    def _in_order(self, grid: dict[str, tuple[float, ...]]) -> list[tuple[str, tuple[float, ...]]]:
        """As pairs: points are indices in this order, and plans sort the keys of mappings."""
        return list(grid.items())

    @property
    def last(self) -> int:
        """The number of the last round that may be needed."""
        return self.rounds + bool(self.budgets)

    @property
    def pilots(self) -> range:
        """The pilot seeds of every trial."""
        return range(self.seeds_from, self.seeds_from + self.seeds)

    @property
    def measured(self) -> dict[str, Measured]:
        """What is read of every trial, by its place below the section: the root and ``.gate``."""
        return {"": self} | ({".gate": self.gate} if self.gate else {})

    def reachable(self, number: int) -> Iterator[Trial]:
        """Every trial that a run can have in the first `number` rounds; every run has the first.

        A round goes one step beyond the points before, the last one no further. The budgets of a
        choice are tried in the round after it stands.
        """
        reach, settled = (min(each, self.rounds) - 1 for each in (number, number - 1))
        sides = (range(-reach, len(values) + reach) for values in self.grid.values())
        for index in product(*sides):
            beyond = self._beyond(index)
            if beyond <= reach:
                yield Trial(index)
            if beyond <= settled:
                yield from (Trial(index, budget) for budget in self.budgets)

    def _beyond(self, index: Index) -> int:
        """The number of steps from the nearest point of the start."""
        sizes = map(len, self.grid.values())
        return sum(max(-i, i - n + 1, 0) for i, n in zip(index, sizes, strict=True))

    def values(self, index: Index) -> dict[str, float]:
        """The values at a point, by setting."""
        return {
            setting: value_at(values, i)
            for (setting, values), i in zip(self.grid.items(), index, strict=True)
        }

    def name(self, trial: Trial) -> str:
        """The folder of a trial: ``learning_rate-0.01_spread-0.3``."""
        parts = [
            f"{setting.replace(' * ', '.').rpartition('.')[2]}-{value:g}".replace("+", "")
            for setting, value in self.values(trial.point).items()
        ]
        budget = [f"steps-x{trial.budget:g}"] if trial.budget != 1.0 else []
        return "_".join((*parts, *budget))

    def choose(
        self, values: Mapping[Index, float | None], gates: Mapping[Index, float | None] = {}
    ) -> tuple[Index, list[Index]]:
        """The choice among points with these values, and its neighbours that were not tried.

        None, of a failed trial, is worse than any value. If the search has a gate, `gates` are its
        values.
        """
        counting, sign, tie = values, -1.0 if self.best == "highest" else 1.0, self.tie
        if self.gate is not None:
            reached = {i: x for i, x in values.items() if self.gate.passed(gates[i])}
            if reached:
                counting = reached
            else:
                counting, sign, tie = gates, -1.0, 0.0
        cost = {i: math.inf if x is None else sign * x for i, x in counting.items()}
        least = min(cost.values())
        equal = [index for index, x in cost.items() if x <= least + tie]
        chosen = min(equal, key=lambda index: (self._from_middle(index), index))
        return chosen, [near for near in _neighbours(chosen) if near not in values]

    def _from_middle(self, index: Index) -> float:
        """The squared distance from the middle of the grid, in steps of a power of ten."""
        away = (
            math.log10(value_at(values, i)) - (math.log10(values[0]) + math.log10(values[-1])) / 2
            for values, i in zip(self.grid.values(), index, strict=True)
        )
        return round(sum(x * x for x in away), 9)


def value_at(values: Sequence[float], i: int) -> float:
    """The value at a place; beyond an end, the ratio of the two outermost values goes on."""
    if 0 <= i < len(values):
        return values[i]
    end, near, steps = (0, 1, -i) if i < 0 else (-1, -2, i - len(values) + 1)
    value = values[end] * (values[end] / values[near]) ** steps
    return float(f"{value:.{DIGITS}g}")


def _neighbours(index: Index) -> Iterator[Index]:
    for place, i in enumerate(index):
        for step in (-1, 1):
            yield (*index[:place], i + step, *index[place + 1 :])


def read_setting(settings: Mapping[str, Any], setting: str) -> float:
    """The value of a searched setting. Raises KeyError if there is no such number."""
    value = 1.0
    for part in setting.split(" * "):
        section: Any = settings
        for name in part.split("."):
            section = section[name]
        if isinstance(section, bool) or not isinstance(section, int | float):
            raise KeyError(part)
        value *= section
    return value


def same_values(some: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Whether others have all values of some, up to rounding."""
    return all(math.isclose(others.get(name, math.nan), value) for name, value in some.items())


def with_values(settings: Mapping[str, Any], values: Mapping[str, float]) -> dict[str, Any]:
    """Settings of a run with the values of a point."""
    changed = dict(settings)
    for setting, value in values.items():
        first, _, second = setting.partition(" * ")
        own = value / read_setting(changed, first) if second else value
        changed = _replaced(changed, (second or first).split("."), own)
    return changed


def without_values(settings: Mapping[str, Any], searched: Iterable[str]) -> dict[str, Any]:
    """Settings of a run without those that are searched."""
    changed = dict(settings)
    for setting in searched:
        changed = _replaced(changed, setting.rpartition(" * ")[2].split("."), None)
    return changed


def _replaced(settings: Mapping[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
    name, *rest = path
    return {**settings, name: _replaced(settings[name], rest, value) if rest else value}
