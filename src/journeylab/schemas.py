"""JSON schemas of ``config.yaml`` and ``claims.yaml``, for ``validate()`` and for editors."""

from typing import Any, cast

from pydantic import TypeAdapter

from journeylab.claims.register import Register
from journeylab.config import Config, StudySettings, discover, study_module

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def config_schema() -> dict[str, Any]:
    """The schema of ``config.yaml``: every discovered study under its own settings."""
    schema = Config.model_json_schema()
    definitions = schema.setdefault("$defs", {})
    for study in discover():
        own = _study_schema(study)
        definitions |= {f"{study}.{name}": node for name, node in own.pop("$defs", {}).items()}
        definitions[study] = own
    schema["properties"]["studies"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {study: {"$ref": f"#/$defs/{study}"} for study in discover()},
    }
    return {"$schema": DIALECT, "title": "config.yaml", **_tidied(schema)}


def claims_schema() -> dict[str, Any]:
    """The schema of ``claims.yaml``."""
    schema = TypeAdapter(Register).json_schema()
    return {"$schema": DIALECT, "title": "claims.yaml", **_tidied(schema)}


def _study_schema(study: str) -> dict[str, Any]:
    model = cast(type[StudySettings], study_module(study, "settings").Settings)
    schema = model.model_json_schema(ref_template=f"#/$defs/{study}.{{model}}")
    definitions = schema.get("$defs", {})
    if training := schema["properties"].get("training"):
        known = definitions[training["$ref"].rpartition(".")[2]]["properties"]
        for definition in definitions.values():
            override = definition.get("properties", {}).get("training", {})
            if override.get("type") == "object":
                override |= {"additionalProperties": False, "properties": known}
    sections = {key: node for key, node in schema["properties"].items() if key != "scales"}
    schema["properties"]["scales"]["additionalProperties"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: _partial(node, definitions) for key, node in sections.items()},
    }
    return schema


def _partial(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The same shape with nothing required and nothing filled in: what a scale may override."""
    while "$ref" in node:
        node = definitions[node["$ref"].rpartition(".")[2]]
    kept = {k: v for k, v in node.items() if k not in ("required", "default", "minProperties")}
    for group in ("properties", "patternProperties"):
        if group in kept:
            kept[group] = {key: _partial(v, definitions) for key, v in kept[group].items()}
    return kept


def _tidied(node: Any) -> Any:
    """Without the generated titles; a name that fits no pattern is refused."""
    if isinstance(node, dict):
        kept = {k: _tidied(v) for k, v in node.items() if k != "title" or not isinstance(v, str)}
        return kept | ({"additionalProperties": False} if "patternProperties" in kept else {})
    if isinstance(node, list):
        return [_tidied(item) for item in node]
    return node
