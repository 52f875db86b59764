"""One look for all figures: sizes, colours that survive greyscale, files that are byte-stable."""

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from journeylab.records.files import write_atomic

COLUMN = 3.4
"""Width of a column in inches."""
TEXT = 7.0
"""Width of the text in inches."""

# Okabe and Ito, Color universal design, 2008; the order alternates in lightness.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))


@dataclass(frozen=True)
class Look:
    """How one variant looks in every figure of a study."""

    color: str
    marker: str
    line: Any


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look per name, distinct by colour and, in greyscale, by marker and line."""
    return {
        name: Look(*(kinds[i % len(kinds)] for kinds in (_COLORS, _MARKERS, _LINES)))
        for i, name in enumerate(names)
    }


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save inside this context."""
    with as_file(files("journeylab.plotting") / "journeylab.mplstyle") as sheet:
        parameters = mpl.rc_params_from_file(sheet, use_default_template=False)
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(parameters)
        yield


def canvas(
    rows: int = 1, columns: int = 1, *, width: float = TEXT, height: float = 2.4, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of ``width`` × ``height`` inches and its axes, row by row; no global state."""
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(np.asarray(grid).flat)


def legend_above(figure: Figure, axes: Sequence[Axes], columns: int = 6) -> None:
    """One legend for all axes, above them; each label once."""
    entries = {
        label: handle
        for each in axes
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside upper left",
        ncols=columns,
        markerscale=1.6,
    )


def save(figure: Figure, path: Path) -> None:
    """Write a vector PDF with embedded fonts; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="pdf", metadata={"CreationDate": None})
    with write_atomic(path) as temporary:
        Path(temporary).write_bytes(buffer.getvalue())
