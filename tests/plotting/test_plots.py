import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from scipy.stats import quantile_test

from journeylab.plotting import (
    anchors,
    canvas,
    curves,
    facets,
    legend_above,
    median_interval,
    save,
    seeds,
    stopping,
    styled,
    styles,
)
from journeylab.plotting.plots import plain_ticks

from ..reports.conftest import sequential_verdicts, trained_verdicts


def table(values, **columns) -> pd.DataFrame:
    return pd.DataFrame({"value": values, "seed": range(len(values)), **columns})


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_the_interval_equals_scipys(values):
    low, high = median_interval(values)
    expected = quantile_test(values).confidence_interval()
    for value, reference in ((low, expected.low), (high, expected.high)):
        assert value == reference or (math.isinf(value) and math.isnan(reference))


def test_a_missing_seed_can_lie_anywhere():
    values = np.arange(12.0)
    low, high = median_interval(np.append(values[:-3], [np.nan] * 3))
    assert low == -math.inf
    assert high == math.inf
    assert median_interval(values) == (2.0, 9.0)


@pytest.mark.parametrize("down", [True, False])
def test_every_seed_is_a_point_and_failures_are_counted_beside_the_axes(down):
    rows = pd.concat([table([0.1, 0.2, np.nan], model="A"), table([0.5] * 3, model="B")])
    where = {"x": "value", "y": "model"} if down else {"x": "model", "y": "value"}
    with styled():
        _, axes = canvas(2.0)
        axes.set(xlim=(0, 1)) if down else axes.set(ylim=(0, 1))
        seeds(axes, rows.reset_index(drop=True), styles("AB"), **where)
    points = np.concatenate([np.asarray(c.get_offsets()) for c in axes.collections])
    assert sorted(points[:, 0 if down else 1]) == [0.1, 0.2, 0.5, 0.5, 0.5]
    [mark] = axes.texts
    assert mark.get_text() == "✗1"
    position, edge = (mark.xy[1], mark.xy[0]) if down else mark.xy
    assert (position, edge) == (0.0, 1.0)


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("failed", [0, 3])
def test_the_line_of_seeds_is_the_interval(scale, failed):
    values = np.linspace(1.0, 12.0, 12)
    rows = table([*values[: 12 - failed], *[np.nan] * failed], model="A")
    low, high = median_interval(rows["value"])
    with styled():
        _, axes = canvas(2.0)
        axes.set(xscale=scale, xlim=(0.5, 20.0))
        seeds(axes, rows, styles("A"))
    drawn = np.concatenate([np.asarray(line.get_xdata(), dtype=float) for line in axes.lines])
    expected = (max(low, 0.5), min(high, 20.0))
    assert (np.nanmin(drawn), np.nanmax(drawn)) == pytest.approx(expected)
    assert np.nanmedian(rows["value"]) in drawn.round(9)


def test_groups_stand_side_by_side_and_name_themselves():
    rows = pd.concat(
        [table([k, k + 1.0, np.nan], n=n, model=m) for n in (8, 12) for k, m in enumerate("BA")],
        ignore_index=True,
    )
    with styled():
        figure, axes = canvas(2.0, y="bits")
        axes.set(ylim=(0, 3))
        seeds(axes, rows, styles("AB"), x="n", y="value")
        legend_above(figure)
    marked = sorted(text.xy[0] for text in axes.texts)
    assert np.allclose(marked, [-0.2, 0.2, 0.8, 1.2])
    assert axes.get_ylabel() == "bits"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A", "B"]


def test_curves_count_seeds_without_a_line_and_widen_their_interval():
    rows = pd.concat(
        [table(np.arange(12.0), step=step, model="A") for step in (1, 2)], ignore_index=True
    )
    rows.loc[rows["seed"] >= 10, "value"] = np.nan
    with styled():
        _, axes = canvas(2.0)
        axes.set(ylim=(-1.0, 13.0))
        curves(axes, rows, styles("A"))
    assert axes.get_title("right") == "✗2"
    thin = [line for line in axes.lines if line.get_linewidth() < 0.5]
    assert len(thin) == 10
    [band] = axes.collections
    heights = np.unique(band.get_paths()[0].vertices[:, 1])
    low, high = median_interval([*range(10), np.nan, np.nan])
    assert set(heights) == {low, high}


def test_facets_are_as_wide_as_the_text_and_keyed_by_their_levels():
    rows = table(range(4), arm=["a", "a", "b", "b"], order=["s", "t", "s", "s"])
    with styled():
        figure, panels = facets(rows, 1.0, "share", row="arm", col="order")
    assert figure.get_figwidth() == pytest.approx(158 / 25.4)
    assert {key: len(part) for key, (_, part) in panels.items()} == {
        ("a", "s"): 1,
        ("a", "t"): 1,
        ("b", "s"): 2,
        ("b", "t"): 0,
    }
    assert [axes.get_xlabel() for axes, _ in panels.values()] == ["", "", "share", "share"]


