"""The chosen settings are those of the search, and config.yaml has them."""

from pathlib import Path

import pytest
import yaml

from journeylab.studies.exp4_operator_recovery.metrics import ARMS, LABELS
from journeylab.studies.exp4_operator_recovery.search import (
    CENTRE,
    GRID,
    SEARCH,
    choose,
    tabulate_search,
)

WRITTEN = yaml.safe_load((Path(__file__).parents[3] / "config.yaml").read_text(encoding="utf-8"))
STUDY = WRITTEN["studies"]["exp4"]


def test_the_centre_is_chosen_unless_another_point_is_clearly_better():
    losses = dict.fromkeys(GRID, 2.3)
    assert choose(losses) == CENTRE
    assert choose(losses | {(0.01, 0.5): 2.296}) == CENTRE
    assert choose(losses | {(0.01, 0.5): 2.294}) == (0.01, 0.5)


@pytest.mark.parametrize("run", [run for run in SEARCH if set(GRID) <= set(SEARCH[run])])
def test_no_run_with_the_whole_grid_chose_an_edge(run):
    losses = SEARCH[run]
    rate, scale = choose(losses)
    for tried, chosen in (
        ({of for of, c in losses if c == scale}, rate),
        ({c for of, c in losses if of == rate}, scale),
    ):
        assert len(tried) == 1 or min(tried) < chosen < max(tried)


def test_config_has_the_chosen_point_of_every_run():
    for (arm, variant), losses in SEARCH.items():
        assert written(arm, variant) == choose(losses), (arm, variant)


def test_runs_under_pressure_have_the_settings_without_it():
    for pressed, free in (("single-0.1", "single-0"), ("positions-pressed", "positions-free")):
        assert written(pressed, "near-identity") == choose(SEARCH[free, "near-identity"])


def written(arm, variant):
    """The rate and the initial scale of a run in config.yaml."""
    family = STUDY["arms"][arm.partition("-")[0]]
    variants = family["variants"]
    own = variants[variant] if isinstance(variants, dict) else {}
    layers = (STUDY, family, _level(family, arm), own)
    model, training = ({}, {})
    for layer in layers:
        model |= layer.get("model", {})
        training |= layer.get("training", {})
    return training["learning_rate"], model["initial_scale"]


def _level(family, arm):
    for levels in family.get("grid", {}).values():
        if isinstance(levels, dict):
            return levels[arm.partition("-")[2]]
    return {}


def test_the_table_marks_one_point_of_every_run():
    frame = tabulate_search(ARMS, LABELS).frame
    assert len(frame) == len(SEARCH)
    assert all(sum(cell.endswith("*") for cell in row[2:]) == 1 for row in frame.itertuples(False))
