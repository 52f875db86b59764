"""config.yaml: valid settings, their meaning, and one error line for each mistake."""

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import PositiveInt

from journeylab.catalogue import discover, load, measure_part, models_part, resolve, runs_of
from journeylab.commands.schema import config_schema
from journeylab.config import (
    ComputedArm,
    Frozen,
    Name,
    RunSettings,
    StudySettings,
    TrainedArm,
    TrainingSettings,
    UserError,
    canonical,
    chunk_seeds,
    chunks,
    parse_yaml,
    read_yaml,
)
from journeylab.config.grids import merge
from journeylab.workflow.planning import WorkflowPlan

from .made import PROJECT

COMMITTED = PROJECT / "config.yaml"
WRITTEN = read_yaml(COMMITTED)
FEW = WRITTEN | {"studies": {f"exp{i}": WRITTEN["studies"][f"exp{i}"] for i in (2, 3, 5, 7, 10)}}
"""Five studies, which resolve in a third of the time of all."""

Change = Callable[[dict[str, Any]], object]


def exp7(config: dict[str, Any]) -> dict[str, Any]:
    return config["studies"]["exp7"]


def exp2(config: dict[str, Any]) -> dict[str, Any]:
    return config["studies"]["exp2"]


def arms(config: dict[str, Any]) -> dict[str, Any]:
    return exp7(config)["arms"]


def override(config: dict[str, Any], arm: str, **variants: object) -> None:
    """Write the variants of an arm of exp7 as a mapping with these overrides."""
    arms(config)[arm] = merge(arms(config)[arm], {"variants": variants})


def changed(change: Change) -> dict[str, Any]:
    content = copy.deepcopy(FEW)
    change(content)
    return content


def refused(change: Change) -> str:
    with pytest.raises(UserError) as caught:
        resolve(changed(change))
    return str(caught.value)


def runs(change: Change, study: str = "exp7") -> dict[tuple[str, str], RunSettings]:
    """Every run of a study by arm and variant."""
    settings = resolve(changed(change)).studies[study]
    return {(run.arm, run.variant): run for run in runs_of(study, settings)}


def differing(first: dict[Any, Any], second: dict[Any, Any]) -> set[Any]:
    """The keys whose values differ between two mappings."""
    return {key for key in first.keys() | second.keys() if first.get(key) != second.get(key)}


def unchanged(config: dict[str, Any]) -> None:
    """No change."""


# -- mistakes -------------------------------------------------------------------------------------

