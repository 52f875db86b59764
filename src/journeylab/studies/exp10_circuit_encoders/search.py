"""The search for learning rates and initial spreads, as ``tools/search_exp10.py`` makes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, cast

from journeylab.studies.exp10_circuit_encoders.settings import Variant


class SearchPoint(NamedTuple):
    """A peak learning rate and the standard deviation of the initial rows of all tables."""

    rate: float
    spread: float


PILOT = 1000
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
SPREADS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
CENTRE = SearchPoint(0.003, 0.3)
TIE = 0.005
"""A difference of accuracy that is too small to leave the centre of the grid."""


def choose(accuracies: Mapping[SearchPoint, float]) -> SearchPoint:
    """The point with the highest accuracy, or the centre if it is within ``TIE`` of it."""
    best = max(accuracies, key=accuracies.__getitem__)
    return CENTRE if accuracies[best] - accuracies[CENTRE] <= TIE else best


class EncoderSearch(NamedTuple):
    """A run, its accuracies by point, and that after twice the steps at the chosen point."""

    arm: str
    variant: Variant
    accuracies: Mapping[SearchPoint, float]
    twice: float

    @property
    def chosen(self) -> SearchPoint:
        """The point in config.yaml."""
        return choose(self.accuracies)


_MEASURED = """\
degree/sum: 0.0003 0.3 0.4087; 0.001 0.3 0.4296; 0.003 0.3 0.4291; 0.01 0.3 0.4281; 0.001 0.1 0.4271; 0.001 1 0.4278 | 0.4311
degree/one-hot: 0.001 0.3 0.4323; 0.003 0.3 0.4325; 0.01 0.3 0.4293; 0.003 0.1 0.4288; 0.003 1 0.4273 | 0.4343
degree/sum-wiring: 0.003 0.3 0.9422; 0.01 0.3 0.9501; 0.03 0.3 0.6972; 0.01 0.03 0.9449; 0.01 0.1 0.9559; 0.01 1 0.9489 | 0.9745
degree/one-hot-wiring: 0.003 0.3 0.9469; 0.01 0.3 0.9593; 0.03 0.3 0.7287; 0.01 0.1 0.9586; 0.01 1 0.9668; 0.01 3 0.9531 | 0.9787
degree/wiring-no-position: 0.003 0.3 0.9467; 0.01 0.3 0.9554; 0.03 0.3 0.8996; 0.01 0.1 0.9546; 0.01 1 0.9596; 0.01 3 0.9516 | 0.9774
degree/wiring-no-value: 0.003 0.3 0.9541; 0.01 0.3 0.9742; 0.03 0.3 0.7882; 0.01 0.1 0.9611; 0.01 1 0.9678 | 0.9826
digits/sum: 0.001 0.3 0.5161; 0.003 0.3 0.5213; 0.01 0.3 0.5184; 0.003 0.1 0.5166; 0.003 1 0.5166 | 0.5213
digits/one-hot: 0.003 0.3 0.5164; 0.01 0.3 0.5208; 0.03 0.3 0.5097; 0.01 0.1 0.5171; 0.01 1 0.5166 | 0.5161
digits/sum-wiring: 0.003 0.3 0.8782; 0.01 0.3 0.8874; 0.03 0.3 0.7450; 0.01 0.1 0.8641; 0.01 1 0.8735 | 0.8862
digits/one-hot-wiring: 0.001 0.3 0.8547; 0.003 0.3 0.8911; 0.01 0.3 0.8777; 0.003 0.1 0.8827; 0.003 1 0.8743 | 0.8991
"""  # noqa: E501


def _read(line: str) -> EncoderSearch:
    run, tried, twice = re.split(r": | \| ", line)
    arm, _, variant = run.partition("/")
    points = (map(float, point.split()) for point in tried.split("; "))
    accuracies = {SearchPoint(rate, spread): value for rate, spread, value in points}
    return EncoderSearch(arm, cast(Variant, variant), accuracies, float(twice))


TRIALS: tuple[EncoderSearch, ...] = tuple(map(_read, _MEASURED.splitlines()))
