from dataclasses import replace

import numpy as np
import pytest

from journeylab.reports.queries import answer
from journeylab.wording.typography import scientific

from ..gathering import draw


def test_overflows_are_counted_and_printed_as_infinite_errors(results, tables):
    assert answer(results, [overflows := "relative_error.at-least-inf"]) == {overflows: 2}
    shown = tables["errors"].frame.query("Operator == 'contracted'")
    errors = shown[shown["N"] == "1500"].set_index("Precision")["Journey"]
    assert errors["float32"] == "∞"
    rows = results.select("relative_error", operator="contracted", precision="float64", N=1500)
    assert errors["float64"] == scientific(float(rows["value"].max()))
    assert "\u202f×\u202f10⁻" in errors["float64"]


def test_every_draw_is_a_dot_or_a_counted_overflow(results, drawn):
    figure = drawn["error"]
    points = sum(len(c.get_offsets()) for axes in figure.axes for c in axes.collections)
    assert points == len(results.select("relative_error")) - 2
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == ["✗2"]


def test_an_error_beyond_the_panel_is_drawn_at_its_edge(results):
    table = results.measurements.copy()
    table.loc[(table["metric"] == "relative_error") & (table["N"] == 20), "value"] = 1e9
    figure = draw(replace(results, measurements=table), "error")["error"]
    for axes in figure.axes:
        heights = [y for points in axes.collections for y in np.asarray(points.get_offsets())[:, 1]]
        assert max(heights) == pytest.approx(axes.get_ylim()[1])
