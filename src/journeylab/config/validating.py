"""Validation of plain values as pydantic models; a mistake becomes one line."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from journeylab.config.errors import UserError, accepted, dotted, shown

M = TypeVar("M", bound=BaseModel)
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
"""Errors of pydantic for a key that a model, or a dataclass, does not have."""


def build(model: type[M], content: Any, file: str, at: tuple[str, ...] = ()) -> M:
    """Validate ``content`` as ``model``; raises UserError with the line of :func:`explain`."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UserError(explain(error, model, file, at)) from None
    except RecursionError:
        where = f"{file}: {dotted(at)}:" if at else f"{file}:"
        raise UserError(f"{where} nested too deep") from None


def explain(error: ValidationError, model: type[BaseModel], file: str, at: tuple[str, ...]) -> str:
    """The first problem of a validation as one line: file, key, value, what would be right."""
    # A misspelt key also leaves a key missing: report the misspelt key first.
    problem = min(error.errors(), key=lambda entry: entry["type"] not in _UNKNOWN)
    loc = tuple(
        part for part in map(str, problem["loc"]) if part != "[key]" and not part.startswith("(")
    )
    key = dotted(at + loc)
    where = f"{file}: {key}:" if key else f"{file}:"
    value = problem["input"]
    if problem["type"] in _UNKNOWN:
        known = _keys_at(model, tuple(map(str, problem["loc"][:-1])))
        return f"{where} unknown key;{accepted(loc[-1], known)}"
    if problem["type"] == "missing":
        return f"{where} is missing"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    echo = "" if isinstance(value, Mapping | BaseModel) else f" {shown(value)}:"
    return " ".join(f"{where}{echo} {message}".split())


def _keys_at(model: type[BaseModel], loc: tuple[str, ...]) -> list[str]:
    schema = model.model_json_schema()
    node: dict[str, Any] = schema
    for part in (*loc, ""):
        while "$ref" in node or "anyOf" in node or "oneOf" in node:
            choices = node.get("anyOf") or node.get("oneOf")
            if choices and part.startswith("("):
                break
            node = choices[0] if choices else schema["$defs"][node["$ref"][8:]]
        if part.startswith("("):
            node = _tagged(node, part.strip("()"), schema["$defs"])
        elif part:
            by_pattern = next(iter(node.get("patternProperties", {}).values()), None)
            inner = by_pattern or node.get("additionalProperties") or node.get("items") or {}
            node = node.get("properties", {}).get(part) or inner
    return list(node.get("properties", {}))


def _tagged(node: dict[str, Any], tag: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """The member of a union that a tag selects, by a key or a constant of that name."""
    choices: list[dict[str, Any]] = node.get("oneOf") or node.get("anyOf") or [node]
    for choice in choices:
        keys = known.get(choice.get("$ref", "")[8:], {}).get("properties", {})
        if tag in keys or any(key.get("const") == tag for key in keys.values()):
            return choice
    return choices[0]
