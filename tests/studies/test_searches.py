"""Every run in config.yaml has the settings that the search of its study chose."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pandas as pd
import pytest

from journeylab import catalogue
from journeylab.claims.effects import Every, cells
from journeylab.claims.schema import StudyClaims
from journeylab.plotting import Table, read_trials

from ..made import configured, registered

STUDIES, CLAIMS = configured().studies, registered().studies
SCALES = {
    **dict.fromkeys(("exp1", "exp2", "exp3", "exp4"), "initial_scale"),
    "exp6": "spread",
    **dict.fromkeys(("exp8", "exp13"), "scale"),
}
"""Study → the setting of its models that trials.csv calls the scale."""
SEARCHED = [*SCALES, "exp9"]
SAME = {
    "exp4": {"single-0.1": "single-0", "positions-pressed": "positions-free"},
    "exp8": {"table-unit": "axial", "categorical": "axial"},
}
"""Arms that have the settings of another, beside those that only record more."""
TIES = {
    **{"exp1": -0.01, "exp2": -0.01, "exp4": 0.005, "exp8": 0.0, "exp9": 0.001, "exp13": 0.02},
}
"""Study → how much worse than the best the chosen value may be; below 0, high values are better."""
MORE_SEEDS = {("exp1", "S3", "toral-product")}
"""Chosen on more seeds than those of the table."""


@cache
def trials(study: str) -> pd.DataFrame:
    table = read_trials(catalogue.study_folder(study) / "trials.csv")
    return table.astype({"steps": int, "rate": float, "scale": float, "value": float})


def chosen(study: str) -> pd.DataFrame:
    """The last mark of every run: with the most steps, where several numbers were tried."""
    marked = trials(study).query("chosen == '*'").sort_values("steps", kind="stable")
    return marked.drop_duplicates(["arm", "variant"], keep="last").set_index(["arm", "variant"])


def settings(study: str, arm: str, variant: str) -> dict[str, Any]:
    return STUDIES[study].resolve(arm, variant).settings


@pytest.mark.parametrize("study", SCALES)
def test_a_run_has_the_settings_that_the_search_chose(study: str) -> None:
    known = chosen(study)
    same = SAME.get(study, {})
    runs = [
        (run, (same.get(arm, arm), run[1]))
        for run in STUDIES[study].trained()
        for arm in [run[0].removeprefix("learning-")]
    ]
    assert set(known.index) & {of for _, of in runs}
    for run, of in runs:
        if of in known.index and run[0] != "table-unit":  # which has the scale 1 by definition
            job, point = settings(study, *run), known.loc[of]
            assert job["training"]["learning_rate"] == point.rate, run
            assert job["model"][SCALES[study]] == point.scale, run
            if study in ("exp2", "exp3", "exp13"):
                assert job["training"]["steps"] == point.steps, run
            if study == "exp13":
                assert point.case.startswith(str(job["model"]["layers"])), run
            if study == "exp8" and point.note:
                assert point.note == f"waves {job['model']['waves']:g}", run


def test_every_estimator_of_routers_has_the_settings_that_the_search_chose() -> None:
    tuned = settings("exp9", "training", "straight-through")["tuned"]
    found = {
        variant: (point.scale, point.rate) for (_, variant), point in chosen("exp9").iterrows()
    }
    assert found == {name: (of["scale"], of["rate"]) for name, of in tuned.items()}


@pytest.mark.parametrize("study", TIES)
def test_no_trial_is_better_than_the_chosen_one_by_more_than_a_tie(study: str) -> None:
    for run, tried in trials(study).groupby(["arm", "variant", "case", "steps", "note"]):
        marked = tried.loc[tried["chosen"] == "*", "value"]
        if marked.empty or (study, *run[:2]) in MORE_SEEDS:
            continue
        sign = -1 if TIES[study] < 0 else 1
        best = float((sign * tried["value"]).min())
        assert sign * marked.item() <= best + abs(TIES[study]) + 1e-9, run


@pytest.mark.parametrize("study", ["exp2", "exp4"])
def test_no_search_ends_at_an_edge(study: str) -> None:
    for run, tried in trials(study).groupby(["arm", "variant", "case"]):
        point = chosen(study).loc[run[:2]]
        rates = tried["rate"]
        assert rates.min() < point.rate < rates.max(), run
        scales = tried.loc[tried["rate"] == point.rate, "scale"]
        assert scales.nunique() == 1 or scales.min() < point.scale < scales.max(), run


def judged(study: StudyClaims) -> set[str]:
    """The runs that decide primary claims over seeds, and the gates of these claims."""
    rows = [row for row in study.claims if row.primary and not isinstance(row.effect, Every)]
    read = [cell for row in rows for name in row.gate for cell in study.gates[name].cells]
    return {cell.run for cell in (*read, *(cell for row in rows for cell in cells(row.terms)))}


def test_every_run_that_decides_a_claim_was_searched() -> None:
    assert judged(CLAIMS["exp13"]) <= {"/".join(run) for run in chosen("exp13").index}


@pytest.mark.parametrize("study", SEARCHED, scope="module")
def test_the_table_of_a_search_has_a_row_per_run_and_every_trial(
    study: str, tables: Mapping[str, Table]
) -> None:
    table = tables["search"].frame
    tried = trials(study)
    assert len(table) == len(tried.drop_duplicates(["arm", "variant", "case"]))
    cells_of_trials = "; ".join(table.iloc[:, -1])
    assert cells_of_trials.count("×") == len(tried)
    assert cells_of_trials.count("*") == (tried["chosen"] == "*").sum()
