"""Copies of the reports for readers who run nothing: the PDF, its pages and figures as pictures."""

import shutil
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from journeylab.config import UserError
from journeylab.records.files import write_atomic

if TYPE_CHECKING:
    from PIL.Image import Image

RESOLUTIONS = (150, 120, 96, 72)
"""Dots per inch, tried in this order until a picture is small enough."""
LARGEST = 300_000
"""Bytes of a picture."""


def publish(reports: Path, output: Path) -> list[Path]:
    """Write ``<report>.pdf``, ``<report>-<page>.png`` and ``<report>-<figure>.png`` per report.

    Pictures that a report no longer has are removed. Returns what was written. Raises UserError if
    there is no report.
    """
    found = sorted(reports.glob("*.pdf"))
    if not found:
        raise UserError(f"{reports}: no report to publish; `make all` typesets them")
    written: list[Path] = []
    for report in found:
        copy = output / report.name
        with write_atomic(copy) as partial:
            shutil.copyfile(report, partial)
        pictures = [
            _write_picture(report, page, output / f"{report.stem}-{page + 1}.png")
            for page in range(count_pages(report))
        ]
        pictures += [
            _write_picture(figure, 0, output / f"{report.stem}-{figure.stem}.png")
            for figure in sorted((reports / report.stem / "figures").glob("*.pdf"))
        ]
        for stale in set(output.glob(f"{report.stem}-*.png")) - set(pictures):
            stale.unlink()
        written += [copy, *pictures]
    return written


def count_pages(pdf: Path) -> int:
    """The number of pages of a PDF."""
    import pypdfium2

    with pypdfium2.PdfDocument(pdf) as document:
        return len(document)


def _write_picture(pdf: Path, page: int, output: Path) -> Path:
    for resolution in RESOLUTIONS:
        image = _render(pdf, page, resolution)
        with write_atomic(output) as partial:
            # true colours: a palette would change them; this strategy suits text on plain ground
            image.save(
                partial,
                dpi=(resolution, resolution),
                compress_level=9,
                compress_type=zlib.Z_DEFAULT_STRATEGY,
            )
        if output.stat().st_size <= LARGEST:
            break
    return output


def _render(pdf: Path, page: int, resolution: int) -> "Image":
    import pypdfium2

    with pypdfium2.PdfDocument(pdf) as document:
        image: Image = document[page].render(scale=resolution / 72).to_pil()
    return image.convert("RGB")
