from dataclasses import replace

import pytest

from journeylab.catalogue import printed_names
from journeylab.studies.exp6_coupling_rank.settings import HEADS

from ..gathering import draw

NAMES = printed_names("exp6")


def test_every_seed_is_drawn(drawn):
    titled = {each.get_title("left"): each for each in drawn["heads"].axes}
    axes = titled[NAMES.arms["random-toral"]]
    thin = [line for line in axes.lines if len(line.get_xdata()) == len(HEADS)]
    assert len(thin) == 2 * (2 + 1)  # two seeds and a median of two models
    dots = sum(len(c.get_offsets()) for c in drawn["errors"].axes[0].collections)
    assert dots == 2 * len(HEADS)


def test_the_line_of_errors_is_the_eckart_young_error(results, drawn):
    [axes] = drawn["errors"].axes
    [line] = [line for line in axes.lines if line.get_label() == "Eckart–Young"]
    least = results.pool("eckart_young", arm="random-toral-scores", variant="separable")
    expected = least.groupby("H")["value"].median().clip(lower=1e-8)
    assert list(line.get_ydata()) == pytest.approx(list(expected))
    assert axes.get_ylim()[0] < 1e-8


def test_tables_list_every_run_and_every_rank(tables):
    accuracies = tables["accuracies"].frame
    assert len(accuracies) == 3 + 2 + 2
    rows = accuracies.set_index(["Arm", "Model"]).loc["scores, random toral"]
    assert (rows.loc[NAMES.labels["separable"], ["Accuracy", "8"]] == "").tolist() == [True, False]
    assert (rows.loc[NAMES.labels["journey"], ["Accuracy", "8"]] == "").tolist() == [False, True]
    assert rows.loc[NAMES.labels["separable"], "Parameters"] == "36 H"  # 12 positions, 3·8 others
    assert set(tables["errors"].frame["Arm"]) == {NAMES.arms["random-toral-scores"]}
    assert tables["ranks"].frame["Rank"].tolist() == ["8", "8", "8", "8", "7", "7", "6", "6"]


def test_runs_that_are_missing_have_no_panel(results):
    table = results.measurements
    journey = table["variant"].isin(["journey", "decaying"])
    alone = replace(results, measurements=table[journey & (table["arm"] != "random-labels")])
    drawn = draw(alone)
    assert set(drawn) == {"models", "spectrum", "learning"}
    assert len(drawn["models"].axes) == 1
