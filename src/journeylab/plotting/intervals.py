"""The figures of effects: seeds, median, interval and claimed region of every judged claim."""

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from journeylab.plotting.forms import label_right
from journeylab.plotting.style import TEXT
from journeylab.records.verdicts import Estimate
from journeylab.wording.rows import Row, StudyRows
from journeylab.wording.verdicts import source_letter, tag

HIGHEST = 21 / 2.54
"""Inches; a report would print a higher figure smaller."""
FAR = 5.0
"""Seeds this many widths away from the interval do not set the limits of a panel."""
_LINE, _PANEL = 0.106, 0.48
_GREY = "#808080"


class _Row(NamedTuple):
    """A name, what is drawn beside it (nothing for a claim whose parts follow), and a verdict."""

    name: str
    estimate: Estimate | None
    region: tuple[float, float]
    word: str

    @property
    def lines(self) -> float:
        return self.name.count("\n") + (1.8 if self.word else 1.4)


def effects(study: StudyRows) -> list[Figure]:
    """The primary claims about effects: seeds, median, the judge's interval, the claimed region.

    There is a panel per metric. It holds the claims whose region is a range of the effect (not
    ``solves``, not ``exact``); parts of ``all_of`` and ``any_of`` are rows as well. An unbounded
    end is an arrow, as is a seed far from its interval; ✗ counts failed seeds. Each figure fits
    a page; there is none if no claim can be drawn like this.
    """
    panels: dict[str, list[list[_Row]]] = {}
    for verdict in study.verdicts:
        if verdict.primary and (rows := _rows(verdict)):
            metric = verdict.metric_label.split(", ")[0]
            paired = "−" in (verdict.parts or (verdict,))[0].effect_text
            of = f" of {metric}" if metric else ""  # parts can have different metrics
            panels.setdefault(f"difference{of}" if paired else metric, []).append(rows)
    return [_figure(page) for page in _pages(panels)]


def _pages(panels: dict[str, list[list[_Row]]]) -> Iterator[dict[str, list[_Row]]]:
    """The rows of every panel, on pages of about the same height; a claim's rows stay together."""
    lines = sum(row.lines for claims in panels.values() for rows in claims for row in rows)
    whole = _LINE * lines + _PANEL * len(panels)
    equal = whole / max(1, math.ceil(whole / HIGHEST))
    page: dict[str, list[_Row]] = {}
    height = 0.0
    for metric, claims in panels.items():
        for rows in claims:
            size = _LINE * sum(row.lines for row in rows) + _PANEL * (metric not in page)
            if page and (height >= equal or height + size > HIGHEST):
                yield page
                page, height = {}, 0.0
                size = _LINE * sum(row.lines for row in rows) + _PANEL
            height += size
            page.setdefault(metric, []).extend(rows)
    if page:
        yield page


def _figure(panels: dict[str, list[_Row]]) -> Figure:
    heights = [sum(row.lines for row in rows) for rows in panels.values()]
    size = _LINE * sum(heights) + _PANEL * len(heights)
    figure = Figure(figsize=(TEXT, size), layout="constrained")
    axes = list(figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights).flat)
    for each, (metric, rows) in zip(axes, panels.items(), strict=True):
        _forest(each, rows)
        each.set_xlabel(metric)
    names = [name for each in axes for name in each.get_yticklabels()]
    width = max(name.get_window_extent().width for name in names) * 72 / figure.dpi
    for each in axes:
        each.tick_params(axis="y", pad=width + 4)
    for name in names:
        name.set(horizontalalignment="left", multialignment="left")
    return figure


def _rows(verdict: Row, wrap: int = 56) -> list[_Row]:
    if verdict.region is None or verdict.solves or verdict.kind == "exact":
        return []
    region = verdict.region.low, verdict.region.high
    word = "withheld" if verdict.withheld else tag(verdict.verdict)
    keep = re.compile(r"\{.*?\}|\S = \S")
    statement = keep.sub(lambda match: match[0].replace(" ", "\u00a0"), verdict.statement)
    name = f"{verdict.id.removeprefix('exp')} {source_letter(verdict)} · {statement}"
    if not verdict.parts:
        return [_Row(textwrap.fill(name, wrap), verdict, region, word)]
    how = "All\u00a0of:" if verdict.kind == "all_of" else "Any\u00a0of:"
    parts = [
        _Row(textwrap.fill(f"– {part.effect_text}", wrap), part, region, "")
        for part in verdict.parts
    ]
    return [_Row(textwrap.fill(f"{name} {how}", wrap), None, region, word), *parts]


