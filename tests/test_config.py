"""What a person may write in config.yaml, what it means, and what a mistake costs: one line."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import PositiveInt, ValidationError

from journeylab.config import (
    ArmSettings,
    Frozen,
    StudySettings,
    TrainingSettings,
    UserError,
    canonical,
    chunk_seeds,
    chunks,
    discover,
    load,
    read_yaml,
    resolve,
    study_module,
)

COMMITTED = Path(__file__).parents[1] / "config.yaml"
WRITTEN = read_yaml(COMMITTED)

Change = Callable[[dict[str, Any]], object]


def exp7(config: dict[str, Any]) -> dict[str, Any]:
    return config["studies"]["exp7"]


def arms(config: dict[str, Any]) -> dict[str, Any]:
    return exp7(config)["arms"]


def changed(change: Change) -> dict[str, Any]:
    content = copy.deepcopy(WRITTEN)
    change(content)
    return content


def refused(change: Change) -> str:
    with pytest.raises(UserError) as caught:
        resolve(changed(change))
    return str(caught.value)


# -- mistakes -------------------------------------------------------------------------------------

TRAINING = "studies.exp7.training"
NATIVE = "studies.exp7.arms.native"
SCALE = "studies.exp7.scales"

MISTAKES: dict[str, tuple[Change, tuple[str, ...]]] = {
    "a key at the top": (lambda c: c.update(sedes=3), ("sedes", "did you mean 'seeds'", "root")),
    "a scale's name": (lambda c: c.update(scale="qick"), ("scale", "'qick'", "quick", "paper")),
    "a scale that is a list": (lambda c: c.update(scale=["quick"]), ("scale", "['quick']")),
    "a scale without a seed count": (lambda c: c["seeds"].pop("default"), ("seeds", "'default'")),
    "no seeds": (lambda c: c["seeds"].update(quick=0), ("seeds.quick", "0", "greater than 0")),
    "seeds of another type": (lambda c: c.update(seeds=3), ("seeds", "3", "dictionary")),
    "an engine": (lambda c: c.update(engine="fast"), ("engine", "'fast'", "'sequential'")),
    "a folder with a blank": (lambda c: c.update(root="a b"), ("root", "'a b'")),
    "a folder that looks like an option": (lambda c: c.update(root="-rf"), ("root", "'-rf'")),
    "an address": (
        lambda c: c.update(tracking={"uri": "http://x; rm y"}),
        ("tracking.uri", "'http://x; rm y'"),
    ),
    "a study": (lambda c: c["studies"].update(exp77={}), ("studies.exp77", "'exp7'", "exp5")),
    "a study that is a number": (lambda c: c["studies"].update({7: {}}), ("studies.7", "exp7")),
    "a study that is a list": (lambda c: c["studies"].update(exp7=[1]), ("studies.exp7", "[1]")),
    "no studies": (lambda c: c.pop("studies"), ("studies", "mapping")),
    "a section": (
        lambda c: exp7(c).update(trainin={}),
        ("studies.exp7.trainin", "did you mean 'training'", "evaluation"),
    ),
    "a section that is left out": (lambda c: exp7(c).pop("training"), (TRAINING, "missing")),
    "a section that is empty": (lambda c: exp7(c).update(training=None), (TRAINING, "None")),
    "a section of a study that has none": (
        lambda c: c["studies"]["exp5"].update(training={}),
        ("studies.exp5.training", "accepted: chunk, arms, scales, certificates"),
    ),
    "a setting": (
        lambda c: exp7(c)["training"].update(learning_rte=0.1),
        (f"{TRAINING}.learning_rte", "did you mean 'learning_rate'", "warmup"),
    ),
    "a negative rate": (
        lambda c: exp7(c)["training"].update(learning_rate=-0.1),
        (f"{TRAINING}.learning_rate", "-0.1", "greater than 0"),
    ),
    "a rate that is not a number": (
        lambda c: exp7(c)["training"].update(learning_rate=float("nan")),
        (f"{TRAINING}.learning_rate", "nan", "finite"),
    ),
    "a rate that YAML reads as text": (
        lambda c: exp7(c)["training"].update(learning_rate="3e-3"),
        (f"{TRAINING}.learning_rate", "'3e-3'", "3.0e-3"),
    ),
    "a budget that YAML reads as a truth value": (
        lambda c: exp7(c)["training"].update(steps=True),
        (f"{TRAINING}.steps", "True", "number"),
    ),
    "a broken budget": (
        lambda c: exp7(c)["training"].update(steps=1.5),
        (f"{TRAINING}.steps", "1.5", "integer"),
    ),
    "a warm-up that never ends": (
        lambda c: exp7(c)["training"].update(warmup=9999),
        (TRAINING, "warmup 9999", "1800"),
    ),
    "an element of a list": (
        lambda c: exp7(c)["data"].update(generations=[4, 8, -9, 9]),
        ("studies.exp7.data.generations.2", "-9", "greater than 0"),
    ),
    "a variant": (lambda c: arms(c)["native"]["variants"].update(D={}), (NATIVE, "'D'", "Aprime")),
    "a variant that is null": (
        lambda c: arms(c)["native"]["variants"].update(A=None),
        (f"{NATIVE}.variants.A", "None"),
    ),
    "variants that are a list": (
        lambda c: arms(c)["native"].update(variants=["A"]),
        (f"{NATIVE}.variants", "['A']"),
    ),
    "an arm without variants": (
        lambda c: arms(c)["native"].update(variants={}),
        (f"{NATIVE}.variants", "at least 1"),
    ),
    "a variant's name": (
        lambda c: arms(c)["native"]["variants"].update({"A;rm": {}}),
        (f"{NATIVE}.variants", "'A;rm'", "[A-Za-z0-9_.-]"),
    ),
    "an arm's name": (
        lambda c: arms(c).update({"$(x)": arms(c).pop("7a")}),
        ("studies.exp7.arms", "'$(x)'", "[A-Za-z0-9_.-]"),
    ),
    "an arm's name with a line break": (
        lambda c: arms(c).update({"7a\n": arms(c).pop("7a")}),
        ("studies.exp7.arms", r"'7a\n'", "[A-Za-z0-9_.-]"),
    ),
    "an arm's name that leaves its folder": (
        lambda c: arms(c).update({"..": arms(c).pop("7a")}),
        ("studies.exp7.arms", "'..'"),
    ),
    "a key of an arm": (
        lambda c: arms(c)["7a"].update(linearization="all"),
        ("studies.exp7.arms.7a.linearization", "did you mean 'linearisation'", "enabled"),
    ),
    "a value of an arm": (
        lambda c: arms(c)["7a"].update(linearisation="al"),
        ("studies.exp7.arms.7a.linearisation", "'al'", "'held'"),
    ),
    "an arm's override": (
        lambda c: arms(c)["native"].update(training={"step": 3}),
        (f"{NATIVE}.training.step", "did you mean 'steps'", "learning_rate"),
    ),
    "an arm's overriding value": (
        lambda c: arms(c)["native"].update(training={"steps": -3}),
        (f"{NATIVE}.training.steps", "-3", "greater than 0"),
    ),
    "an override of an arm that is off": (
        lambda c: arms(c)["native-as-shipped"].update(training={"step": 3}),
        ("studies.exp7.arms.native-as-shipped.training.step", "'steps'"),
    ),
    "a variant's override": (
        lambda c: arms(c)["native"]["variants"].update(A={"training": {"step": 3}}),
        (f"{NATIVE}.variants.A.training.step", "did you mean 'steps'", "learning_rate"),
    ),
    "a variant's switch": (
        lambda c: arms(c)["native"]["variants"].update(A={"enabled": "perhaps"}),
        (f"{NATIVE}.variants.A.enabled", "'perhaps'", "boolean"),
    ),
    "a device": (lambda c: c.update(device="gpu"), ("device", "'gpu'", "'cuda'")),
    "a variant's key": (
        lambda c: arms(c)["native"]["variants"].update(A={"trainin": {}}),
        (f"{NATIVE}.variants.A.trainin", "did you mean 'training'"),
    ),
    "a scale under scales": (
        lambda c: exp7(c)["scales"].update(quik={}),
        (f"{SCALE}.quik", "'quick'", "'paper'"),
    ),
    "a section under scales": (
        lambda c: exp7(c)["scales"].update(quick={"trainin": {}}),
        (f"{SCALE}.quick.trainin", "did you mean 'training'"),
    ),
    "a setting under scales": (
        lambda c: exp7(c)["scales"].update(quick={"training": {"step": 3}}),
        (f"{SCALE}.quick.training.step", "did you mean 'steps'"),
    ),
    "a value under a scale that is not run": (
        lambda c: exp7(c)["scales"].update(paper={"training": {"steps": -3}}),
        (f"{SCALE}.paper.training.steps", "-3"),
    ),
    "an arm's override under a scale that is not run": (
        lambda c: exp7(c)["scales"].update(paper={"arms": {"7a": {"training": {"step": 3}}}}),
        (f"{SCALE}.paper.arms.7a.training.step", "did you mean 'steps'"),
    ),
    "a variant under a scale that is not run": (
        lambda c: exp7(c)["scales"].update(paper={"arms": {"7a": {"variants": {"D": {}}}}}),
        (f"{SCALE}.paper.arms.7a", "'D'", "Bprime"),
    ),
    "scales under a scale": (
        lambda c: exp7(c)["scales"].update(quick={"scales": {}}),
        (f"{SCALE}.quick.scales", "remove it"),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_with_file_key_value_and_what_would_be_right(mistake: str) -> None:
    change, expected = MISTAKES[mistake]
    message = refused(change)
    assert message.startswith("config.yaml: ")
    assert "\n" not in message
    assert all(part in message for part in expected), message


UNREADABLE = {
    "bad syntax": ("a: [1", "line"),
    "a tab": ("a:\n\tb: 1\n", "line 2"),
    "a key written twice": ("scale: quick\nscale: paper\n", "line 2: key 'scale' is written twice"),
    "a nested key written twice": ("a: {b: 1, b: 2}", "line 1: key 'b' is written twice"),
    "a key that is a list": ("{[1]: 2}", "unhashable key"),
    "a Python object": ("a: !!python/object:os.system {}", "python/object"),
    "a list": ("- 1\n- 2\n", "mapping"),
    "nothing": ("", "mapping"),
    "no text": ("a: \x00", "not a YAML text"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_file_that_is_no_yaml_mapping_is_refused_in_one_line(case: str, tmp_path: Path) -> None:
    text, expected = UNREADABLE[case]
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert expected in message
    assert "\n" not in message


def test_a_missing_file_a_folder_and_bytes_are_refused_in_one_line(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\xff")
    for path in (tmp_path / "none.yaml", tmp_path, binary):
        with pytest.raises(UserError) as caught:
            read_yaml(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)


def test_anchors_and_merge_keys_mean_what_yaml_says(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("a: &base {x: 1, y: 2}\nb: {<<: *base, y: 3}\n", encoding="utf-8")
    assert read_yaml(path) == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}}


def test_an_unknown_study_or_part_names_what_there_is() -> None:
    with pytest.raises(UserError, match=r"^study 'exp99' is unknown; there are: .*exp7"):
        study_module("exp99", "settings")
    with pytest.raises(UserError, match=r"^study exp5 has no models\.py$"):
        study_module("exp5", "models")


# -- what a configuration means -------------------------------------------------------------------


def test_the_committed_file_is_valid_at_every_scale() -> None:
    for scale, seeds in WRITTEN["seeds"].items():
        config = load(COMMITTED, {"scale": scale})
        assert config.seed_count == seeds


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        resolve(WRITTEN).scale = "paper"


def test_resolving_leaves_what_was_written_alone() -> None:
    before = copy.deepcopy(WRITTEN)
    resolve(WRITTEN)
    assert before == WRITTEN


def test_studies_are_in_numeric_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    studies = list(discover())
    assert studies == sorted(studies, key=lambda study: int(study.removeprefix("exp")))
    backwards = changed(lambda c: c.update(studies=dict(reversed(c["studies"].items()))))
    assert list(resolve(backwards).studies) == list(resolve(WRITTEN).studies)
    for name in ("exp10_b", "exp9_c", "exp1_d", "exp11_a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    monkeypatch.setattr("journeylab.studies.__path__", [str(tmp_path)])
    assert list(discover.__wrapped__()) == ["exp1", "exp9", "exp10", "exp11"]
    (tmp_path / "exp9_twin").mkdir()
    (tmp_path / "exp9_twin" / "__init__.py").touch()
    with pytest.raises(UserError, match=r"exp9_c and .*exp9_twin are both study exp9"):
        discover.__wrapped__()


def test_a_scale_changes_what_it_names_and_only_at_that_scale() -> None:
    def write(config: dict[str, Any]) -> None:
        exp7(config)["scales"] = {
            "quick": {"training": {"steps": 60}, "arms": {"7a": {"training": {"clip": 2.0}}}}
        }

    written = changed(write)
    quick, default = (resolve(written | {"scale": s}).studies["exp7"] for s in ("quick", "default"))
    plain = resolve(WRITTEN).studies["exp7"]
    for study, steps, clip in ((quick, 60, 2.0), (default, 1800, 1.0)):
        assert study.job("native", "A")["training"]["steps"] == steps
        assert study.job("native", "A")["training"]["clip"] == 1.0
        assert study.job("7a", "B")["training"]["clip"] == clip
    assert default.model_dump(exclude={"scales"}) == plain.model_dump(exclude={"scales"})
    assert list(quick.trained()) == list(plain.trained())


def test_what_is_overridden_on_the_command_line_replaces_top_level_keys(tmp_path: Path) -> None:
    config = load(COMMITTED, {"scale": "quick", "root": str(tmp_path)})
    assert (config.scale, config.root) == ("quick", str(tmp_path))


class Budget(TrainingSettings):
    rows: PositiveInt = 4


class Toy(StudySettings):
    class Data(Frozen):
        size: PositiveInt = 10

    data: Data = Data()
    training: Budget


values = st.fixed_dictionaries(
    {},
    optional={
        "steps": st.integers(1, 99),
        "learning_rate": st.floats(1e-6, 1.0),
        "rows": st.integers(1, 99),
    },
)


@given(study=values, arm=values, variant=values, other=values)
def test_a_variant_overrides_its_arm_and_an_arm_its_study(
    study: dict[str, Any], arm: dict[str, Any], variant: dict[str, Any], other: dict[str, Any]
) -> None:
    base = {"steps": 7, "learning_rate": 0.5} | study
    settings = Toy.model_validate(
        {
            "training": base,
            "arms": {
                "a": {"training": arm, "variants": {"x": {"training": variant}, "y": {}}},
                "b": {"training": other, "variants": {"x": {}}},
            },
        }
    )

    def resolved(*layers: dict[str, Any]) -> dict[str, Any]:
        merged = {key: value for layer in (base, *layers) for key, value in layer.items()}
        return Budget.model_validate(merged).model_dump(mode="json")

    assert settings.job("a", "x")["training"] == resolved(arm, variant)
    assert settings.job("a", "y")["training"] == resolved(arm)
    assert settings.job("b", "x")["training"] == resolved(other)


def test_a_job_depends_on_its_own_settings_only() -> None:
    def job(change: Change, arm: str = "native", variant: str = "A") -> str:
        return canonical(resolve(changed(change)).studies["exp7"].job(arm, variant))

    same: list[Change] = [
        lambda c: c.update(scale="paper"),
        lambda c: c["seeds"].update(default=20),
        lambda c: exp7(c).update(chunk=2),
        lambda c: exp7(c)["evaluation"].update(gate=0.5),
        lambda c: exp7(c)["certificates"].update(draws=3),
        lambda c: arms(c)["7a"].update(training={"steps": 5, "warmup": 0}),
        lambda c: arms(c)["native"]["variants"].update(Aprime={"training": {"clip": 3.0}}),
        lambda c: c["studies"]["exp5"]["certificates"].update(draws=3),
    ]
    other: list[Change] = [
        lambda c: exp7(c)["training"].update(clip=3.0),
        lambda c: exp7(c)["data"].update(teaching=0.5),
        lambda c: exp7(c)["model"].update(layers=1),
        lambda c: arms(c)["native"].update(training={"clip": 3.0}),
        lambda c: arms(c)["native"].update(attention="softplus"),
        lambda c: arms(c)["native"]["variants"].update(A={"training": {"clip": 3.0}}),
    ]
    here = job(lambda c: None)
    assert all(job(change) == here for change in same)
    assert all(job(change) != here for change in other)


def test_an_arm_that_is_off_is_not_trained() -> None:
    settings = StudySettings(
        arms={
            "on": ArmSettings.model_validate({"variants": {"a": {}, "b": {}}}),
            "off": ArmSettings.model_validate({"enabled": False, "variants": {"a": {}}}),
        }
    )
    assert list(settings.trained()) == [("on", "a"), ("on", "b")]


def test_a_variant_that_is_off_is_not_trained_and_may_be_off_at_one_scale() -> None:
    def write(config: dict[str, Any]) -> None:
        exp7(config)["scales"]["quick"]["arms"] = {
            "7a": {"variants": {"B-mlm": {"enabled": False}, "C": {"enabled": False}}}
        }

    written = changed(write)
    quick, default = (resolve(written | {"scale": s}).studies["exp7"] for s in ("quick", "default"))
    assert set(default.trained()) - set(quick.trained()) == {("7a", "B-mlm"), ("7a", "C")}
    assert quick.job("7a", "C")["model"] == default.job("7a", "C")["model"]
    assert "enabled" not in quick.job("7a", "C")


def test_equal_contents_have_one_canonical_text() -> None:
    assert canonical({"b": 1, "a": [1.5, "x"]}) == canonical({"a": [1.5, "x"], "b": 1})
    with pytest.raises(ValueError, match="JSON"):
        canonical({"a": float("nan")})


# -- chunks ---------------------------------------------------------------------------------------

counts = st.integers(1, 250)
sizes = st.integers(1, 40)


@given(seeds=counts, size=sizes)
def test_chunks_partition_the_seeds(seeds: int, size: int) -> None:
    parts = [list(chunk_seeds(chunk)) for chunk in chunks(seeds, size)]
    assert [seed for part in parts for seed in part] == list(range(seeds))
    assert all(len(part) == size for part in parts[:-1])
    assert 1 <= len(parts[-1]) <= size


@given(seeds=counts, more=st.integers(0, 100), size=sizes)
def test_more_seeds_add_chunks_and_at_most_extend_the_last(
    seeds: int, more: int, size: int
) -> None:
    before, after = chunks(seeds, size), chunks(seeds + more, size)
    complete = before if seeds % size == 0 else before[:-1]
    assert after[: len(complete)] == complete
    assert set(chunk_seeds(before[-1])) <= set(chunk_seeds(after[len(before) - 1]))


@given(seeds=counts, size=sizes)
def test_a_chunk_name_sorts_like_its_seeds_and_fits_the_rules(seeds: int, size: int) -> None:
    names = chunks(min(seeds, 100), size)
    assert names == sorted(names)
    assert all(re.fullmatch(r"seeds-\d{2,}-\d{2,}", name) for name in names)


@pytest.mark.parametrize("name", ["seeds-3-4", "seeds-04-03", "seeds-00-03\n", "seed-00-01", ""])
def test_a_name_that_is_no_chunk_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="seeds-FIRST-LAST"):
        chunk_seeds(name)


def test_the_written_file_survives_a_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(WRITTEN), encoding="utf-8")
    assert resolve(read_yaml(path)) == resolve(WRITTEN)
