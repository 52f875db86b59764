"""JSON schemas of config.yaml, response.yaml, answer.yaml, names.yaml and claims/, for editors."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import TypeAdapter

from journeylab.catalogue import discover, settings_part
from journeylab.claims.response import Response
from journeylab.claims.schema import Looks, StudyClaims
from journeylab.claims.theorems import Statements, Theorems
from journeylab.commands.results import OUTPUT
from journeylab.config import Config
from journeylab.records.files import write_json
from journeylab.reports.answers import Answer
from journeylab.wording.names import StudyNames

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(output: Annotated[Path, OUTPUT]) -> None:
    """Write the JSON schemas of config.yaml, response.yaml and claims/ for editors (make setup)."""
    for name, made in SCHEMAS.items():
        write_json(output / f"{name}.schema.json", made(), sealed=False)


def config_schema() -> dict[str, Any]:
    """The schema of ``config.yaml``, with the settings of every discovered study."""
    schema = Config.model_json_schema()
    definitions = schema.setdefault("$defs", {})
    for study in discover():
        settings = settings_part(study).Settings
        own = settings.model_json_schema(ref_template=f"#/$defs/{study}.{{model}}")
        # a scale may override any key of the section; a start checks it
        own["properties"]["scales"] = {"type": "object"}
        definitions |= {f"{study}.{name}": node for name, node in own.pop("$defs", {}).items()}
        definitions[study] = own
    schema["properties"]["studies"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {study: {"$ref": f"#/$defs/{study}"} for study in discover()},
    }
    return {"$schema": DIALECT, "title": "config.yaml", **_tidied(schema)}


def _file_schema(title: str, model: Any) -> dict[str, Any]:
    """The schema of a file that one model describes."""
    return {"$schema": DIALECT, "title": title, **_tidied(TypeAdapter(model).json_schema())}


SCHEMAS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "config": config_schema,
    "claims": partial(_file_schema, "claims/expN.yaml", StudyClaims),
    "looks": partial(_file_schema, "claims/looks.yaml", Looks),
    "theorems": partial(_file_schema, "claims/theorems.yaml", Theorems),
    "statements": partial(_file_schema, "claims/statements.yaml", Statements),
    "answer": partial(_file_schema, "answer.yaml", Answer),
    "names": partial(_file_schema, "names.yaml", StudyNames),
    "response": partial(_file_schema, "response.yaml", Response),
}
"""The schema of every kind of file, by its name in ``build/schemas``."""


def _tidied(node: Any) -> Any:
    """A schema without generated titles; names that match no pattern are refused."""
    if isinstance(node, dict):
        kept = {k: _tidied(v) for k, v in node.items() if k != "title" or not isinstance(v, str)}
        return kept | ({"additionalProperties": False} if "patternProperties" in kept else {})
    if isinstance(node, list):
        return [_tidied(item) for item in node]
    return node
