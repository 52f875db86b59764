"""The table of a search says what was chosen, what is used, and where training was best."""

from collections.abc import Sequence

import pandas as pd

from journeylab.catalogue import printed_names
from journeylab.config import StudySettings
from journeylab.plotting import StudyResults, describe_search, gain_of_longest, tabulate_search
from journeylab.records.searches import PrintedSearch

RATE = "training.learning_rate"
SEARCH = {
    **{"arms": ["degree"], "grid": {RATE: [0.01, 0.03]}, "metric": "accuracy", "best": "highest"},
    **{"tie": 0.01, "budgets": [2]},
}


def trial(run: str, rate: float, mean: float | None, steps: int = 100) -> dict:
    return {
        **{"run": run, "values": {RATE: rate}, "mean": mean, "steps": steps},
        **{"folder": f"{run}-{rate}-{steps}", "index": [0], "key": "", "results": [mean]},
    }


def choice(run: str, rate: float, mean: float, longer: float) -> dict:
    curve = [{"step": 100, "value": mean}, {"step": 200, "value": longer}]
    return {"values": {RATE: rate}, "mean": mean, "folder": f"{run}-{rate}-100", "curve": curve}


def results(gates: Sequence[float | None] = (None,) * 8, **gate: dict) -> StudyResults:
    """A search of two runs; ``gates`` are the means of the gate of its trials and choices."""
    first, second = "degree/sum", "degree/tree"
    trials = [
        *(trial(first, 0.01, 0.5), trial(first, 0.03, 0.6), trial(first, 0.03, 0.605, 200)),
        *(trial(second, 0.01, None), trial(second, 0.03, 0.7), trial(second, 0.03, 0.8, 200)),
    ]
    choices = {first: choice(first, 0.03, 0.6, 0.605), second: choice(second, 0.03, 0.7, 0.8)}
    for point, mean in zip((*trials, *choices.values()), gates, strict=True):
        point["gate"] = mean
    searched = {
        "study": "exp10",
        "search": SEARCH | gate,
        "trials": trials,
        "choices": choices,
        "in_use": {first: {RATE: 0.03}, second: {RATE: 0.1}},
        "outdated": ["exp10: its search is older; changed: code of train"],
    }
    search = PrintedSearch.model_validate(searched)
    names = printed_names("exp10")
    return StudyResults("exp10", StudySettings(), pd.DataFrame(), names, search=search)


def test_a_search_is_printed_whole() -> None:
    of = results()
    table = tabulate_search(of, of.search)
    rows = table.frame.map(lambda cell: cell.replace("\xa0", " ").replace("\u202f", ""))
    assert rows["Run"].tolist() == ["sum (document), degree", "child-sum tree, degree"]
    assert rows["In use"].tolist() == ["the same", "0.1"]
    # within the tie the earlier step is the best
    assert rows["Best at step"].tolist() == ["100 of 200", "200 of 200"]
    assert rows.iloc[:, -1].tolist() == ["0.01: 0.5; 0.03: 0.6", "0.01: failed; 0.03: 0.7"]
    assert table.notes.endswith("Exp10: its search is older; changed: code of train.")


def test_longer_training_gains_what_the_worst_choice_lacks() -> None:
    assert round(gain_of_longest(results()), 6) == 0.1


def test_a_gate_is_printed_with_the_points_and_runs_that_miss_it() -> None:
    gate = {"metric": "exact", "at": {"split": "taught"}, "at_least": 0.95}
    of_trials = (0.9, 0.96, 1, None, 0.6, 0.7)
    of = results((*of_trials, 0.96, 0.6), gate=gate)
    table = tabulate_search(of, of.search)
    rows = table.frame.map(lambda cell: cell.replace("\xa0", " "))
    assert rows["Gate"].tolist() == ["0.96", "0.6†"]
    assert rows.iloc[:, -1].tolist() == ["0.01: 0.5†; 0.03: 0.6", "0.01: failed†; 0.03: 0.7†"]
    assert "points below 0.95, marked †, do not count" in table.notes
    assert "No point of degree/tree reached it: the nearest one is chosen." in table.notes
    assert (
        "among points with exact of at least 0.95; no point of degree/tree reached it;"
        in describe_search(of.search)
    )
    of = results((*of_trials, 0.96, 0.96), gate=gate)
    assert "reached it" not in describe_search(of.search) + tabulate_search(of, of.search).notes
