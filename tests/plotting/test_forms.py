import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from scipy.stats import quantile_test

from journeylab.claims import statistics
from journeylab.plotting import (
    canvas,
    curves_with_band,
    looks,
    median_interval,
    points_with_interval,
    reference_line,
    save,
    styled,
)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_the_interval_is_scipys(values):
    low, high = median_interval(values)
    expected = quantile_test(values).confidence_interval()
    for found, reference in ((low, expected.low), (high, expected.high)):
        assert found == reference or (math.isinf(found) and math.isnan(reference))


def test_a_missing_seed_could_lie_anywhere():
    values = np.arange(12.0)
    low, high = median_interval(np.append(values[:-3], [np.nan] * 3))
    assert low == -math.inf
    assert high == math.inf
    assert median_interval(values) == (2.0, 9.0)


def test_every_seed_is_a_point_and_failures_are_told():
    with styled():
        _, (axes,) = canvas()
        points_with_interval(axes, 0.0, [0.1, 0.2, np.nan], looks(["A"])["A"], failures=1)
    (points,) = axes.collections
    assert len(points.get_offsets()) == 2
    assert [text.get_text() for text in axes.texts] == ["✗2"]


def test_looks_differ_without_colour():
    chosen = looks([str(i) for i in range(7)]).values()
    assert len({look.marker for look in chosen}) == 7
    assert len({str(look.line) for look in chosen}) == 7
    light = [np.dot(to_rgb(look.color), (0.299, 0.587, 0.114)) for look in chosen]
    assert min(light) < 0.2
    assert max(light) > 0.6


def test_the_same_figure_is_the_same_file_with_embedded_fonts(tmp_path):
    curves = pd.DataFrame(
        [(step, seed, 1 / (step + seed + 1)) for step in range(5) for seed in range(8)],
        columns=["step", "seed", "value"],
    )
    for name in ("first.pdf", "second.pdf"):
        with styled():
            figure, (left, right) = canvas(1, 2)
            curves_with_band(left, curves, looks(["A"])["A"], label="A")
            points_with_interval(right, 0, range(12), looks(["A"])["A"])
            reference_line(right, 3.0, "ceiling")
            reference_line(right, 2.0, "floor", span=(-0.5, 0.5), above=False)
            save(figure, tmp_path / name)
    content = (tmp_path / "first.pdf").read_bytes()
    assert content == (tmp_path / "second.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/CreationDate" not in content


def test_the_style_leaves_no_trace():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    with styled():
        assert mpl.rcParams["font.size"] == pytest.approx(7.5)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("n", [1, 5, 6, 12, 30])
@pytest.mark.parametrize("failed", [0, 1, 3])
def test_the_drawn_interval_is_the_judges(n, failed):
    values = np.random.default_rng(n).normal(size=n)
    values[:failed] = np.nan
    for level in (0.9, 0.95, 0.99):
        drawn = median_interval(values, level)
        assert drawn == statistics.median_interval(values, (1 - level) / 2)
