"""The JSON schemas that editors read agree with the pydantic models."""

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from journeylab.catalogue import resolve
from journeylab.commands.schema import SCHEMAS
from journeylab.config import read_yaml

from ..made import PROJECT

FILES = [(name, PROJECT / f"{name}.yaml") for name in ("config", "response")]
FILES += [(name, PROJECT / f"claims/{name}.yaml") for name in ("looks", "theorems", "statements")]
FILES += [("claims", file) for file in sorted((PROJECT / "claims").glob("exp*.yaml"))]


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


MISTAKES: dict[str, tuple[str, Change]] = {
    "a top-level key": ("config.yaml", lambda c: c.update(sedes={})),
    "a setting": ("config.yaml", lambda c: exp7(c)["training"].update(learning_rte=0.1)),
    "a name": ("config.yaml", lambda c: exp7(c)["arms"].update({"a; rm": {}})),
    "a key of a claim": ("claims/exp7.yaml", lambda c: c["claims"][0].update(regoin={})),
    "a region": ("claims/exp7.yaml", lambda c: c["claims"][0].update(region={"abov": 0.1})),
    "an effect": (
        "claims/exp7.yaml",
        lambda c: c["claims"][0].update(effect={"run": "characters/A"}),
    ),
    "a look that is no number": ("claims/looks.yaml", lambda c: c["sequential"].append("x")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_editor_marks_a_mistake(mistake: str) -> None:
    file, change = MISTAKES[mistake]
    content = copy.deepcopy(read_yaml(PROJECT / file))
    change(content)
    [name] = {name for name, path in FILES if path == PROJECT / file}
    with pytest.raises(jsonschema.ValidationError):
        validator(name).validate(content)


def exp7(config: dict[str, Any]) -> dict[str, Any]:
    return config["studies"]["exp7"]


ACCEPTED: tuple[Change, ...] = (
    lambda c: exp7(c)["scales"].update(
        quick={
            "training": {"steps": 20, "warmup": 1},
            "datasets": {"plan": {"cities": 11}},
            "arms": {"words": {"training": {"steps": 10}}, "algebra": {"draws": 3}},
        }
    ),
    lambda c: exp7(c)["arms"]["characters"].update(variants={"A": {"training": {"clip": 2.0}}}),
    lambda c: exp7(c)["arms"]["words"].update(dataset="plan", data={"cities": 11}),
)


@pytest.mark.parametrize("change", ACCEPTED)
def test_what_the_models_accept_is_not_marked(change: Change) -> None:
    content = copy.deepcopy(read_yaml(PROJECT / "config.yaml"))
    change(content)
    resolve(content)
    validator("config").validate(content)
