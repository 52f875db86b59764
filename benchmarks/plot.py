"""A figure of cost against work, from the JSON files of all parts."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from journeylab.plotting import TEXT, legend_above, save, styled, styles

Rows = list[dict[str, Any]]
Line = dict[float, float]
Fill = Callable[[Axes, Rows], None]
STYLES = styles(("fast", "twin", "scan", "floor"))
COLUMNS = 3


def draw(folder: Path) -> None:
    """Draw ``cost.pdf`` with a panel for every part that has been measured."""
    panels = [panel for part in PANELS for panel in _panels(part, folder / f"{part}.json")]
    if not panels:
        return
    with styled():
        down = -(-len(panels) // COLUMNS)
        figure = Figure(figsize=(TEXT, 2.2 * down + 0.4), layout="constrained")
        axes = list(figure.subplots(down, COLUMNS, squeeze=False).flat)
        for spare in axes[len(panels) :]:
            spare.set_axis_off()
        for (fill, title, rows), panel in zip(panels, axes, strict=False):
            fill(panel, rows)
            panel.set_title(title)
            scale = "linear" if fill is _pipeline else "log"
            panel.set(xscale=scale, yscale=scale)
            ticks = sorted({row["work"] for row in rows})
            panel.xaxis.set_minor_locator(NullLocator())
            if len(ticks) > 3 or fill is _pipeline:
                panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        legend_above(figure)
        save(figure, folder / "cost.pdf")


def _panels(part: str, path: Path) -> Iterator[tuple[Fill, str, Rows]]:
    if not path.exists():
        return
    fill, title = PANELS[part]
    rows = json.loads(path.read_text(encoding="utf-8"))["results"]
    if part == "pipeline":
        rows = [row for row in rows if row["name"].startswith("dry run")]
    for model in dict.fromkeys(row.get("model") for row in rows):
        yield (
            fill,
            (model or title).partition(" d ")[0],
            [row for row in rows if row.get("model") == model],
        )


def _steps(axes: Axes, rows: Rows) -> None:
    _pair(axes, [row for row in rows if row["twin"] == "2×2"])
    axes.set(xlabel="operations of a step", ylabel="CPU time / ms")


def _scans(axes: Axes, rows: Rows) -> None:
    rows = [row for row in rows if row["twin"] == "loop"]
    _pair(axes, [row for row in rows if row["method"] == "orthogonal"])
    general = [row for row in rows if row["method"] == "scan"]
    _line(axes, "scan", "scan of any operators", _against_work(general, "fast_ms"))
    axes.set(xlabel="operators multiplied", ylabel="CPU time with gradient / ms")


def _timelines(axes: Axes, rows: Rows) -> None:
    rows = [row for row in rows if row["twin"] == "dense"]
    for count, kind in zip((2, 4, 8, 16), STYLES, strict=True):
        own = [row for row in rows if row["timelines"] == count]
        _line(axes, kind, f"{count} timelines", _against_work(own, "ratio"))
    axes.axhline(1.0, color="0.6", linewidth=0.8)
    axes.set(xlabel="tokens of a sequence", ylabel="dense over blocks")


def _ensembles(axes: Axes, rows: Rows) -> None:
    _pair(axes, rows)
    axes.set(xlabel="seeds trained at once", ylabel="CPU time per seed / ms")


def _pipeline(axes: Axes, rows: Rows) -> None:
    _line(axes, "fast", "fast form", _against_work(rows, "cpu_s"))
    axes.set(xlabel="jobs", ylabel="CPU time / s", xlim=(0, None), ylim=(0, None))


PANELS: dict[str, tuple[Fill, str]] = {
    "steps": (_steps, "training step"),
    "scans": (_scans, "prefix products"),
    "timelines": (_timelines, "attention in blocks"),
    "ensembles": (_ensembles, ""),
    "pipeline": (_pipeline, "dry run"),
}


def _pair(axes: Axes, rows: Rows) -> None:
    _line(axes, "fast", "fast form", _against_work(rows, "fast_ms"))
    _line(axes, "twin", "slow reference", _against_work(rows, "slow_ms"))
    _line(axes, "floor", "floor", _against_work(rows, "floor_ms"))


def _against_work(rows: Iterable[dict[str, Any]], key: str) -> Line:
    """Return the mean of the key for every amount of work."""
    grouped: dict[float, list[float]] = defaultdict(list)
    for row in rows:
        grouped[row["work"]].append(row[key])
    return {work: sum(values) / len(values) for work, values in sorted(grouped.items())}


def _line(axes: Axes, kind: str, label: str, line: Line) -> None:
    style = STYLES[kind]
    drawn = {"color": style.color, "marker": style.marker, "linestyle": style.line}
    axes.plot(list(line), list(line.values()), label=label, markersize=4, **drawn)
