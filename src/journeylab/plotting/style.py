"""The style of all figures: sizes, colours that survive greyscale, byte-stable files."""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import starmap
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from journeylab.records.files import write_atomic

TEXT = 158 / 25.4
"""Width of a report's text block, and of every figure, in inches."""
SMALLEST = 6.5
"""The smallest size of a text that has to be read, in points."""

# Okabe and Ito, Color universal design, 2008, then tones of Paul Tol's schemes; neighbours differ
# in lightness. Black is left out: it marks lines that are no model.
_COLORS: tuple[str, ...] = ("#0072B2", "#E69F00", "#882255", "#56B4E9", "#D55E00", "#009E73")
_COLORS += ("#CC79A7", "#332288", "#999933", "#661100", "#44AA99", "#DDCC77")
_MARKERS: tuple[str, ...] = ("o", "s", "^", "D", "v", "<", ">", "p", "P", "X", "h", "d")
_DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.5), (1, 1), (5, 1, 1, 1), (8, 2), (2, 2))
_DASHES += ((6, 1, 1, 1, 1, 1), (2.5, 1), (10, 1, 3, 1), (3, 1), (1, 2, 4, 2), (12, 3))


@dataclass(frozen=True)
class Style:
    """Colour, marker and dashes of a model (or length, …) in every figure of a study."""

    color: str
    marker: str
    dashes: tuple[float, ...]

    @property
    def line(self) -> Any:
        """The dashes as matplotlib's ``linestyle``."""
        return (0, self.dashes) if self.dashes else "-"


def styles(names: Iterable[str]) -> dict[str, Style]:
    """A style per name; names differ by colour and, in greyscale, by marker and line.

    Raises ValueError for more names than there are colours.
    """
    known = list(names)
    if len(known) > len(_COLORS):
        raise ValueError(f"{len(known)} names, but {len(_COLORS)} styles: draw fewer in a figure")
    kinds = zip(_COLORS, _MARKERS, _DASHES, strict=True)
    return dict(zip(known, starmap(Style, kinds), strict=False))


@contextmanager
def styled() -> Iterator[None]:
    """The context to draw and save in; random jitter repeats."""
    with as_file(files("journeylab.plotting") / "journeylab.mplstyle") as sheet:
        parameters = mpl.rc_params_from_file(sheet, use_default_template=False)
    state = np.random.get_state()  # noqa: NPY002  source of seaborn's jitter
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(parameters)
        np.random.seed(0)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002


def save(figure: Figure, path: Path) -> None:
    """Write a vector PDF with embedded fonts, and beside it an SVG with outlines for text.

    The same figure gives the same bytes. The canvases are used directly: ``savefig`` draws twice
    where axes are laid out. Both files have the layout of the first.
    """
    pdf, svg = io.BytesIO(), io.BytesIO()
    FigureCanvasPdf(figure).print_pdf(pdf, metadata={"CreationDate": None})  # type: ignore[no-untyped-call]
    figure.set_layout_engine("none")
    with mpl.rc_context({"svg.hashsalt": "journeylab"}):
        FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    for suffix, content in ((".pdf", pdf), (".svg", svg)):
        with write_atomic(path.with_suffix(suffix)) as temporary:
            Path(temporary).write_bytes(content.getvalue())
