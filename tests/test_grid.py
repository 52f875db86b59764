"""An arm with a grid is one arm for every combination of its levels."""

from collections.abc import Mapping
from typing import Any

import pytest

from journeylab.config import Name, StudySettings, TrainedArm, TrainingSettings, UserError, build
from journeylab.config.grids import at_scale


class Arm(TrainedArm):
    size: int = 1
    order: str = "sorted"


class Settings(StudySettings):
    arms: Mapping[Name, Arm]
    training: TrainingSettings


def settings(**arms: Any) -> Settings:
    content = {"arms": arms, "training": {"steps": 10, "learning_rate": 0.1}}
    return build(Settings, content, "config.yaml", ("studies", "exp1"))


SWEEP = {
    "variants": ["A", "B"],
    "size": 7,
    "grid": {
        "order": ["sorted", "shuffled"],
        "world": {
            "k1": {"size": 10, "training": {"steps": 3}},
            "k3": {"size": 30, "training": {"steps": 9}, "variants": ["A"]},
        },
    },
}
SPANNED = ["S-sorted-k1", "S-sorted-k3", "S-shuffled-k1", "S-shuffled-k3"]


def test_a_level_sets_a_key_or_overrides_several() -> None:
    study = settings(S=SWEEP, other={"variants": ["A"]})
    assert list(study.arms) == [*SPANNED, "other"]
    runs = {run: study.resolve(*run).settings for run in study.enabled()}
    assert ("S-sorted-k3", "B") not in runs
    assert runs["S-shuffled-k3", "A"]["order"] == "shuffled"
    sizes = {arm: (run["size"], run["training"]["steps"]) for (arm, _), run in runs.items()}
    assert sizes == dict(zip(SPANNED, [(10, 3), (30, 9)] * 2, strict=True)) | {"other": (1, 10)}


def test_a_number_appears_in_the_arm_name_as_written() -> None:
    study = settings(S={"variants": ["A"], "grid": {"size": [1, 10]}})
    assert {name: arm.size for name, arm in study.arms.items()} == {"S-1": 1, "S-10": 10}


@pytest.mark.parametrize("first", [True, False])
def test_settings_of_a_named_arm_override_its_grid(first: bool) -> None:
    own = {"S-shuffled-k3": {"training": {"steps": 1}}}
    study = settings(**(own | {"S": SWEEP} if first else {"S": SWEEP} | own))
    steps = {arm: study.resolve(arm, "A").settings["training"]["steps"] for arm in SPANNED}
    assert steps == dict(zip(SPANNED, [3, 9, 3, 1], strict=True))


def test_an_arm_of_a_grid_equals_the_same_arm_written_out() -> None:
    written = {"variants": ["A", "B"], "size": 10, "order": "sorted", "training": {"steps": 3}}
    spanned, alone = settings(S=SWEEP), settings(**{"S-sorted-k1": written})
    assert spanned.arms["S-sorted-k1"] == alone.arms["S-sorted-k1"]
    assert "grid" not in spanned.model_dump_json()


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        ([1, 2], "S.grid: write a mapping from keys to their levels"),
        ({"size": []}, "S.grid.size: write at least one level"),
        ({"size": 3}, "S.grid.size: write at least one level"),
        ({"size": [1, 1]}, "1 is written twice"),
        ({"size": [1, {"steps": 2}]}, "write numbers or names"),
        ({"size": [True]}, "write numbers or names"),
        ({"size": list(range(40)), "order": [str(n) for n in range(40)]}, "more than 1000 arms"),
        ({"size": {"a": 1}, "order": {"b/c": "x"}}, "arms.S-a-b/c"),
        ({"sizes": [1]}, "unknown key; did you mean 'size'?"),
    ],
)
def test_a_mistake_in_a_grid_is_refused(grid: object, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        settings(S={"variants": ["A"], "grid": grid})
    assert expected in str(caught.value)


def test_two_grids_cannot_make_the_same_arm() -> None:
    first = {"variants": ["A"], "grid": {"order": ["b-c"]}}
    second = {"variants": ["A"], "grid": {"order": ["c"]}}
    with pytest.raises(UserError, match=r"S-b\.grid: there is another S-b-c"):
        settings(**{"S": first, "S-b": second})


def test_a_limit_of_a_scale_holds_for_arms_variants_and_levels() -> None:
    section = {
        "training": {"steps": 100, "learning_rate": 0.1},
        "arms": {
            "S": {
                "training": {"steps": 50},
                "grid": {"m": {"one": {"training": {"steps": 90, "warmup": 9}}}},
                "variants": ["a", {"b": {"training": {"steps": 70, "dropout": 0.1}}}],
            },
            "training": {"steps": 80, "variants": {"b": {"training": {"steps": 70}}}},
        },
    }
    override = {
        "training": {"steps": "at_most 60", "warmup": "at_most 2", "dropout": "at_most 0"},
        "arms": {"S": {"training": {"steps": "at_most 40"}}},
    }
    assert at_scale(section, override) == {
        "training": {"steps": 60, "learning_rate": 0.1, "warmup": 2, "dropout": 0},
        "arms": {
            "S": {
                "training": {"steps": 40},
                "grid": {"m": {"one": {"training": {"steps": 60, "warmup": 2}}}},
                "variants": ["a", {"b": {"training": {"steps": 60, "dropout": 0}}}],
            },
            # an arm with the name of a section has keys of its own
            "training": {"steps": 80, "variants": {"b": {"training": {"steps": 60}}}},
        },
    }
    plain = at_scale(section, {"training": {"steps": 60}})
    assert plain["arms"] == section["arms"]


def test_a_list_may_mix_names_and_overrides() -> None:
    mixed = settings(S={"variants": ["a", {"b": {"model": {"d": 3}}}]})
    assert mixed == settings(S={"variants": {"a": {}, "b": {"model": {"d": 3}}}})
    for wrong in (["a", {"a": {}}], ["a", {"b": {}, "c": {}}], ["a", 1]):
        with pytest.raises(UserError, match="variants"):
            settings(S={"variants": wrong})
