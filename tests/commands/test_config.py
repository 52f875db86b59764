"""`journeylab config` shows every setting of a run, with its line in config.yaml."""

import re

import pytest
import yaml

from journeylab import catalogue
from journeylab.commands.config import settings_of
from journeylab.config import UserError

from ..made import PROJECT, invoke

CONFIG = PROJECT / "config.yaml"
LINES = CONFIG.read_text(encoding="utf-8").splitlines()
RUNS = {
    "exp2/witness/rope": {"computed": "computed: witness", "data.sizes": "sizes: ["},
    "exp6/decaying-toral-scores/separable": {"training.steps": "steps: 2000", "fit": "fit: scores"},
    "exp7/words/B": {"data.worlds": "words, data: {", "data.cities": "cities: 10"},
    "exp12/unscaled-k1/A": {
        "training.learning_rate": "k1: { data: {",
        "data.k": "k1: { data: {",
    },
    "exp12/size-k3/A-tail": {"training.learning_rate": "A-tail: { training:"},
    "exp13/A5/mamba3": {"training.steps": "&four-times", "model.scale": "mamba3: {"},
}
"""Runs, and what stands in the lines of some of their settings."""


def values(line: str) -> list[object]:
    """The numbers and words of a line."""
    text = re.sub(r"[&*][\w-]+", "", line.partition("#")[0])  # without anchors
    return [yaml.safe_load(word) for word in re.findall(r"[^\s,:{}\[\]]+", text)]


@pytest.mark.parametrize("scale", ["default", "quick"])
@pytest.mark.parametrize("run", RUNS)
def test_every_setting_has_the_line_that_writes_it(run: str, scale: str) -> None:
    shown = {name: (value, line) for name, value, line in settings_of(run, CONFIG, scale)}
    study, arm, variant = run.split("/")
    settings = catalogue.load(CONFIG, {"scale": scale}).studies[study]
    resolved = catalogue.resolve_run(study, settings, arm, variant)
    for section in {"model", "training"} & set(resolved.settings):
        kept = {name.partition(".")[2] for name in shown if name.startswith(f"{section}.")}
        assert kept >= set(resolved.settings[section])
    for name, (value, line) in shown.items():
        first = value[0] if isinstance(value, list) else value
        assert line is None or first in values(LINES[line - 1]), name
    if scale == "default":
        for name, text in RUNS[run].items():
            line = shown[name][1]
            assert line
            assert text in LINES[line - 1], name


def test_a_limit_of_a_scale_has_its_own_line() -> None:
    steps = {name: line for name, _, line in settings_of("exp13/A5/mamba3", CONFIG, "quick")}
    assert "steps: at_most 6," in LINES[steps["training.steps"] - 1]


def test_the_command_prints_names_values_and_places() -> None:
    printed = invoke("config", "exp7/characters/A", "--config", str(CONFIG)).splitlines()
    [line] = [line for line in printed if line.startswith("training.steps")]
    assert re.fullmatch(rf"training\.steps +3600 +{CONFIG}:\d+", line)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("exp", r"exp: .*config\.yaml has no study 'exp'"),
        ("exp7", "exp7: no such run, or it is off"),
        ("exp7/character/A", "did you mean"),
    ],
)
def test_an_unknown_run_is_refused(run: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(settings_of(run, CONFIG))