def _forest(axes: Axes, rows: Sequence[_Row]) -> None:
    left, right = _limits(rows)
    ends = np.cumsum([row.lines for row in rows])
    positions = ends - [row.lines / 2 for row in rows]
    axes.set(xlim=(left, right), ylim=(ends[-1], 0.0))
    points = [
        (point.value, position)
        for position, row in zip(positions, rows, strict=True)
        for point in (row.estimate.points if row.estimate else ())
        if point.value is not None
    ]
    sns.stripplot(
        pd.DataFrame([p for p in points if left <= p[0] <= right], columns=["value", "position"]),
        x="value",
        y="position",
        orient="y",
        native_scale=True,
        jitter=0.18,
        size=2.3,
        color=_GREY,
        alpha=0.7,
        linewidth=0,
        ax=axes,
        zorder=2,
    )
    for edge, marker, beyond in (
        (left, "<", [position for value, position in points if value < left]),
        (right, ">", [position for value, position in points if value > right]),
    ):
        if beyond:
            axes.plot([edge] * len(beyond), beyond, marker, color=_GREY, ms=2.5, clip_on=False)
    axes.set(ylabel="", xlim=(left, right), ylim=(ends[-1], 0.0))
    axes.set_yticks(positions, [row.name for row in rows])
    axes.tick_params(axis="y", length=0, labelsize=6.2)
    axes.grid(visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    for position, row in zip(positions, rows, strict=True):
        failures = 0
        if row.estimate:
            _effect(axes, position, row, row.estimate, left, right)
            failures = row.estimate.failures
        failed = f"✗{failures}" if failures else ""
        label_right(axes, position, f"{row.word}  {failed}".strip())


def _effect(axes: Axes, y: float, row: _Row, estimate: Estimate, left: float, right: float) -> None:
    """The claimed region, and on it the interval and the median."""
    half = row.lines / 2 - 0.12
    start, end = max(row.region[0], left), min(row.region[1], right)
    axes.barh(y, end - start, 2 * half, start, color="#dbe5ee", linewidth=0, zorder=0)
    for margin in row.region:
        if left < margin < right:
            axes.plot([margin] * 2, [y - half, y + half], color="#7a8ea0", lw=0.8, zorder=1)
    low = -math.inf if estimate.low is None else estimate.low
    high = math.inf if estimate.high is None else estimate.high
    axes.plot([max(low, left), min(high, right)], [y, y], color="black", lw=1.4, zorder=3)
    for end, edge, marker in ((low, left, "<"), (high, right, ">")):
        if not math.isfinite(end):
            axes.plot(edge, y, marker=marker, color="black", ms=4, clip_on=False, zorder=3)
    if estimate.effect is not None:
        axes.plot(
            estimate.effect, y, marker="D", color="black", ms=4.5, mec="white", mew=0.5, zorder=4
        )


def _limits(rows: Sequence[_Row]) -> tuple[float, float]:
    """The ends of a panel; seeds that are far from the interval of their row do not set them."""
    numbers = [0.0]
    for _, row, region, _ in rows:
        if row is None:
            continue
        seen = [row.effect, row.low, row.high, *region, *_near(row)]
        numbers += [x for x in seen if x is not None and math.isfinite(x)]
    pad = 0.06 * (max(numbers) - min(numbers)) or 1.0
    return min(numbers) - pad, max(numbers) + pad


def _near(row: Estimate) -> list[float]:
    """The values of the seeds within `FAR` widths of the interval; all, if it has no width."""
    values = [point.value for point in row.points if point.value is not None]
    if row.low is None or row.high is None or row.low == row.high:
        return values
    reach = FAR * (row.high - row.low)
    return [value for value in values if row.low - reach <= value <= row.high + reach]
