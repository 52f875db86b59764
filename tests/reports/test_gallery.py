"""The gallery holds what the reports show, as pictures small enough for a repository."""

from pathlib import Path

import numpy as np
import pypdfium2
import pytest
from PIL import Image

from journeylab.config import UserError
from journeylab.plotting import canvas, save
from journeylab.reports.gallery import LARGEST, publish


def figure(path: Path, points: int) -> None:
    drawn, (axes,) = canvas(2.4)
    rng = np.random.default_rng(0)
    axes.scatter(*rng.standard_normal((2, points)), c=rng.random(points), s=1)
    save(drawn, path)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    folder = tmp_path / "reports"
    figure(folder / "exp1.pdf", 10)
    figure(folder / "exp1/figures/tiers.pdf", 30_000)
    figure(folder / "exp1/figures/small.pdf", 10)
    return folder


def test_pages_and_figures_become_pictures(reports: Path, tmp_path: Path) -> None:
    gallery = tmp_path / "gallery"
    stale = gallery / "exp1-old.png"
    stale.parent.mkdir()
    stale.touch()
    (gallery / "exp11-1.png").touch()
    written = publish(reports, gallery)
    expected = {"exp1.pdf", "exp1-1.png", "exp1-tiers.png", "exp1-small.png"}
    assert {path.name for path in written} == expected
    assert {path.name for path in gallery.iterdir()} == expected | {"exp11-1.png"}
    assert (gallery / "exp1.pdf").read_bytes() == (reports / "exp1.pdf").read_bytes()
    for picture in gallery.glob("exp1-*.png"):
        assert picture.stat().st_size <= LARGEST
        with Image.open(picture) as image:
            assert image.width >= 7.0 * 72 - 1
            assert image.convert("L").getextrema() == (0, 255)


def test_pictures_have_the_colours_of_the_pdf(reports: Path, tmp_path: Path) -> None:
    """A figure of some thousand colours is shown pixel by pixel as it is rendered."""
    publish(reports, tmp_path / "gallery")
    with (
        pypdfium2.PdfDocument(reports / "exp1/figures/tiers.pdf") as pdf,
        Image.open(tmp_path / "gallery/exp1-tiers.png") as picture,
    ):
        found = np.asarray(picture.convert("RGB"))
        rendered = pdf[0].render(scale=round(picture.info["dpi"][0]) / 72).to_pil().convert("RGB")
    assert len(np.unique(found.reshape(-1, 3), axis=0)) > 256
    assert np.array_equal(found, np.asarray(rendered))


def test_publishing_twice_gives_the_same_bytes(reports: Path, tmp_path: Path) -> None:
    first, second = publish(reports, tmp_path / "a"), publish(reports, tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_no_report_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no report to publish"):
        publish(tmp_path, tmp_path / "gallery")
    assert not (tmp_path / "gallery").exists()