ARM = {"variants": ["A"]}
FAR, OWN = "1000000000", "exp7.arms.algebra"
MISTAKES: list[tuple[str, Any, *tuple[str, ...]]] = [
    ("|sedes", 3, "sedes", "did you mean 'seeds'", "root"),
    ("scale", "qick", "'qick'", "quick", "default"),
    ("scale", ["quick"], "['quick']"),
    ("scale", "x" * 5000, "xxx…", "'quick'"),
    ("scale", "x" * 10_000, "xxx…", "less text"),
    ("scale", "\ud800", r"\ud800"),
    ("seeds", "all", "'all'", "dictionary"),
    ("seeds_from", 2**62, str(2**62), FAR),
    ("engine", "fast", "'fast'", "'sequential'"),
    ("root", "-rf", "'-rf'"),
    ("tracking.uri", "http://x; rm y", "'http://x; rm y'"),
    ("tracking.enabled", 0, "0: write true or false"),
    ("anonymous", "true", "'true': write true or false; after --config: True or False"),
    ("|studies", ..., "studies", "mapping"),
    ("studies", {}, "mapping"),
    ("studies.exp77", {}, "'exp7'", "exp5"),
    ("exp7", [1], "[1]"),
    ("exp5", None, "arms", "missing"),
    ("exp5.training", {}, "accepted: chunk, datasets, arms, scales"),
    ("exp7.training", ..., "missing"),
    ("exp7.training|", 1, "key ''"),
    ("exp7.training.learning_rte", 0.1, "did you mean 'learning_rate'", "warmup"),
    ("exp7.training.learning_rate", -0.1, "-0.1", "greater than 0"),
    ("exp7.training.learning_rate", float("nan"), "nan", "finite"),
    ("exp7.training.learning_rate", "3e-3", "'3e-3'", "without quotes"),
    ("exp7.training.steps", 1.5, "1.5", "integer"),
    ("exp7.training.steps", 10**9, FAR, "1000000"),
    ("exp7.training.steps", 10**5000, "2^63"),
    ("exp7.training|warmup", 9999, "warmup 9999", "2000"),
    ("exp7.evaluation.templates", [], "[]", "at least 1"),
    ("exp7.evaluation.templates", [0, 0, 0], "[0, 0, 0]", "0 is written twice"),
    ("exp7.datasets", ..., "missing"),
    ("exp7.datasets|$(x)", {}, "'$(x)'", "[A-Za-z0-9_.@-]"),
    ("exp7.datasets.plan.generations", [4, 8, -9, 9], ".2", "-9", "greater than 0"),
    ("exp2.datasets.keys.size", 3, "did you mean 'sizes'", "questions"),
    ("exp2.datasets.keys|task", ..., "task: lookup", "task: relations"),
    ("exp2.datasets|Keys", {"task": "lookup"}, "'keys' and 'Keys'", "rename"),
    ("exp2.arms.M20-sorted|dataset", "kees", "dataset 'kees'", "accepted: keys, relations"),
    ("exp2.arms.M20-sorted|dataset", ..., "dataset is missing", "accepted: keys, relations"),
    ("exp2.arms.witness|dataset", "kees", "dataset 'kees'", "accepted: keys, relations"),
    ("exp5.arms.bridge.variants", {"rotation": {"model": {"a": 3}}}, ".model", "remove it"),
    ("exp7.arms", {}, "at least one arm"),
    ("exp7.arms|words\n", ARM, r"'words\n'", "[A-Za-z0-9_.@-]"),
    ("exp7.arms|..", ARM, "'..'"),
    ("exp7.arms|Collect", ARM, "'Collect'", "another name"),
    ("exp7.arms|verdicts.json", ARM, "'verdicts.json'", "another name"),
    ("exp7.arms|Characters", ARM, "'characters' and 'Characters'", "rename"),
    (f"{OWN}.drawz", 3, "did you mean 'draws'", "computed, replicates"),
    (f"{OWN}.training", {"steps": 3}, "unknown key", "computed, replicates"),
    (f"{OWN}.computed", "algebr", "'algebr'", "'algebra'"),
    (f"{OWN}.dataset", "plan", "remove it"),
    (f"{OWN}|variants", ["slots", "D"], "'D'", "'decoding'"),
    ("exp7.arms.characters.enabled", "yes", "'yes'", "true or false"),
    ("exp7.arms.characters|data", {"citie": 3}, "data.citie", "did you mean 'cities'", "teaching"),
    ("exp7.arms.characters|(x", {"(trained)": 1}, "key '(x'", "[A-Za-z0-9_.@-]"),
    ("exp7.arms.characters|variants", ["A", "D"], "'D'", "accepted: A, Aprime"),
    ("exp7.arms.characters.variants", ["A", "A"], "A is written twice"),
    ("exp7.arms.characters.variants", ["A", 3], "['A', 3]"),
    ("exp7.arms.characters.variants", ["A;rm"], "'A;rm'", "[A-Za-z0-9_.-]"),
    ("exp7.arms.characters.variants", ["A", ""], ".'': ''", "[A-Za-z0-9_.-]"),
    ("exp7.arms.characters.variants", ["Aprime", "APRIME"], "'Aprime' and 'APRIME'", "rename"),
    ("exp7.arms.characters.variants", {"A": {"training": {"step": 3}}}, ".step", "mean 'steps'"),
    ("exp7.scales.quik", {}, "'quick'", "'default'"),
    ("exp7.scales.quick.scales", {}, "remove it"),
    ("exp7.scales.quick.training.step", 3, "did you mean 'steps'"),
    ("exp7.scales.default.arms.words.training.step", 3, "did you mean 'steps'"),
    ("exp7.scales.default.arms.words|variants", {"D": {}}, "'D'", "Bprime"),
]
"""Where a value is written (`...` removes it), and what the message says beside that place.

What follows `|` is one key, which the message does not give as its place.
"""


def written_at(place: str, value: object) -> Change:
    def change(config: dict[str, Any]) -> None:
        named, bar, last = place.partition("|")
        *path, last = [*filter(None, full(named).split(".")), *([last] if bar else [])]
        node: Any = config
        for key in path:
            node = node[int(key)] if isinstance(node, list) else node.setdefault(key, {})
        if value is ...:
            del node[last]
        else:
            node[int(last) if isinstance(node, list) else last] = value

    return change


