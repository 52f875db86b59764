import pytest

from journeylab.studies.exp12_native_kg_transfer.search import CASES, SCALES, chosen, search_table

from .results import RUNS, SETTINGS


@pytest.mark.parametrize("run", chosen())
def test_a_searched_run_trains_with_the_setting_that_was_best(run):
    deviation, rate = chosen()[run]
    settings = SETTINGS.resolve(*run.split("/")).settings
    assert settings["training"]["learning_rate"] == float(rate)
    assert SCALES[deviation].items() <= settings["model"].items()


def test_only_runs_of_the_study_are_searched():
    assert {tuple(run.split("/")) for run in CASES} <= set(RUNS)
    assert chosen().keys() <= CASES.keys()


def test_the_best_point_is_within_a_percent_of_the_lowest_log_rank():
    table = search_table()
    points = [name for name in table if name.startswith("σ")]
    for _, row in table.iterrows():
        tried = row[points][row[points] != "–"].astype(float)
        assert tried[row["best"]] <= 1.01 * tried.min() + 0.005
