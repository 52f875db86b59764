"""Copies for readers who run nothing: the reports, pictures of their pages, the claims index."""

import re
import shutil
import zlib
from pathlib import Path
from typing import Any

from journeylab.config import UserError
from journeylab.records.files import find_files, write_atomic

FRONT_FIGURE = ("exp7", "tiers")
"""Study and name of the figure that the README shows."""
RESOLUTIONS = (150, 120, 96, 72)
"""Dots per inch of that figure, tried in this order until the picture is small enough."""
LARGEST = 300_000
"""Bytes of that picture, since git keeps it."""
LINK = re.compile(r'href="([^"#]+)')
"""A link of the claims index to another file."""
PAGE_RESOLUTION = 110
"""Dots per inch of a page."""


def publish(reports: Path, output: Path) -> list[Path]:
    """Copy every report and the claims index, and draw the README's figure if it is there.

    Returns the files written. Raises UserError if there is no report, or if the index links to one
    that is not there.
    """
    pdfs = find_files(reports, "*.pdf")
    if not pdfs:
        raise UserError(f"{reports}: no report to publish; `make all` typesets them")
    pages = find_files(reports, "index.html")
    links = {link for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))}
    if missing := sorted(links - {report.name for report in pdfs}):
        raise UserError(f"{pages[0]} links to {missing[0]}; `make all` typesets it")
    written = []
    for report in (*pdfs, *pages):
        written.append(output / report.name)
        with write_atomic(written[-1]) as partial:
            shutil.copyfile(report, partial)
    study, name = FRONT_FIGURE
    figure = reports / study / "figures" / f"{name}.pdf"
    if figure.exists():
        written.append(_draw_small(figure, output / f"{study}-{name}.png"))
    return written


def render_pages(pdf: Path, output: Path) -> list[Path]:
    """Draw every page of a PDF as ``<name of the PDF>-<page>.png``, pages counted from 1.

    Pages are not kept by git: `make docs` draws them from the PDFs of the gallery.
    """
    import pypdfium2

    with pypdfium2.PdfDocument(pdf) as document:
        written = [output / f"{pdf.stem}-{n}.png" for n in range(1, len(document) + 1)]
        for page, path in zip(document, written, strict=True):
            _draw(page, path, PAGE_RESOLUTION)
    return written


def _draw_small(pdf: Path, output: Path) -> Path:
    import pypdfium2

    with pypdfium2.PdfDocument(pdf) as document:
        for resolution in RESOLUTIONS:
            _draw(document[0], output, resolution)
            if output.stat().st_size <= LARGEST:
                break
    return output


def _draw(page: Any, output: Path, resolution: int) -> None:
    image = page.render(scale=resolution / 72).to_pil().convert("RGB")
    with write_atomic(output) as partial:
        # true colours: a palette would change them; this strategy suits text on plain ground
        image.save(
            partial,
            dpi=(resolution, resolution),
            compress_level=9,
            compress_type=zlib.Z_DEFAULT_STRATEGY,
        )