def full(place: str) -> str:
    return f"studies.{place}" if place.startswith("exp") else place


def own_dataset(config: dict[str, Any], name: str) -> None:
    """Arm characters reads the dataset `name`, and arm words changes the one that it reads."""
    exp7(config)["datasets"][name] = {"cities": 20}
    for arm in arms(config).values():
        if "computed" not in arm:
            arm["dataset"] = "plan"
    arms(config)["characters"]["dataset"] = name
    arms(config)["words"]["data"] = {"cities": 11}


OTHERS: list[tuple[Change, *tuple[str, ...]]] = [
    (lambda c: own_dataset(c, "plan.words"), "exp7.arms.words.data", "'plan.words'", "rename"),
    (lambda c: own_dataset(c, "Plan.Words"), "exp7.arms.words.data", "'plan.words'", "rename"),
    (lambda c: c.update(seeds={}, scale="quick"), "seeds", "'quick'"),
    (lambda c: c["studies"].update({7: {}}), "studies.7", "exp7"),
    (
        lambda c: (c["seeds"].update(default=10_000), exp7(c).update(chunk=1)),
        *("seeds.default", "10000 in chunks of", "at most 20000"),
    ),
    (lambda c: c.update(root=(endless := []), device=endless.append(endless)), "root.0", "nested"),
    (lambda c: c.update({None: 1}), "key None", "name"),
    (lambda c: arms(c).update({False: ARM}), "exp7.arms", "key False", "name"),
    (
        lambda c: [arm.update(enabled=False) for arm in arms(c).values()],
        *("exp7", "all of them are off", "enabled: true"),
    ),
]


CASES = [(written_at(at, value), at.partition("|")[0], said) for at, value, *said in MISTAKES]
CASES += [(change, place, said) for change, place, *said in OTHERS]


@pytest.mark.parametrize(("change", "place", "expected"), CASES, ids=[case[1] for case in CASES])
def test_a_mistake_gives_one_line_with_file_key_value_and_remedy(
    change: Change, place: str, expected: list[str]
) -> None:
    message = refused(change)
    assert message.startswith(f"config.yaml: {full(place)}")
    assert all(part in message for part in expected), message


