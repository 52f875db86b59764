"""The gallery: PDFs of the reports, the README's figure, and pages drawn when they are needed."""

import shutil
from pathlib import Path

import numpy as np
import pypdfium2
import pytest
from PIL import Image

from journeylab.config import UserError
from journeylab.plotting import canvas, save
from journeylab.records.files import write_atomic
from journeylab.reports.gallery import FRONT_FIGURE, LARGEST, publish, render_pages

from ..made import PROJECT, git

STUDY, NAME = FRONT_FIGURE
PICTURE = f"{STUDY}-{NAME}.png"


def figure(path: Path, points: int) -> None:
    drawn, axes = canvas(2.4)
    rng = np.random.default_rng(0)
    axes.scatter(*rng.standard_normal((2, points)), c=rng.random(points), s=1)
    save(drawn, path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    figure(folder / f"{STUDY}.pdf", 10)
    figure(folder / f"{STUDY}/figures/{NAME}.pdf", 30_000)
    shutil.copy(folder / f"{STUDY}.pdf", folder / f"{STUDY}/figures/other.pdf")
    return folder


@pytest.fixture
def reports(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "reports"))


def test_a_gallery_is_the_reports_and_the_figure_of_the_readme(
    reports: Path, tmp_path: Path
) -> None:
    gallery = tmp_path / "gallery"
    written = publish(reports, gallery)
    assert {path.name for path in written} == {f"{STUDY}.pdf", PICTURE}
    assert set(gallery.iterdir()) == set(written)
    assert (gallery / f"{STUDY}.pdf").read_bytes() == (reports / f"{STUDY}.pdf").read_bytes()
    assert (gallery / PICTURE).stat().st_size <= LARGEST
    with Image.open(gallery / PICTURE) as image:
        assert image.width >= 7.0 * 72 - 1
        assert image.convert("L").getextrema() == (0, 255)
    again = publish(reports, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_reports_without_the_figure_are_published(reports: Path, tmp_path: Path) -> None:
    (reports / f"{STUDY}/figures/{NAME}.pdf").unlink()
    assert publish(reports, tmp_path / "gallery") == [tmp_path / f"gallery/{STUDY}.pdf"]


def test_the_claims_index_is_published_if_its_links_lead_somewhere(
    reports: Path, tmp_path: Path
) -> None:
    index, gallery = reports / "index.html", tmp_path / "gallery"
    index.write_text(f'<a href="{STUDY}.pdf">report</a> <a href="#exp7.1">exp7.1</a>')
    assert gallery / "index.html" in publish(reports, gallery)
    assert (gallery / "index.html").read_bytes() == index.read_bytes()
    index.write_text('<a href="exp99.pdf">report</a>')
    with pytest.raises(UserError, match=r"links to exp99\.pdf"):
        publish(reports, gallery)


def test_a_report_that_is_being_written_is_not_published(reports: Path, tmp_path: Path) -> None:
    with write_atomic(reports / "exp1.pdf") as partial:
        partial.touch()
        assert len(publish(reports, tmp_path / "gallery")) == 2


def test_every_page_becomes_a_picture(reports: Path, tmp_path: Path) -> None:
    merged = pypdfium2.PdfDocument.new()
    for part in (f"{STUDY}.pdf", f"{STUDY}/figures/{NAME}.pdf"):
        with pypdfium2.PdfDocument(reports / part) as document:
            merged.import_pages(document)
    merged.save(tmp_path / "exp1.pdf")
    pages = render_pages(tmp_path / "exp1.pdf", tmp_path / "pages")
    assert [page.name for page in pages] == ["exp1-1.png", "exp1-2.png"]
    assert pages[0].read_bytes() != pages[1].read_bytes()


def test_pictures_have_the_colours_of_the_pdf(reports: Path, tmp_path: Path) -> None:
    """A figure of some thousand colours is shown pixel by pixel as it is rendered."""
    publish(reports, tmp_path / "gallery")
    with (
        pypdfium2.PdfDocument(reports / f"{STUDY}/figures/{NAME}.pdf") as pdf,
        Image.open(tmp_path / "gallery" / PICTURE) as picture,
    ):
        pixels = np.asarray(picture.convert("RGB"))
        rendered = pdf[0].render(scale=round(picture.info["dpi"][0]) / 72).to_pil().convert("RGB")
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 256
    assert np.array_equal(pixels, np.asarray(rendered))


def test_no_report_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no report to publish"):
        publish(tmp_path, tmp_path / "gallery")
    assert not (tmp_path / "gallery").exists()


def test_git_keeps_one_picture_only() -> None:
    """Pages and figures of the reports are drawn from the PDFs when they are needed."""
    assert git(PROJECT, "ls-files", "*.png").split() == [f"docs/gallery/{PICTURE}"]
