from journeylab.studies.exp12_native_kg_transfer.search import CASES, chosen, search_table

from .results import RUNS


def test_only_runs_of_the_study_are_searched():
    assert {tuple(run.split("/")) for run in CASES} <= set(RUNS)
    assert chosen().keys() <= CASES.keys()


def test_the_best_point_is_within_a_percent_of_the_lowest_log_rank():
    table = search_table()
    points = [name for name in table if name.startswith("σ")]
    for _, row in table.iterrows():
        tried = row[points][row[points] != "–"].astype(float)
        assert tried[row["best"]] <= 1.01 * tried.min() + 0.005