UNREADABLE = {
    "bad syntax": ("a: [1", "line"),
    "a tab": ("a:\n\tb: 1\n", "line 2"),
    "a key written twice": ("root: a\nroot: b\n", "line 2: key 'root' is written twice"),
    "a nested key written twice": ("a: {b: 1, b: 2}", "line 1: key 'b' is written twice"),
    "a key that is a list": ("{[1]: 2}", "unhashable key"),
    "a Python object": ("a: !!python/object:os.system {}", "python/object"),
    "a list": ("- 1\n- 2\n", "mapping"),
    "nothing": ("", "mapping"),
    "a NUL character": ("a: \x00", "not a YAML text"),
    "a day that does not exist": ("a:\n  b: 2001-99-99", "line 2: '2001-99-99' cannot be read"),
    "a timestamp without a date": ("a: !!timestamp x", "line 1: 'x' cannot be read"),
    "letters tagged as a number": ("a: !!int zz", "line 1: 'zz' cannot be read as int"),
    "letters tagged as a truth value": ("a: !!bool x", "line 1: 'x' cannot be read as bool"),
    "a number of 5,000 digits": (f"a: {'9' * 5000}", "999…"),
    "a hexadecimal number of 5,000 digits": (f"a: 0x{'f' * 5000}", "below 2^63"),
    "a number in base 60": (f"a: 1{':59' * 3000}.5", ":59:59"),
    "a version of 5,000 digits": (f"%YAML {'9' * 5000}.1\n---\na: 1", "not a YAML text"),
    "a set": ("a: !!set {x}", "the tag set"),
    "binary data": ("a: !!binary AAAA", "'AAAA' has the tag binary"),
    "a character outside Unicode": ('a: "\\U00110000"', "not a YAML text"),
    "a lone surrogate": ('a: "\\ud800"', "UTF-8"),
    "a lone surrogate in a key": ('"\\ud800": 1', "key"),
    "an empty key": ("a: {'': 1}", "a: key ''"),
    "a key with a bracket": ("a: [{'(x': 1}]", "a.0: key '(x'"),
    "a key that snakemake interprets": ("__use_yte__: true", "'__use_yte__'"),
    "3,000 brackets": (f"a: {'[' * 3000}", "40 deep"),
    "3,000 brackets, opened and closed": (f"a: {'[' * 3000}{']' * 3000}", "40 deep"),
    "deep nesting by aliases": (
        "a: {a0: &a0 [x]" + "".join(f", a{i}: &a{i} [*a{i - 1}]" for i in range(1, 500)) + "}",
        "nested more than 40 deep",
    ),
    "a list that contains itself": ("a: &a [*a]", "nested more than 40 deep"),
    "a mapping that contains itself": ("a: &a {b: *a}", "nested more than 40 deep"),
    "many values by aliases": (
        "a: &a0 [1]\n" + "".join(f"b{i}: &a{i} [{f'*a{i - 1}, ' * 9}]\n" for i in range(1, 20)),
        "more than 20000 values",
    ),
    "many keys by merging": (
        "a: &a0 {x: 1}\n"
        + "".join(f"b{i}: &a{i} {{<<: [{f'*a{i - 1}, ' * 9}]}}\n" for i in range(1, 20)),
        "more than 1000 keys",
    ),
    "many values": (f"a: [{'1, ' * 41_000}]", "more than 20000 values"),
    "a long file": (f"a: {'x' * 300_001}", "300000 characters"),
    "a long text": (f"a: {'x' * 10_000}", "less text"),
    "a long alias": (f"a: *{'x' * 5000}", "undefined alias"),
    "a long tag": (f"a: !{'x' * 5000} y", "the tag !xxx"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_file_that_is_not_a_yaml_mapping_gives_one_error_line(case: str, tmp_path: Path) -> None:
    text, expected = UNREADABLE[case]
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=f"^{path}: .*{re.escape(expected)}"):
        load(path)


def test_an_unreadable_file_gives_one_error_line(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\xff")
    for path in (tmp_path / "none.yaml", tmp_path, binary):
        with pytest.raises(UserError, match=f"^{path}: "):
            read_yaml(path)


def test_anchors_and_merge_keys_follow_yaml(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("a: &base {x: 1, y: 2}\nb: {<<: *base, y: 3}\n", encoding="utf-8")
    assert read_yaml(path) == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}}
    path.write_text("a: &a {x: 1}\nq: {b: &b {<<: *a, x: 2}}\nc: {<<: *b}\n", encoding="utf-8")
    assert read_yaml(path) == {"a": {"x": 1}, "q": {"b": {"x": 2}}, "c": {"x": 2}}


NUMBERS = "[1e-05, -2E3, +.5e+1, 1.e-3, 3.0e-3]"
TEXTS = "['1e-05', 1e, e5, 1e5x, 1.5.2e3]"


@pytest.mark.parametrize("loader", ["libyaml", "PyYAML"])
def test_numbers_are_those_of_yaml_1_2_which_dvc_writes(
    loader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if loader == "PyYAML":
        monkeypatch.setattr(yaml, "__with_libyaml__", False)
    read = parse_yaml(f"numbers: {NUMBERS}\ntexts: {TEXTS}\n")
    assert read["numbers"] == [1e-05, -2000.0, 5.0, 0.001, 0.003]
    assert read["texts"] == ["1e-05", "1e", "e5", "1e5x", "1.5.2e3"]


def test_an_unknown_study_or_missing_part_is_named() -> None:
    with pytest.raises(UserError, match=r"^study 'exp99' is unknown; there are: .*exp7"):
        models_part("exp99")
    with pytest.raises(UserError, match=r"^study exp5 has no models\.py$"):
        models_part("exp5")
    with pytest.raises(UserError, match=r"^study exp5 has no measure\.py$"):
        measure_part("exp5")


REFUSED_ROOTS = {
    "/": "below this one",
    "//": "below this one",
    "..": "below this one",
    "build/../..": "below this one",
    "/dev/null": "system",
    "/dev": "system",
    "/proc/x": "system",
    ".git": "project",
    "./.git/x": "project",
    "build/.git": "project",
    ".snakemake": "project",
    "src": "project",
    "SRC/x": "project",
    str(PROJECT / "src"): "project",
    "Makefile": "is no folder",
    "a" * 300: "cannot be a folder",
    "a" * 3000: "at most 1000",
}


@pytest.mark.parametrize("root", REFUSED_ROOTS)
def test_a_root_in_project_or_system_folders_is_refused(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    message = refused(lambda c: c.update(root=root))
    assert message.startswith("config.yaml: root: ")
    assert REFUSED_ROOTS[root] in message
    assert len(message) <= 290


def test_any_other_root_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    for root in (".", "build/quick", "/dev/shm/lab", str(tmp_path), str(PROJECT), "/data/lab"):
        assert resolve(changed(lambda c, root=root: c.update(root=root))).root == root


def numbers(node: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of keys to each number."""
    inner = node.items() if isinstance(node, Mapping) else ()
    inner = enumerate(node) if isinstance(node, list) else inner
    for key, value in inner:
        yield from numbers(value, (*at, key))
    if isinstance(node, int | float) and not isinstance(node, bool):
        yield at


def test_a_truth_value_or_text_in_place_of_a_number_is_refused() -> None:
    paths = [path for path in numbers(WRITTEN) if "at" not in path]  # a level may be a text
    assert len(paths) > 100
    for index, (*parents, last) in enumerate(paths):
        value = (True, "1")[index % 2]
        content = copy.deepcopy(WRITTEN)
        if parents[:1] == ["studies"]:  # one study resolves faster than all
            content["studies"] = {parents[1]: content["studies"][parents[1]]}
        node: Any = content
        for key in parents:
            node = node[key]
        node[last] = value
        with pytest.raises(UserError, match=repr(value)):
            resolve(content)


def test_every_count_has_an_upper_bound() -> None:
    def unbounded(node: object, at: str) -> Iterator[str]:
        if isinstance(node, Mapping):
            bounds = {"maximum", "exclusiveMaximum", "enum", "const"}
            if node.get("type") == "integer" and not bounds & set(node):
                yield at
            for key, value in node.items():
                yield from unbounded(value, f"{at}.{key}")
        elif isinstance(node, list):
            for value in node:
                yield from unbounded(value, at)

    assert list(unbounded(config_schema(), "config")) == []


# -- the meaning of a configuration ---------------------------------------------------------------


def test_the_committed_file_is_valid_at_every_scale_with_overrides(tmp_path: Path) -> None:
    for scale, seeds in WRITTEN["seeds"].items():
        config = load(COMMITTED, {"scale": scale, "root": str(tmp_path)})
        assert (config.scale, config.seed_count, config.root) == (scale, seeds, str(tmp_path))


def test_resolving_does_not_change_its_input() -> None:
    before = copy.deepcopy(WRITTEN)
    resolve(WRITTEN)
    assert before == WRITTEN


def test_studies_are_in_numeric_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    studies = list(discover())
    assert studies == sorted(studies, key=lambda study: int(study.removeprefix("exp")))
    backwards = changed(lambda c: c.update(studies=dict(reversed(c["studies"].items()))))
    assert list(resolve(backwards).studies) == list(FEW["studies"])
    for name in ("exp10_b", "exp9_c", "exp1_d", "exp11_a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    monkeypatch.setattr("journeylab.catalogue.STUDIES", tmp_path)
    assert list(discover.__wrapped__()) == ["exp1", "exp9", "exp10", "exp11"]
    (tmp_path / "exp9_twin").mkdir()
    (tmp_path / "exp9_twin" / "__init__.py").touch()
    with pytest.raises(UserError, match=r"exp9_c and .*exp9_twin are both study exp9"):
        discover.__wrapped__()


def test_a_scale_changes_only_the_settings_that_it_names() -> None:
    def write(config: dict[str, Any], scale: str) -> None:
        config["scale"] = scale
        exp7(config)["scales"] = {
            "quick": {"training": {"steps": 60}, "arms": {"words": {"training": {"clip": 2.0}}}}
        }

    quick, default = (runs(partial(write, scale=scale)) for scale in ("quick", "default"))
    for resolved, steps, clip in ((quick, 60, 2.0), (default, 2000, 1.0)):
        assert resolved["words", "B"].settings["training"]["steps"] == steps
        assert resolved["characters", "A"].settings["training"]["clip"] == 1.0
        assert resolved["words", "B"].settings["training"]["clip"] == clip
    assert default == runs(unchanged)
    assert list(quick) == list(default)


class Budget(TrainingSettings):
    rows: PositiveInt = 4


class Size(Frozen):
    size: PositiveInt = 10


class Toy(StudySettings):
    datasets: Mapping[Name, Size]
    arms: Mapping[Name, TrainedArm]
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
            "datasets": {"numbers": {}},
            "training": base,
            "arms": {
                "a": {"training": arm, "variants": {"x": {"training": variant}, "y": {}}},
                "b": {"training": other, "variants": ["x"]},
            },
        }
    )

    def resolved(*layers: dict[str, Any]) -> dict[str, Any]:
        merged = {key: value for layer in (base, *layers) for key, value in layer.items()}
        return Budget.model_validate(merged).model_dump(mode="json")

    assert settings.resolve("a", "x").settings["training"] == resolved(arm, variant)
    assert settings.resolve("a", "y").settings["training"] == resolved(arm)
    assert settings.resolve("b", "x").settings["training"] == resolved(other)


def test_an_arm_that_overrides_its_data_has_its_own_dataset() -> None:
    before = runs(unchanged)
    after = runs(lambda c: arms(c)["characters"].update(data={"cities": 11}))
    own = {pair for pair in before if pair[0] == "characters"}
    assert differing(before, after) == own
    assert {before[pair].dataset for pair in own} == {"plan"}
    for pair in own:
        assert after[pair].dataset == "plan.characters"
        assert after[pair].data == before[pair].data | {"cities": 11}
    others = {run.dataset for run in before.values() if not run.computed}
    known = {run.dataset for run in after.values() if not run.computed}
    assert known == others | {"plan.characters"}  # arm marks still reads the plan's


def test_an_arm_of_a_study_with_one_dataset_need_not_name_it() -> None:
    def write(config: dict[str, Any], name: str | None) -> None:
        del exp7(config)["datasets"]["larger"], arms(config)["larger"]
        del exp7(config)["scales"]["quick"]["datasets"]
        for arm in arms(config).values():
            arm.pop("dataset", None)
            if "computed" not in arm and name:
                arm["dataset"] = name

    assert runs(partial(write, name="plan")) == runs(partial(write, name=None))


def test_a_run_holds_the_settings_of_its_dataset_only() -> None:
    written = exp2(WRITTEN)["datasets"]
    for (arm, _), run in runs(unchanged, "exp2").items():
        assert run.settings["data"] == written["relations" if arm == "relations" else "keys"]


def test_a_computed_arm_is_run_without_training_or_data() -> None:
    settings = resolve(WRITTEN).studies["exp7"]
    computed = {pair for pair in settings.enabled() if pair[0] == "algebra"}
    assert computed
    assert set(settings.enabled()) - set(settings.trained()) == computed
    for pair, run in runs(unchanged).items():
        assert run.computed == run.once == (pair in computed)
        assert (run.dataset is None) == run.computed


@pytest.mark.parametrize("replicates", ["once", "seeds"])
def test_a_computed_arm_without_variants_has_one_named_all(replicates: str) -> None:
    arm = ComputedArm.model_validate({"computed": "sum", "replicates": replicates})
    settings = StudySettings(arms={"sums": arm})
    assert list(settings.enabled()) == [("sums", "all")]
    run = settings.resolve("sums", "all")
    assert run.settings == {"computed": "sum", "variant": "all"}
    assert run.once == (replicates == "once")


def test_a_run_depends_on_its_own_settings_only() -> None:
    def run(change: Change, arm: str, variant: str) -> str:
        return canonical(runs(change)[arm, variant].settings)

    same: list[Change] = [
        lambda c: c["seeds"].update(default=20),
        lambda c: exp7(c).update(chunk=2),
        lambda c: exp7(c)["evaluation"].update(gate=0.5),
        lambda c: arms(c)["algebra"].update(draws=3),
        lambda c: arms(c)["words"].update(training={"steps": 5, "warmup": 0}),
        lambda c: arms(c)["words"].update(data={"cities": 11}),
        lambda c: override(c, "characters", Aprime={"training": {"clip": 3.0}}),
        lambda c: c["studies"]["exp5"]["arms"]["bridge"].update(draws=3),
        lambda c: exp7(c)["training"].update(clip=1),
    ]
    other: list[Change] = [
        lambda c: exp7(c)["training"].update(clip=3.0),
        lambda c: exp7(c)["datasets"]["plan"].update(teaching=0.5),
        lambda c: exp7(c)["model"].update(layers=1),
        lambda c: arms(c)["characters"].update(training={"clip": 3.0}),
        lambda c: arms(c)["characters"].update(data={"cities": 11}),
        lambda c: arms(c)["characters"].update(tokens="words"),
        lambda c: override(c, "characters", A={"training": {"clip": 3.0}}),
    ]
    before = run(unchanged, "characters", "A")
    assert [n for n, change in enumerate(same) if run(change, "characters", "A") != before] == []
    assert [n for n, change in enumerate(other) if run(change, "characters", "A") == before] == []


def test_a_disabled_arm_is_not_run() -> None:
    settings = StudySettings(
        arms={
            "on": TrainedArm.model_validate({"variants": ["a", "b"]}),
            "off": TrainedArm.model_validate({"enabled": False, "variants": ["a"]}),
        }
    )
    assert list(settings.enabled()) == list(settings.trained()) == [("on", "a"), ("on", "b")]


def test_a_variant_can_be_disabled_at_one_scale() -> None:
    def write(config: dict[str, Any], scale: str) -> None:
        config["scale"] = scale
        off = {"Bprime": {"enabled": False}, "C": {"enabled": False}}
        exp7(config)["scales"]["quick"]["arms"] = {"words": {"variants": off}}

    quick, default = (runs(partial(write, scale=scale)) for scale in ("quick", "default"))
    assert default.keys() - quick.keys() == {("words", "Bprime"), ("words", "C")}
    assert quick.keys() < default.keys()
    assert "enabled" not in quick["words", "B"].settings


# -- jobs that a setting changes ------------------------------------------------------------------

COLLECTED = {f"exp2/{stage}.json" for stage in ("collect", "judge", "draw", "typeset")}
COLLECTED |= {"respond.json", "index.json"}
COLLECTED |= {f"exp2/looks/{seeds}.json" for seeds in (12, 16, 20, 24, 28, 32)}
"""Plans of the jobs that read all runs of exp2."""


@cache
def plan_keys(change: Change) -> dict[str, str]:
    plan = WorkflowPlan(changed(change), PROJECT / "claims")
    return {name: job.key for name, job in plan.plans()}


@pytest.mark.parametrize(
    ("change", "own"),
    [
        (
            lambda c: exp2(c)["datasets"]["relations"].update(subjects=6),
            ("exp2/relations/", "exp2/data/relations/"),
        ),
        (lambda c: exp2(c)["arms"]["invariance"].update(draws=3), ("exp2/invariance/",)),
        (
            lambda c: exp2(c)["arms"]["M20-sorted"].update(data={"questions": 20}),
            ("exp2/M20-sorted/", "exp2/data/keys.M20-sorted/"),
        ),
    ],
)
def test_a_setting_changes_the_jobs_that_read_it_only(change: Change, own: tuple[str, ...]) -> None:
    before, after = plan_keys(unchanged), plan_keys(change)
    jobs = {name for name in before | after if name.startswith(own)}
    assert all(any(name.startswith(each) for name in jobs) for each in own)
    assert differing(before, after) == jobs | COLLECTED


# -- canonical text -------------------------------------------------------------------------------


def test_equal_contents_have_one_canonical_text() -> None:
    assert canonical({"b": 1, "a": [1.5, "x"]}) == canonical({"a": [1.5, "x"], "b": 1})
    with pytest.raises(ValueError, match="JSON"):
        canonical({"a": float("nan")})


# -- chunks ---------------------------------------------------------------------------------------


@given(seeds=st.integers(1, 250), size=st.integers(1, 40))
def test_chunks_partition_the_seeds(seeds: int, size: int) -> None:
    names = chunks(range(seeds), size)
    parts = [list(chunk_seeds(name)) for name in names]
    assert [seed for part in parts for seed in part] == list(range(seeds))
    assert all(len(part) == size for part in parts[:-1])
    assert 1 <= len(parts[-1]) <= size
    # a name depends on nothing else: more seeds add chunks, and extend at most the last
    assert names == [f"seeds-{part[0]:02d}-{part[-1]:02d}" for part in parts]


@pytest.mark.parametrize("name", ["seeds-3-4", "seeds-04-03", "seeds-00-03\n", "seed-00-01", ""])
def test_an_invalid_chunk_name_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="seeds-FIRST-LAST"):
        chunk_seeds(name)
