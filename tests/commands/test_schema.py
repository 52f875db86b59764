"""The JSON schemas that editors read agree with the pydantic models."""

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from journeylab.catalogue import resolve
from journeylab.claims.register import Looks, StudyClaims
from journeylab.commands.schema import SCHEMAS
from journeylab.config import UserError, build, merge, read_yaml

PROJECT = Path(__file__).parents[2]
LOOKS = PROJECT / "claims/looks.yaml"
STUDIES = sorted((PROJECT / "claims").glob("exp*.yaml"))
FILES = [("config", PROJECT / "config.yaml"), ("looks", LOOKS)]
FILES += [("response", PROJECT / "response.yaml")]
FILES += [(name, PROJECT / f"claims/{name}.yaml") for name in ("theorems", "statements")]
FILES += [("claims", file) for file in STUDIES]


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = SCHEMAS[name]()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize(("name", "file"), FILES, ids=lambda part: getattr(part, "name", part))
def test_the_schema_is_valid_and_accepts_the_file(name: str, file: Path) -> None:
    validator(name).validate(read_yaml(file))
    first = file.read_text(encoding="utf-8").splitlines()[0]
    named = file.parent / first.partition("$schema=")[2]
    assert named.resolve() == PROJECT / f"build/schemas/{name}.schema.json"


Change = Callable[[dict[str, Any]], object]


def exp7(config: dict[str, Any]) -> dict[str, Any]:
    return config["studies"]["exp7"]


def arms(config: dict[str, Any]) -> dict[str, Any]:
    return exp7(config)["arms"]


def override(config: dict[str, Any], **variants: object) -> None:
    """Write the variants of an arm as a mapping with these overrides."""
    arms(config)["7a"] = merge(arms(config)["7a"], {"variants": variants})


