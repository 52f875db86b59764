from dataclasses import replace
from math import comb

import numpy as np
import pytest
from matplotlib.collections import PathCollection

from journeylab.catalogue import prose
from journeylab.reports.queries import answer
from journeylab.studies.exp3_order_information import figures
from journeylab.studies.exp3_order_information.information import precision_law
from journeylab.studies.exp3_order_information.settings import LENGTHS, SETS
from journeylab.studies.exp3_order_information.tables import reach_of
from journeylab.wording.queries import cited

from ..gathering import draw
from .results import RUNS


def test_every_seed_is_a_point_and_every_length_has_a_ceiling(drawn):
    figure = drawn["positions"]
    points = [len(c.get_offsets()) for axes in figure.axes for c in axes.collections]
    probes, seeds, runs = 2, 2, 3
    assert sum(points) == probes * seeds * runs * 4
    for axes in figure.axes:
        [ceiling] = [x for x in axes.lines if x.get_label() == "order-blind ceiling"]
        assert len(ceiling.get_xdata()) == 4


def test_no_point_lies_outside_its_axes(results, drawn):
    """Overfitted probes: far fewer bits than none, and fewer right answers than by chance."""
    low = {"v_information": -70.0, "position_accuracy": 0.05, "count_accuracy": 0.0}
    overfitted = results.measurements.copy()
    for metric, value in low.items():
        rows = (overfitted["metric"] == metric) & (overfitted["seed"] == 1)
        overfitted.loc[rows & (overfitted["arm"] == "C2-d4"), "value"] = value
    changed = draw(replace(results, measurements=overfitted), "bits", "positions", "counts")
    lowest = {}
    for name, figure in (drawn | changed).items():
        for axes in figure.axes:
            for collection in filter(lambda c: isinstance(c, PathCollection), axes.collections):
                points = np.asarray(collection.get_offsets())
                (left, right), (bottom, top) = np.sort(axes.get_xlim()), axes.get_ylim()
                assert ((left <= points[:, 0]) & (points[:, 0] <= right)).all()
                assert ((bottom <= points[:, 1]) & (points[:, 1] <= top)).all()
                lowest[name] = min(lowest.get(name, np.inf), points[:, 1].min())
    shown = (lowest["bits"], lowest["positions"], lowest["counts"])
    assert shown == tuple(low.values())


def test_every_length_has_the_floor_of_its_counts(drawn):
    for axes in drawn["counts"].axes:
        [floors] = [x for x in axes.lines if x.get_label() == "best constant answer"]
        expected = [comb(n, n // 2) / 2**n for n in LENGTHS]
        assert list(floors.get_ydata()) == pytest.approx(expected)


def test_the_precision_law_is_drawn_where_it_binds(results, drawn):
    for axes in drawn["information"].axes:
        [law] = [line for line in axes.lines if line.get_label() == "law, N = 16"]
        known = max(x.get_ydata()[0] for x in axes.lines if list(x.get_xdata()) == [0, 1])
        assert axes.get_ylim()[0] < min(law.get_ydata()) < known
    exact = results.select("precision_law", frequencies="standard", d=4, N=16, epsilon="0.5")
    reach = reach_of(results, {"C": 2, "frequencies": "standard", "d": 4, "N": 16})
    assert precision_law(4, reach, 0.5) == pytest.approx(exact["value"].item())


def test_table_has_every_set_length_and_width(tables):
    frame = tables["information"].frame
    assert frame[["d", "N", "Frequencies"]].drop_duplicates().shape == (2 * 2 * len(SETS), 3)
    full = frame[(frame["Frequencies"] == "fast {1, 2}") & (frame["d"] == "16")]
    assert full["ε = 0.001"].tolist() == full["H"].tolist()


def test_the_table_of_retrieval_has_limits_and_probes(results, tables):
    """The enumeration of these results has N = 8 and 16; no probe of {0, 1} is trained."""
    frame = tables["retrieval"].frame.set_index(["C", "N"])
    assert len(frame) == 3 * len(LENGTHS)
    assert frame.loc[("2", "8"), "Sum"] == "0.637"
    assert frame.loc[("2", "8"), "ε = 0.001"] == "1.000"
    assert frame.loc[("2", "20"), "ε = 0.001"] == frame.loc[("4", "12"), "ε = 0.001"] == "–"
    assert (frame["Probe of {0, 1}"] == "–").all()
    assert frame.loc[("2", "8"), "Its probe"] != "–"


def test_disabled_runs_have_no_panel_and_no_row(tables, drawn):
    assert len(drawn["counts"].axes) == 2 * len(RUNS)
    frame = tables["probes"].frame
    assert len(frame) == 3
    assert "n/a" not in frame.to_string()
    assert "nan" not in frame.to_string()


def test_the_prose_has_its_numbers(results):
    printed = figures.numbers(results)
    assert printed["held_out.8"] == 20
    assert printed["floor.20"] == comb(20, 10) / 2**20
    nothing = figures.numbers(replace(results, measurements=results.measurements[:0]))
    assert nothing["coarsest.4"] == "n/a"
    assert printed.keys() <= cited(prose("exp3")).keys()  # and no other numbers


def test_numbers_about_sixteen_tokens_equal_closed_forms(results):
    """Quarter turns tell the counts of four classes of four positions, sixteen coordinates all."""
    asked = [key for key in cited(prose("exp3")) if "N=16" in key]
    entropy, least, most = (answer(results, asked)[key] for key in asked)
    assert entropy == pytest.approx(12.954, abs=1e-3)
    assert least == pytest.approx(7.877, abs=1e-3)
    assert most == 0.0
    printed = figures.numbers(results)
    assert printed["quarter.16"] == 0.6875
    assert 0.5 < printed["coarsest.4"] < printed["coarsest.16"]
