"""Runs have the rates of the search, and the runs that it lacks have the centre of its grid."""

from pathlib import Path

from journeylab.catalogue import load, resolve_run
from journeylab.studies.exp13_published_mixers.search import (
    CENTRE,
    GRID,
    OTHER_CENTRES,
    TIE,
    GridPoint,
    centre,
    choose,
    measured,
)
from journeylab.studies.exp13_published_mixers.settings import Arm

ROOT = Path(__file__).parents[3]


def test_every_run_has_the_rate_of_the_search():
    settings = load(ROOT / "config.yaml").studies["exp13"]
    table = measured()
    for arm, chosen in settings.arms.items():
        for variant in chosen.variants if isinstance(chosen, Arm) else ():
            job = resolve_run("exp13", settings, arm, variant).settings
            tried = table.get(f"{arm}/{variant}", {})
            rate = choose(tried, job["model"]["layers"], centre(arm))
            assert job["training"]["learning_rate"] == rate, (arm, variant)


def test_the_centre_is_kept_unless_another_rate_is_better_by_more_than_a_tie():
    tried = dict.fromkeys(GRID, 0.5)
    assert choose(tried, 1) == CENTRE
    assert choose(tried | {GridPoint(0.003, 1): 0.5 + 0.9 * TIE}, 1) == CENTRE
    assert choose(tried | {GridPoint(0.003, 1): 0.5 + 1.1 * TIE}, 1) == 0.003
    assert choose(tried | {GridPoint(0.003, 1): 0.9}, 2) == CENTRE
    assert choose({}, 1) == CENTRE
    assert choose({}, 2, 0.003) == 0.003


def test_the_grid_has_rates_on_both_sides_of_every_centre_at_both_depths():
    rates = {point.rate for point in GRID}
    for usual in (CENTRE, *OTHER_CENTRES.values()):
        assert min(rates) < usual < max(rates)
        assert usual in rates
    assert {point.layers for point in GRID} == {1, 2}
    assert len(GRID) == 2 * len(rates)
