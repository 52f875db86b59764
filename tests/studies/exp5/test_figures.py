import pandas as pd
import pytest

from journeylab.plotting import StudyResults, save, styled
from journeylab.studies.exp5_ssm_bridge import figures
from journeylab.studies.exp5_ssm_bridge.compute import compute
from journeylab.studies.exp5_ssm_bridge.settings import Bridge, Computation, Settings
from journeylab.typography import scientific


@pytest.fixture(scope="module")
def results(computed):
    cases = {"computed": "bridge", "draws": 2, "lengths": (20, 1500)}
    arm = Bridge(replicates="once", variants=["rotation", "contracted"], **cases)
    tables = [
        computed("exp5", "bridge", operator, compute(Computation(variant=operator, **cases), None))
        for operator in arm.variants
    ]
    return StudyResults("exp5", Settings(arms={"bridge": arm}), pd.concat(tables))


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
    errors = lost.set_index("Precision")["Journey"]
    assert errors["float32"] == "∞"
    largest = numbers["relative_error.contracted.float64.max"]
    assert errors["float64"] == scientific(largest)
    assert "\u202f×\u202f10⁻" in errors["float64"]


def test_every_draw_is_a_point_or_an_overflow(results):
    with styled():
        figure = figures.draw(results)["error"]
    points = sum(len(c.get_offsets()) for axes in figure.axes for c in axes.collections)
    expected = results.select("relative_error")
    assert points == len(expected) - 2
