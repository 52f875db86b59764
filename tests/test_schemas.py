"""The committed schemas say what the models say, and refuse what the models refuse."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from journeylab.config import UserError, read_yaml, resolve
from journeylab.records.files import read_json
from journeylab.schemas import claims_schema, config_schema

PROJECT = Path(__file__).parents[1]
SCHEMAS = {"config": config_schema, "claims": claims_schema}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_current(name: str) -> None:
    file = PROJECT / f"workflow/schemas/{name}.schema.json"
    committed = read_json(file, sealed=False)
    assert committed == SCHEMAS[name](), f"{file.name} is out of date: run `make schemas`"


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_is_a_schema_and_accepts_the_file(name: str) -> None:
    schema = SCHEMAS[name]()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(read_yaml(PROJECT / f"{name}.yaml"))


Change = Callable[[dict[str, Any]], object]

MISTAKES: dict[str, Change] = {
    "top-level key": lambda c: c.update(sedes={}),
    "scale of the seeds": lambda c: c["seeds"].update(quik=2),
    "study": lambda c: c["studies"].update(exp77={}),
    "section": lambda c: c["studies"]["exp7"].update(trainin={}),
    "setting": lambda c: c["studies"]["exp7"]["training"].update(learning_rte=0.1),
    "negative rate": lambda c: c["studies"]["exp7"]["training"].update(learning_rate=-0.1),
    "text for a number": lambda c: c["studies"]["exp7"]["training"].update(learning_rate="fast"),
    "key of an arm": lambda c: c["studies"]["exp7"]["arms"]["7a"].update(linearization="all"),
    "arm name": lambda c: c["studies"]["exp7"]["arms"].update(
        {"a; rm": c["studies"]["exp7"]["arms"].pop("7a")}
    ),
    "variant name": lambda c: c["studies"]["exp7"]["arms"]["7a"]["variants"].update({"$(x)": {}}),
    "override of an arm": lambda c: c["studies"]["exp7"]["arms"]["7a"].update(training={"step": 3}),
    "override of a variant": lambda c: c["studies"]["exp7"]["arms"]["7a"]["variants"].update(
        B={"training": {"step": 3}}
    ),
    "scale": lambda c: c["studies"]["exp7"].update(scales={"quik": {}}),
    "section of a scale": lambda c: c["studies"]["exp7"]["scales"]["quick"].update(trainin={}),
    "override of a scale": lambda c: c["studies"]["exp7"]["scales"]["quick"].update(
        training={"step": 3}
    ),
    "override of an arm at a scale": lambda c: c["studies"]["exp7"]["scales"]["quick"].update(
        arms={"7a": {"training": {"steps": -3}}}
    ),
    "folder": lambda c: c.update(root="a b; rm"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_by_the_schema_and_by_the_models(mistake: str) -> None:
    content = copy.deepcopy(read_yaml(PROJECT / "config.yaml"))
    MISTAKES[mistake](content)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, config_schema())
    with pytest.raises(UserError):
        resolve(content)


CLAIM_MISTAKES: dict[str, Change] = {
    "key": lambda c: c["studies"]["exp7"]["claims"][0].update(regoin={}),
    "region": lambda c: c["studies"]["exp7"]["claims"][0].update(region={"abov": 0.1}),
    "effect": lambda c: c["studies"]["exp7"]["claims"][0].update(effect={"run": "native/A"}),
    "source": lambda c: c["studies"]["exp7"]["claims"][0].update(source="documents"),
    "run": lambda c: c["studies"]["exp7"]["claims"][0].update(effect={"run": "A", "measure": "T1"}),
    "scale": lambda c: c["looks"].update(quik={2: 1}),
}


@pytest.mark.parametrize("mistake", CLAIM_MISTAKES)
def test_a_mistake_in_a_claim_is_refused_by_the_schema(mistake: str) -> None:
    content = copy.deepcopy(read_yaml(PROJECT / "claims.yaml"))
    CLAIM_MISTAKES[mistake](content)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, claims_schema())


def test_a_scale_may_override_part_of_a_section() -> None:
    content = copy.deepcopy(read_yaml(PROJECT / "config.yaml"))
    content["studies"]["exp7"]["scales"]["quick"] = {
        "training": {"steps": 20, "warmup": 1},
        "arms": {"7a": {"training": {"steps": 10}}},
    }
    jsonschema.validate(content, config_schema())
    resolve(content)
