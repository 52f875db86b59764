from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from journeylab.plotting import StudyResults, save, styled
from journeylab.studies.exp5_ssm_bridge import figures
from journeylab.studies.exp5_ssm_bridge.compute import compute
from journeylab.studies.exp5_ssm_bridge.metrics import LABELS
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
    return StudyResults("exp5", Settings(arms={"bridge": arm}), pd.concat(tables), labels=LABELS)


@pytest.fixture(scope="module")
def drawn(results):
    with styled():
        return figures.draw(results)


def test_every_figure_has_a_caption_and_the_same_bytes_twice(results, drawn, tmp_path):
    assert set(drawn) == set(figures.CAPTIONS)
    with styled():
        for run, shown in (("first", drawn), ("second", figures.draw(results))):
            for name, figure in shown.items():
                save(figure, tmp_path / run / f"{name}.pdf")
    for first in (tmp_path / "first").iterdir():
        assert first.read_bytes() == (tmp_path / "second" / first.name).read_bytes()


def test_overflows_are_counted_and_printed_as_infinite_errors(results):
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


def test_every_draw_is_a_dot_or_a_counted_overflow(results, drawn):
    figure = drawn["error"]
    points = sum(len(c.get_offsets()) for axes in figure.axes for c in axes.collections)
    expected = results.select("relative_error")
    assert points == len(expected) - 2
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == ["✗2"]


def test_an_error_beyond_the_panel_is_drawn_at_its_edge(results):
    table = results.measurements.copy()
    table.loc[(table["metric"] == "relative_error") & (table["N"] == 20), "value"] = 1e9
    with styled():
        figure = figures.draw(replace(results, measurements=table))["error"]
    for axes in figure.axes:
        heights = [y for points in axes.collections for y in np.asarray(points.get_offsets())[:, 1]]
        assert max(heights) == pytest.approx(axes.get_ylim()[1])
