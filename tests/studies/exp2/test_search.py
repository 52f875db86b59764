"""The settings in config.yaml are those that the search chose."""

from pathlib import Path

import pytest
import yaml

from journeylab.studies.exp2_shuffled_kb.figures import tabulate
from journeylab.studies.exp2_shuffled_kb.search import (
    LONGER,
    POINTS,
    SEARCH,
    STEPS,
    choose,
)

STUDY = yaml.safe_load(Path("config.yaml").read_text(encoding="utf-8"))["studies"]["exp2"]


@pytest.mark.parametrize("run", SEARCH)
def test_a_judged_run_has_the_setting_that_the_search_chose(run):
    arm, variant = run.split("/")
    variants = STUDY["arms"][arm]["variants"]
    written = variants[variant] or {} if isinstance(variants, dict) else {}
    rate = written.get("training", {}).get("learning_rate", STUDY["training"]["learning_rate"])
    scale = written.get("model", {}).get("initial_scale", 1.0)
    assert (rate, scale) == POINTS[choose(run)]


@pytest.mark.parametrize("run", SEARCH)
def test_a_run_is_searched_with_the_steps_of_its_arm_and_trained_with_them_or_more(run):
    arm, variant = run.split("/")
    common = STUDY["arms"][arm].get("training", {}).get("steps", STUDY["training"]["steps"])
    assert common == STEPS[arm.removeprefix("M").partition("-")[0]]
    variants = STUDY["arms"][arm]["variants"]
    written = variants[variant] or {} if isinstance(variants, dict) else {}
    longer = LONGER[run][0] if run in LONGER else common
    assert written.get("training", {}).get("steps", common) == longer


def test_no_chosen_setting_lies_at_an_edge_of_the_rates():
    assert {POINTS[choose(run)][0] for run in SEARCH} <= {0.003, 0.01}


def test_the_table_of_the_search_has_a_row_per_run(results):
    frame = tabulate(results)["search"].frame
    assert len(frame) == len(SEARCH)
    assert set(frame["Chosen"]) == {"0.003", "0.01"}