MISTAKES: dict[str, Change] = {
    "top-level key": lambda c: c.update(sedes={}),
    "scale of the seeds": lambda c: c["seeds"].update(quik=2),
    "study": lambda c: c["studies"].update(exp77={}),
    "section": lambda c: exp7(c).update(trainin={}),
    "setting": lambda c: exp7(c)["training"].update(learning_rte=0.1),
    "negative rate": lambda c: exp7(c)["training"].update(learning_rate=-0.1),
    "text for a number": lambda c: exp7(c)["training"].update(learning_rate="fast"),
    "key of a dataset": lambda c: exp7(c)["datasets"]["world"].update(citie=3),
    "key of a dataset of the second of two kinds": lambda c: c["studies"]["exp2"]["datasets"][
        "relations"
    ].update(sizes=[20]),
    "dataset without its kind": lambda c: c["studies"]["exp2"]["datasets"]["keys"].pop("task"),
    "dataset name": lambda c: arms(c)["7a"].update(dataset="$(x)"),
    "key of an arm": lambda c: arms(c)["7a"].update(linearization="all"),
    "key of a computed arm": lambda c: arms(c)["algebra"].update(drawz=3),
    "key of trained arms in a computed arm": lambda c: arms(c)["algebra"].update(training={}),
    "computed arm without replicates": lambda c: arms(c)["algebra"].pop("replicates"),
    "arm name": lambda c: arms(c).update({"a; rm": arms(c).pop("7a")}),
    "variant name": lambda c: override(c, **{"$(x)": {}}),
    "variant written twice": lambda c: arms(c)["7a"]["variants"].append("B"),
    "arm without variants": lambda c: arms(c)["7a"].update(variants=[]),
    "override of an arm": lambda c: arms(c)["7a"].update(training={"step": 3}),
    "override of a variant": lambda c: override(c, B={"training": {"step": 3}}),
    "scale": lambda c: exp7(c).update(scales={"quik": {}}),
    "section of a scale": lambda c: exp7(c)["scales"]["quick"].update(trainin={}),
    "override of a scale": lambda c: exp7(c)["scales"]["quick"].update(training={"step": 3}),
    "override of an arm at a scale": lambda c: exp7(c)["scales"]["quick"].update(
        arms={"7a": {"training": {"steps": -3}}}
    ),
    "override of a computed arm at a scale": lambda c: exp7(c)["scales"]["quick"].update(
        arms={"algebra": {"draws": -3}}
    ),
    "override of a dataset at a scale": lambda c: exp7(c)["scales"]["quick"].update(
        datasets={"world": {"citie": 3}}
    ),
    "folder": lambda c: c.update(root="a b; rm"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_by_schema_and_models(mistake: str) -> None:
    content = copy.deepcopy(read_yaml(PROJECT / "config.yaml"))
    MISTAKES[mistake](content)
    with pytest.raises(jsonschema.ValidationError):
        validator("config").validate(content)
    with pytest.raises(UserError):
        resolve(content)


def every(claims: dict[str, Any]) -> dict[str, Any]:
    """The `every` selector of the first exact claim of a study."""
    effects = (claim["effect"] for claim in claims["claims"])
    return next(effect["every"] for effect in effects if "every" in effect)


def row(claims: dict[str, Any]) -> dict[str, Any]:
    return claims["claims"][0]


CLAIM_MISTAKES: dict[str, Change] = {
    "top-level key": lambda c: c.update(looks={}),
    "key": lambda c: row(c).update(regoin={}),
    "region": lambda c: row(c).update(region={"abov": 0.1}),
    "effect": lambda c: row(c).update(effect={"run": "native/A"}),
    "source": lambda c: row(c).update(source="documents"),
    "run": lambda c: row(c).update(effect={"run": "A", "measure": "T1"}),
    "arm": lambda c: every(c).pop("arm"),
    "key of every": lambda c: every(c).update(factor={}),
    "revision": lambda c: c.update(revision=0),
    "range": lambda c: c["measures"]["T1"].update(range=[0]),
    "step": lambda c: c["measures"]["T1"].update(step=0),
    "gate": lambda c: c.update(gates={"learned": {"run": "native/A", "measure": "T1"}}),
    "amendment": lambda c: c.update(amendments=[{"date": "2026-01-01", "rows": []}]),
}
LOOK_MISTAKES: dict[str, Change] = {
    "top-level key": lambda c: c.update(claims=[]),
    "weight": lambda c: c["looks"].update({12: 1.5}),
    "alpha": lambda c: c.update(alpha=0),
}


@pytest.mark.parametrize("mistake", CLAIM_MISTAKES)
def test_a_mistake_in_a_claim_is_refused_by_schema_and_models(mistake: str) -> None:
    content = copy.deepcopy(read_yaml(PROJECT / "claims/exp7.yaml"))
    CLAIM_MISTAKES[mistake](content)
    with pytest.raises(jsonschema.ValidationError):
        validator("claims").validate(content)
    with pytest.raises(UserError):
        build(StudyClaims, content, "claims/exp7.yaml")


@pytest.mark.parametrize("mistake", LOOK_MISTAKES)
def test_a_mistake_in_the_looks_is_refused_by_schema_and_models(mistake: str) -> None:
    content = copy.deepcopy(read_yaml(LOOKS))
    LOOK_MISTAKES[mistake](content)
    with pytest.raises(jsonschema.ValidationError):
        validator("looks").validate(content)
    with pytest.raises(UserError):
        build(Looks, content, "claims/looks.yaml")


def accepted(change: Change) -> None:
    content = copy.deepcopy(read_yaml(PROJECT / "config.yaml"))
    change(content)
    validator("config").validate(content)
    resolve(content)


def test_a_scale_may_override_part_of_a_section() -> None:
    written = {
        "training": {"steps": 20, "warmup": 1},
        "datasets": {"world": {"cities": 11}},
        "arms": {"7a": {"training": {"steps": 10}}, "algebra": {"draws": 3}},
    }
    accepted(lambda c: exp7(c)["scales"].update(quick=written))


def test_variants_may_be_a_list_or_a_mapping_at_any_scale() -> None:
    for variants in (["A", "Aprime"], {"A": {}, "Aprime": {"training": {"clip": 2.0}}}):
        accepted(lambda c, own=variants: arms(c)["native"].update(variants=own))
        scaled = {"arms": {"native": {"variants": variants}}}
        accepted(lambda c, own=scaled: exp7(c)["scales"].update(quick=own))


def test_an_arm_may_name_its_dataset_and_override_it() -> None:
    accepted(lambda c: arms(c)["7a"].update(dataset="world", data={"cities": 11}))
