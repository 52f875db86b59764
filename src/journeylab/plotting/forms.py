"""The plot forms: seeds behind every median, distribution-free intervals, labelled references."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from journeylab.plotting.style import Look
from journeylab.records.verdicts import Estimate, StudyVerdicts, Verdict

_WORD = {"supported": "✓ supported", "refuted": "✗ refuted", "inconclusive": "∼ inconclusive"}


def median_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Order-statistics interval of the population median: [x₍k₎, x₍n+1−k₎].

    k is the largest integer with P(Bin(n, ½) ≤ k − 1) ≤ (1 − level)/2; without one, or next to
    missing values (NaN, which could lie anywhere), a side is infinite.
    """
    x: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    k = next((k for k in range(len(x)) if binom.cdf(k, len(x), 0.5) > (1 - level) / 2), 0)
    if k == 0:
        return -math.inf, math.inf
    low = np.sort(np.where(np.isnan(x), -np.inf, x))[k - 1]
    high = np.sort(np.where(np.isnan(x), np.inf, x))[len(x) - k]
    return float(low), float(high)


def points_with_interval(
    axes: Axes,
    position: float,
    values: ArrayLike,
    look: Look,
    *,
    label: str | None = None,
    width: float = 0.5,
    failures: int = 0,
) -> None:
    """Every seed as a point at x = ``position``, their median as a bar, its interval as a line.

    Failed seeds have no value; their number is written at the foot of the axes, and the interval
    counts them as lying anywhere.
    """
    seen: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    missing = failures + int(np.isnan(seen).sum())
    seen = seen[~np.isnan(seen)]
    if len(seen):
        across = position + width * (np.arange(len(seen)) % 5 - 2) / 10
        axes.scatter(
            across,
            seen,
            s=9,
            marker=look.marker,
            color=look.color,
            alpha=0.55,
            linewidth=0,
            label=label,
            zorder=3,
        )
        half = [position - width / 2, position + width / 2]
        axes.plot(half, [np.median(seen)] * 2, color=look.color, linewidth=1.8, zorder=4)
        low, high = median_interval(np.append(seen, [np.nan] * missing))
        ends = [max(low, float(seen.min())), min(high, float(seen.max()))]
        if math.isfinite(low) or math.isfinite(high):
            axes.plot([position] * 2, ends, color=look.color, linewidth=1.0, zorder=3)
            for bound, end, arrow in zip((low, high), ends, ("v", "^"), strict=True):
                if missing and math.isinf(bound):
                    axes.scatter([position], [end], s=14, marker=arrow, color=look.color, zorder=4)
    if missing:
        axes.annotate(
            f"✗{missing}",
            (position, 0.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=6,
        )


def reference_line(
    axes: Axes,
    value: float,
    label: str,
    *,
    span: tuple[float, float] | None = None,
    above: bool = True,
) -> None:
    """A dashed horizontal line with its name: a ceiling, a floor, chance, a margin.

    ``span`` limits it to an interval of x; without it the line crosses the axes.
    """
    style: dict[str, Any] = {
        "color": "#555555",
        "linewidth": 0.8,
        "linestyle": (0, (4, 2)),
        "zorder": 2,
    }
    if span is None:
        axes.axhline(value, **style)
        anchor, coordinates = (1.0, value), ("axes fraction", "data")
    else:
        axes.plot(span, [value, value], **style)
        anchor, coordinates = (span[1], value), ("data", "data")
    axes.annotate(
        label,
        anchor,
        xycoords=coordinates,
        xytext=(0, 1.5 if above else -1.5),
        textcoords="offset points",
        ha="right",
        va="bottom" if above else "top",
        fontsize=6,
        color="#555555",
    )


def curves_with_band(
    axes: Axes, curves: pd.DataFrame, look: Look, *, label: str | None = None
) -> None:
    """Curves over ``step``: each ``seed`` thin, the median thick, its 95 % interval as a band."""
    wide = curves.pivot_table(index="step", columns="seed", values="value").sort_index()
    steps = wide.index.to_numpy()
    axes.plot(steps, wide.to_numpy(), color=look.color, linewidth=0.4, alpha=0.35, zorder=2)
    median = wide.median(axis="columns").to_numpy()
    axes.plot(steps, median, color=look.color, linestyle=look.line, label=label, zorder=4)
    bounds = np.array([median_interval(row) for row in wide.to_numpy()])
    known = np.isfinite(bounds).all(axis=1)
    if known.any():
        low, high = np.where(known[:, None], bounds, np.nan).T
        axes.fill_between(steps, low, high, color=look.color, alpha=0.15, linewidth=0, zorder=1)


def forest(
    axes: Axes, study: StudyVerdicts, claims: Sequence[str] | None = None, *, wrap: int = 46
) -> None:
    """Claimed effects, one row each: seeds, effect, interval, the claimed region shaded, the word.

    ``claims`` chooses ids; without it, every primary claim whose region lies on the line of the
    effect (not ``solves``, not ``exact``). Parts of ``all_of`` and ``any_of`` are rows as well.
    An end at infinity is drawn as an arrow; failed seeds are counted as ✗.
    Raises ValueError if no row is left.
    """
    chosen = [v for v in study.verdicts if (v.primary if claims is None else v.id in claims)]
    rows = [row for verdict in chosen for row in _rows(verdict, wrap)]
    if not rows:
        raise ValueError(f"no claim of {study.study} can be drawn as an effect")
    left, right = _limits(rows)
    axes.set(xlim=(left, right), ylim=(len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.tick_params(axis="y", length=0, labelsize=6.5)
    axes.grid(False)
    for y, row in enumerate(rows):
        start, end = max(row.region[0], left), min(row.region[1], right)
        axes.barh(y, end - start, 0.84, start, color="#dbe5ee", linewidth=0, zorder=0)
        for margin in row.region:
            if left < margin < right:
                axes.plot([margin] * 2, [y - 0.42, y + 0.42], color="#7a8ea0", lw=0.8, zorder=1)
        _effect(axes, y, row.estimate, left, right)
        failed = f"✗{row.estimate.failures}" if row.estimate.failures else ""
        axes.annotate(
            f"{row.word}  {failed}".strip(),
            (1.0, y),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=6.5,
        )


class _Row(NamedTuple):
    name: str
    estimate: Estimate
    region: tuple[float, float]
    word: str


def _rows(verdict: Verdict, wrap: int) -> list[_Row]:
    region = _region(verdict)
    if region is None:
        return []
    word = _WORD.get(verdict.verdict or "", verdict.verdict or "")
    source = "D" if verdict.source == "document" else "C"
    claim = f"{verdict.id.removeprefix('exp')} {source} · {verdict.statement}"
    name = textwrap.fill(claim, wrap)
    if not verdict.parts:
        return [_Row(name, verdict, region, word)]
    how = "all of:" if verdict.kind == "all_of" else "any of:"
    parts = [_Row(part.effect_text, part, region, "") for part in verdict.parts]
    first = parts[0]._replace(name=f"{name}\n{how}  {parts[0].name}", word=word)
    return [first, *parts[1:]]


def _effect(axes: Axes, y: int, row: Estimate, left: float, right: float) -> None:
    seeds = [p.value for p in row.points if p.value is not None]
    spread = y + (np.arange(len(seeds)) % 5 - 2) * 0.09
    axes.scatter(seeds, spread, s=6, color="#8a8a8a", linewidth=0, zorder=2)
    low = -math.inf if row.low is None else row.low
    high = math.inf if row.high is None else row.high
    axes.plot([max(low, left), min(high, right)], [y, y], color="black", lw=1.4, zorder=3)
    for end, edge, marker in ((low, left, "<"), (high, right, ">")):
        if not math.isfinite(end):
            axes.plot(edge, y, marker=marker, color="black", ms=4, clip_on=False, zorder=3)
    if row.effect is not None:
        axes.plot(row.effect, y, marker="D", color="black", ms=4.5, mec="white", mew=0.5, zorder=4)


def _limits(rows: Sequence[_Row]) -> tuple[float, float]:
    numbers = [0.0]
    for _, row, region, _ in rows:
        seen = [row.effect, row.low, row.high, *(p.value for p in row.points), *region]
        numbers += [x for x in seen if x is not None and math.isfinite(x)]
    pad = 0.06 * (max(numbers) - min(numbers)) or 1.0
    return min(numbers) - pad, max(numbers) + pad


def _region(verdict: Verdict) -> tuple[float, float] | None:
    match verdict.region:
        case {"above": float(low)}:
            return low, math.inf
        case {"below": float(high)}:
            return -math.inf, high
        case {"inside": (float(low), float(high))}:
            return low, high
    return None
