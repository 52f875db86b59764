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


@pytest.mark.parametrize("run", SEARCH)
def test_every_run_was_trained_at_the_whole_grid_and_none_chose_an_edge(run):
    losses = SEARCH[run]
    assert set(GRID) <= set(losses)
    rate, scale = choose(losses)
    for tried, chosen in (
        ({of for of, c in losses if c == scale}, rate),
        ({c for of, c in losses if of == rate}, scale),
    ):
        assert len(tried) == 1 or min(tried) < chosen < max(tried)


def test_config_has_the_chosen_point_of_every_run():
    assert {arm for arm, _ in SEARCH} == set(ARMS) - {"random-one", "random-each", "certificates"}
    for (arm, variant), losses in SEARCH.items():
        family = STUDY["arms"][arm.partition("-")[0]]
        variants = family["variants"]
        own = variants.get(variant, {}) if isinstance(variants, dict) else {}
        level = _level(family, arm)
        sizes = STUDY["model"] | family.get("model", {}) | level.get("model", {})
        budget = STUDY["training"] | family.get("training", {}) | level.get("training", {})
        scale = (sizes | own.get("model", {}))["initial_scale"]
        rate = (budget | own.get("training", {}))["learning_rate"]
        assert (rate, scale) == choose(losses), (arm, variant)


def _level(family, arm):
    for levels in family.get("grid", {}).values():
        if isinstance(levels, dict):
            return levels[arm.partition("-")[2]]
    return {}


def test_the_table_marks_one_point_of_every_run():
    frame = tabulate_search(ARMS, LABELS).frame
    assert len(frame) == len(SEARCH)
    assert all(sum(cell.endswith("*") for cell in row[2:]) == 1 for row in frame.itertuples(False))
