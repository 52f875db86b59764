"""The settings of the runs of exp10 are those of its search."""

from pathlib import Path

from journeylab.catalogue import load, resolve_run
from journeylab.claims.register import Every, cells, read_register
from journeylab.studies.exp10_circuit_encoders import search
from journeylab.studies.exp10_circuit_encoders.search import CENTRE, TRIALS, SearchPoint, choose

ROOT = Path(__file__).parents[3]
CLAIMS = read_register(ROOT / "claims").studies["exp10"]
JUDGED = [row for row in CLAIMS.claims if row.primary and not isinstance(row.effect, Every)]


def test_the_centre_is_kept_unless_another_point_is_better_by_more_than_a_tie():
    other = SearchPoint(0.01, CENTRE.spread)
    assert choose({CENTRE: 0.9, other: 0.904}) == CENTRE
    assert choose({CENTRE: 0.9, other: 0.906}) == other


def test_runs_of_judged_rows_have_the_settings_of_the_search():
    settings = load(ROOT / "config.yaml").studies["exp10"]
    judged = {f"{cell.arm}/{cell.variant}" for row in JUDGED for cell in cells(row.terms)}
    assert {f"{trial.arm}/{trial.variant}" for trial in TRIALS} == judged
    for trial in TRIALS:
        job = resolve_run("exp10", settings, trial.arm, trial.variant).settings
        tried = SearchPoint(job["training"]["learning_rate"], job["model"]["spread"])
        assert tried == trial.chosen


def test_no_search_ends_at_an_edge():
    for trial in TRIALS:
        best = max(trial.accuracies, key=trial.accuracies.__getitem__)
        rates = [point.rate for point in trial.accuracies if point.spread == CENTRE.spread]
        spreads = [point.spread for point in trial.accuracies if point.rate == best.rate]
        assert min(rates) < best.rate < max(rates)
        assert min(spreads) < best.spread < max(spreads)
        assert set(rates) <= set(search.RATES)
        assert set(spreads) <= set(search.SPREADS)
