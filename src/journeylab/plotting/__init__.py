"""The figure style and the few plot forms that studies share."""

from journeylab.plotting.forms import (
    curves_with_band,
    forest,
    median_interval,
    points_with_interval,
    reference_line,
)
from journeylab.plotting.results import RunName, StudyResults, Table
from journeylab.plotting.style import COLUMN, TEXT, Look, canvas, legend_above, looks, save, styled

__all__ = [
    "COLUMN",
    "TEXT",
    "Look",
    "RunName",
    "StudyResults",
    "Table",
    "canvas",
    "curves_with_band",
    "forest",
    "legend_above",
    "looks",
    "median_interval",
    "points_with_interval",
    "reference_line",
    "save",
    "styled",
]
