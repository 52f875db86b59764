from dataclasses import replace

from journeylab.catalogue import printed_names
from journeylab.reports.draw import all_tables
from journeylab.reports.queries import answer
from journeylab.studies.exp9_router_gradients import figures
from journeylab.studies.exp9_router_gradients.settings import ESTIMATED, TRAINED

from ..gathering import draw
from .results import VARIANTS

NAMES = printed_names("exp9")


def test_every_estimator_has_a_printed_name_and_a_family():
    members = NAMES.words["families"].keys()
    assert members == {*ESTIMATED, *TRAINED} == {*NAMES.labels} - {"all"}


def test_every_figure_has_its_reference_lines(drawn):
    reached = [{line.get_label() for line in each.lines} for each in drawn["language"].axes]
    assert ["bigrams" in labels for labels in reached] == [True, True, False]
    assert ["1/K" in labels for labels in reached] == [False, False, True]
    bias = drawn["gradients"].axes[0]
    claimed = [line.get_xdata()[0] for line in bias.lines if "claimed" in str(line.get_label())]
    assert claimed == [0.1, 0.2]


def test_tables_have_a_row_for_every_estimator_that_ran(tables):
    moments = tables["moments"].frame.set_index("Estimator")
    assert len(moments) == len(ESTIMATED)
    assert moments.loc["REINFORCE, no baseline", "Relative bias"] == "0"
    assert moments.loc["straight-through", "Variance"] == "0"
    assert len(tables["routers"].frame) == len(VARIANTS)
    soft = tables["language"].frame.set_index("Estimator").loc["soft mixture"]
    assert soft["Load"] == "0.70, 0.20, 0.10; 0.40, 0.30, 0.30"
    assert (soft["Gap"], soft["Pairs"]) == ("0.500", "0.600")


def test_without_routers_and_models_nothing_is_shown(results):
    assert figures.numbers(results)["undefined"] == 3
    alone = results.measurements[results.measurements["arm"] == "certificates"]
    bare = replace(results, measurements=alone)
    assert answer(bare, ["hard_mse.soft.long"]) == {"hard_mse.soft.long": None}
    assert draw(bare) == {}
    assert set(all_tables(bare, figures)) == {"checks", "search"}