def test_few_facets_fill_the_width():
    with styled():
        figure, _ = facets(table([1, 2], arm=["a", "b"]), 1.0, col="arm", col_wrap=3)
    assert figure.axes[0].get_subplotspec().get_gridspec().ncols == 2


def test_styles_differ_without_colour():
    chosen = styles([str(i) for i in range(12)]).values()
    for kind in ("color", "marker", "dashes"):
        assert len({getattr(style, kind) for style in chosen}) == 12
    with pytest.raises(ValueError, match="13 names"):
        styles(map(str, range(13)))
    light = [np.dot(to_rgb(style.color), (0.299, 0.587, 0.114)) for style in chosen]
    assert min(light) < 0.2
    assert max(light) > 0.6


def test_the_same_figure_is_the_same_file_with_embedded_fonts(tmp_path):
    rows = pd.DataFrame(
        [(step, seed, 1 / (step + seed + 1), "A") for step in range(5) for seed in range(8)],
        columns=["step", "seed", "value", "model"],
    )
    for name in ("first.pdf", "second.pdf"):
        with styled():
            figure = Figure(layout="constrained")
            left, right = figure.subplots(1, 2)
            curves(left, rows, styles("A"))
            seeds(right, rows, styles("A"))
            anchors(right, {"ceiling": 0.9, "absent": None, "floor": ([0.1, 0.2], [0, 0])}, x=True)
            legend_above(figure)
            save(figure, tmp_path / name)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["A", "ceiling", "floor"]
    content = (tmp_path / "first.pdf").read_bytes()
    assert content == (tmp_path / "second.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/CreationDate" not in content
    drawn = (tmp_path / "first.svg").read_bytes()
    assert drawn == (tmp_path / "second.svg").read_bytes()
    assert not re.search(rb"<text|font-family|dc:date|dc:creator", drawn)


def test_the_style_leaves_no_trace():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    with styled():
        assert mpl.rcParams["font.size"] == pytest.approx(7.5)
    assert dict(mpl.rcParams) == before


def test_every_judged_claim_has_a_marker_where_its_looks_ended():
    looked = sequential_verdicts()
    ended = [row for row in looked.verdicts if row.state]
    secondary = [row for row in looked.verdicts if not row.state]
    ended[3] = ended[3].model_copy(update={"verdict": "depends"})
    with styled():
        [axes] = stopping(looked.model_copy(update={"verdicts": (*ended, *secondary)})).axes
    [markers] = [each for each in axes.collections if isinstance(each, PathCollection)]
    assert markers.get_offsets().tolist() == [[row.n, place] for place, row in enumerate(ended)]
    assert len({color.tobytes() for color in markers.get_facecolors()}) == 6
    assert len({path.vertices.tobytes() for path in markers.get_paths()}) == 6
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [f"7.{i}" for i in range(1, 7)]
    assert list(axes.get_xticks()) == list(looked.looks)
    words = ["✓ supported", "✗ refuted", "settled", "↔ depends", "open", "withheld"]
    assert [text.get_text() for text in axes.texts] == words


def test_looks_without_a_sequence_are_not_drawn():
    assert stopping(sequential_verdicts().model_copy(update={"looks": ()})) is None
    assert stopping(trained_verdicts(evidence=True)) is None


def test_more_anchors_than_styles_are_refused_and_none_is_left_out():
    _, axes = canvas(1.0)
    lines = {name: 0.1 * i for i, name in enumerate("abcde")}
    anchors(axes, lines)
    assert [line.get_label() for line in axes.lines] == list(lines)
    with pytest.raises(ValueError, match="6 lines, but 5 styles: a, b, c, d, e, f"):
        anchors(axes, {**lines, "f": 0.6})


@pytest.mark.parametrize(
    ("limits", "shown"),
    [
        ((0.9, 9), "1 1.5 2 3 4 5 7"),
        ((0.9, 400), "1 3 10 30 100 300"),
        ((9e-6, 20), "1e−05 10"),
        ((20, 9e-6), "1e−05 10"),
    ],
)
def test_logarithmic_axes_have_numbers_without_small_exponents(limits, shown):
    figure, axes = canvas(1.0)
    axes.set(yscale="log", ylim=limits)
    plain_ticks(axes)
    figure.draw_without_rendering()
    ticks = {each.get_position()[1]: each.get_text() for each in axes.get_yticklabels()}
    labels = " ".join(text for at, text in ticks.items() if min(limits) <= at <= max(limits))
    assert labels == shown
