"""The region that must contain a claim's effect."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import GetJsonSchemaHandler, model_serializer, model_validator
from pydantic_core import CoreSchema

from journeylab.config import Frozen

WRITTEN = (
    "{above: number}, {below: number}, {inside: [low, high]}, {solves: {at_least: number}}, "
    "{at_most: number}, {at_least: number}"
)
Kind = Literal["above", "below", "inside", "solves", "at_most", "at_least"]
_HALF_LINES: dict[Kind, tuple[str, bool]] = {
    "above": ("low", False),
    "below": ("high", False),
    "at_most": ("high", True),
    "at_least": ("low", True),
}
"""Which end each kind has, and whether the end belongs to the region."""


class Region(Frozen):
    """The values between ``low`` and ``high``; a ``closed`` region contains its finite ends.

    ``of`` says what must lie in it: the ``effect`` of the claim, or the value of more than half of
    all ``seeds``. In YAML and JSON a region is written as one of :data:`WRITTEN`.
    """

    low: float = -math.inf
    high: float = math.inf
    closed: bool = False
    of: Literal["effect", "seeds"] = "effect"

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, written: object) -> object:
        if isinstance(written, Region):
            return written
        if not isinstance(written, Mapping) or len(written) != 1:
            raise ValueError(f"write one of: {WRITTEN}")
        match written:
            case {"solves": {"above": _} | {"at_least": _} as threshold}:
                return {**_half_line(threshold), "of": "seeds"}
            case {"inside": [low, high]}:
                low, high = _number("inside", low), _number("inside", high)
                if not low < high:
                    raise ValueError(f"inside {[low, high]}: the first end must be the smaller one")
                return {"low": low, "high": high}
        return _half_line(written)

    @property
    def kind(self) -> Kind:
        """The key with which the region is written."""
        if self.of == "seeds":
            return "solves"
        return "inside" if self.is_band else self._half_line

    @property
    def _half_line(self) -> Kind:
        end = "low" if self.high == math.inf else "high"
        return next(kind for kind, known in _HALF_LINES.items() if known == (end, self.closed))

    @model_serializer
    def written(self) -> dict[str, Any]:
        """The region as YAML and JSON hold it."""
        if self.is_band:
            return {"inside": (self.low, self.high)}
        [end] = self.ends
        half_line: dict[str, Any] = {self._half_line: end}
        return {"solves": half_line} if self.of == "seeds" else half_line

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _core: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        number = {"type": "number"}
        half_lines = {name: _object(name, number) for name in _HALF_LINES}
        threshold = {"oneOf": [half_lines["above"], half_lines["at_least"]]}
        band = {"type": "array", "items": number, "minItems": 2, "maxItems": 2}
        kinds = [*half_lines.values(), _object("inside", band), _object("solves", threshold)]
        return {"description": (cls.__doc__ or "").partition("\n")[0], "oneOf": kinds}

    @property
    def ends(self) -> tuple[float, ...]:
        """The finite ends, which are the margins of the claim."""
        return tuple(end for end in (self.low, self.high) if math.isfinite(end))

    @property
    def is_band(self) -> bool:
        """Whether both ends are finite."""
        return len(self.ends) == 2

    @property
    def bounds(self) -> tuple[float, float]:
        """The open interval that the estimate's interval must lie in; (½, ∞) for most seeds."""
        return (0.5, math.inf) if self.of == "seeds" else (self.low, self.high)

    @property
    def between(self) -> list[float]:
        """A value in each of the intervals that the finite ends separate."""
        low, high = min(self.ends), max(self.ends)
        middle = [(low + high) / 2] if self.is_band else []
        return [low - 1.0 - abs(low), *middle, high + 1 + abs(high)]

    def contains(self, values: Any) -> Any:
        """Whether a number, or each number of an array, lies in the region."""
        if self.closed:
            return (values >= self.low) & (values <= self.high)
        return (values > self.low) & (values < self.high)

    def can_meet(self, least: float, largest: float) -> bool:
        """Whether a value from ``least`` to ``largest`` can lie inside."""
        if self.closed:
            return largest >= self.low and least <= self.high
        return largest > self.low and least < self.high

    def can_leave(self, least: float, largest: float) -> bool:
        """Whether a value from ``least`` to ``largest`` can lie outside.

        An effect at an end decides nothing; a seed at the end of an open region lies outside.
        """
        at_end = self.of == "seeds" and not self.closed and least == self.low
        return least < self.low or largest > self.high or at_end


EVERYWHERE = Region.model_construct()
"""All numbers."""


def _half_line(written: Mapping[str, Any]) -> dict[str, Any]:
    for name, (end, closed) in _HALF_LINES.items():
        if name in written:
            return {end: _number(name, written[name]), "closed": closed}
    raise ValueError(f"write one of: {WRITTEN}")


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} {value!r}: write a number")
    return float(value)


def _object(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: schema},
        "required": [name],
        "additionalProperties": False,
    }
