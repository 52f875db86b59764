"""The search for rates and initial scales, as ``tools/search_exp8.py`` makes it."""

from __future__ import annotations

from typing import NamedTuple

PILOT = 1000
"""The seed of the search."""
RATES = (0.001, 0.003, 0.01)
SCALES = (0.3, 1.0, 3.0)
STEPS = {"axial": 150, "full": 400}
"""Attention → steps of a run of the search."""
