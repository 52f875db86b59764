"""Figures show the null and every seed; tables show both stages."""

import pytest

from journeylab.catalogue import printed_names
from journeylab.studies.exp4_operator_recovery import figures, tables

from .results import DRAWS, RUNS, SEEDS

NAMES = printed_names("exp4")


@pytest.mark.parametrize(("name", "arm"), [("single", "single-0"), ("positions", "positions-free")])
def test_the_null_is_drawn_beside_every_metric(results, drawn, name, arm):
    figure = drawn[name]
    named = {t.get_text() for t in figure.legends[0].get_texts()}
    assert named == {figures.NULL, *tables.STAGE.values()}
    for axes in figure.axes:
        dots = sum(len(c.get_offsets()) for c in axes.collections)
        assert dots == 2 * SEEDS + DRAWS
    named = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert named == [f"{NAMES.labels[RUNS[arm][0]]}\n{NAMES.arms[arm]}"]


def test_tables_show_both_stages_and_the_range_of_the_null(tables):
    single = tables["single"].frame.set_index(["Operators", "Start"])
    assert list(single.index) == [("one R", "near identity"), ("fixed R", "RoPE")]
    after, before = single.loc[("one R", "near identity"), "off-block"].split(" ")
    assert before == f"({after})"  # nothing was trained
    assert single.loc[("fixed R", "RoPE"), "off-block"] == "0.00"
    assert {"commutator", "joint off-block"} < set(tables["positions"].frame.columns)
    null = tables["null"].frame.set_index("Measure")
    assert null.loc["commutator of R − I", "orthogonal, one R"] == "–"
    assert " – " in null.loc["commutator of R − I", "orthogonal, R per position"]


def test_numbers_of_the_prose_obey_what_it_says(results):
    values = results.measurements.set_index("metric")["value"]
    found = results.pool("blocks_found").groupby("case")["value"]
    assert results.pool("gauge_error", case="exact")["value"].max() < 1e-9
    assert found.min()["broken"] > 0.1 > found.max()["exact"]
    assert values["bigram"].median() < values["unigram"].median()
    assert set(values["letters"]) == {10}
    assert 0 < figures.numbers(results)["linear.broken"] < 1
