from dataclasses import replace

import numpy as np

from journeylab.reports.draw import all_tables
from journeylab.studies.exp2_shuffled_kb import figures
from journeylab.studies.exp2_shuffled_kb.figures import numbers

from ..gathering import draw


def test_anchors_have_labels(drawn):
    written = {
        name: {text.get_text() for legend in figure.legends for text in legend.get_texts()}
        for name, figure in drawn.items()
    }
    for name in ("orders", "sizes"):
        assert {"chance", "most frequent value", "vote of the slots"} <= written[name]
    assert {"chance", "ceiling without a tag"} <= written["relations"]
    assert "tolerance" in written["logits"]


def test_variants_that_did_not_run_have_an_empty_row(drawn):
    axes = drawn["orders"].axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["position-free", "RoPE", "content"]
    points = np.concatenate([np.asarray(each.get_offsets()) for each in axes.collections])
    assert sorted(points[:, 1].round()) == [1.0, 1.0, 2.0, 2.0]


def test_a_study_without_the_second_task_can_be_drawn(results):
    kept = results.measurements["arm"] != "relations"
    part = replace(results, measurements=results.measurements[kept], curves=None)
    assert set(draw(part)) == {"orders", "sizes", "logits"}
    assert set(all_tables(part, figures)["runs"].frame["Arm"]) == {"sorted", "shuffled"}


def test_tables_have_a_row_per_run_in_order(tables):
    shown = tables["runs"].frame
    assert list(zip(shown["Arm"], shown["Variant"], strict=True)) == [
        ("sorted", "RoPE"),
        ("sorted", "content"),
        ("shuffled", "position-free"),
        ("relations", "no tag"),
    ]
    assert len(tables["anchors"].frame) == 3


def test_numbers_for_the_prose_are_anchors_and_budgets(results):
    cited = numbers(results)
    budgets = "7 steps for M = 5, 7 steps for identical content"
    assert (cited["chance"], cited["budgets"]) == (0.25, budgets)
    assert {"key_blind", "ceiling.untagged", "pilot.usual"} <= set(cited)
    errors = results.pool("invariance_error", precision="float64").groupby("arm")["value"].max()
    assert errors["invariance"] < 1e-12 < 1e-3 < errors["invariance-cumulative"]
    assert cited["best_slot"] < cited["vote"] < 1 > 1000 * cited["vote.error"]
