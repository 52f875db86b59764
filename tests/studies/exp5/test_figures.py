import pytest

from journeylab.plotting import StudyResults, save, styled
from journeylab.studies.exp5_ssm_bridge import figures
from journeylab.studies.exp5_ssm_bridge.certify import certify
from journeylab.studies.exp5_ssm_bridge.settings import Certificates, Settings


@pytest.fixture(scope="module")
def results():
    certificates = Certificates(draws=2, lengths=(20, 1500), operators=("rotation", "contracted"))
    table = certify(certificates)
    table.insert(0, "study", "exp5")
    table.insert(1, "arm", "certificate")
    return StudyResults("exp5", Settings(certificates=certificates), table)


def test_every_figure_has_a_caption_and_the_same_bytes_twice(results, tmp_path):
    written = []
    for run in ("first", "second"):
        with styled():
            drawn = figures.draw(results)
            for name, figure in drawn.items():
                save(figure, tmp_path / run / f"{name}.pdf")
        written.append({n: (tmp_path / run / f"{n}.pdf").read_bytes() for n in drawn})
    assert set(written[0]) == set(figures.CAPTIONS)
    assert written[0] == written[1]


def test_overflows_are_counted_and_told(results):
    numbers = figures.numbers(results)
    assert numbers["overflows"] == 2
    assert numbers["relative_error.contracted.float32.max"] == "∞"
    shown = figures.tabulate(results)["errors"].frame
    lost = shown[(shown["Operator"] == "contracted") & (shown["N"] == "1500")]
    assert lost.set_index("Precision").loc["float32", "Error"] == "∞"


def test_every_draw_is_a_point_or_an_overflow(results):
    with styled():
        figure = figures.draw(results)["error"]
    points = sum(len(c.get_offsets()) for axes in figure.axes for c in axes.collections)
    expected = results.select("relative_error")
    assert points == len(expected) - 2
