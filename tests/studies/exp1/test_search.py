"""The settings in config.yaml are those that the search chose."""

from pathlib import Path

import pytest
import yaml

from journeylab.studies.exp1_group_languages.search import (
    FURTHER,
    POINTS,
    SEARCH,
    choose,
)


@pytest.mark.parametrize("run", SEARCH)
def test_a_judged_run_has_the_setting_that_the_search_chose(run):
    study = yaml.safe_load(Path("config.yaml").read_text(encoding="utf-8"))["studies"]["exp1"]
    task, variant = run.split("/")
    variants = study["arms"][task]["variants"]
    written = variants[variant] if isinstance(variants, dict) else {}
    rate = written.get("training", {}).get("learning_rate", study["training"]["learning_rate"])
    scale = written.get("model", {}).get("initial_scale", 1.0)
    assert (rate, scale) == (POINTS | FURTHER)[choose(run)]
