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
    return {"$schema": DIALECT, "title": "config.yaml", **_without_titles(schema)}


def claims_schema() -> dict[str, Any]:
    """The schema of ``claims.yaml``."""
    schema = TypeAdapter(Register).json_schema()
    return {"$schema": DIALECT, "title": "claims.yaml", **_without_titles(schema)}


def _study_schema(study: str) -> dict[str, Any]:
    model = cast(type[StudySettings], study_module(study, "settings").Settings)
    schema = model.model_json_schema(ref_template=f"#/$defs/{study}.{{model}}")
    if training := schema["properties"].get("training"):
        known = schema["$defs"][training["$ref"].rpartition(".")[2]]["properties"]
        for definition in schema["$defs"].values():
            override = definition.get("properties", {}).get("training", {})
            if override.get("type") == "object":
                override |= {"additionalProperties": False, "properties": known}
    return schema


def _without_titles(node: Any) -> Any:
    if isinstance(node, dict):
        kept = {k: v for k, v in node.items() if k != "title" or not isinstance(v, str)}
        return {key: _without_titles(value) for key, value in kept.items()}
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    return node
