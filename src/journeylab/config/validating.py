"""Validation of plain values as pydantic models; a mistake becomes one line."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from journeylab.config.errors import UserError, accepted, dotted, shown
from journeylab.config.fields import UNKNOWN

M = TypeVar("M", bound=BaseModel)


def build(model: type[M], content: Any, file: str, at: tuple[str, ...] = ()) -> M:
    """Validate ``content`` as ``model``; raises UserError with the line of :func:`explain`."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UserError(explain(error, file, at)) from None
    except RecursionError:
        where = f"{file}: {dotted(at)}:" if at else f"{file}:"
        raise UserError(f"{where} nested too deep") from None


def explain(error: ValidationError, file: str, at: tuple[str, ...]) -> str:
    """The first problem of a validation as one line: file, key, value, what would be right."""
    # A misspelt key also leaves a key missing: report the misspelt key first.
    problem = min(error.errors(), key=lambda entry: entry["type"] != UNKNOWN)
    named = problem.get("ctx", {})
    unknown = (named["key"],) if problem["type"] == UNKNOWN else ()
    loc = tuple(
        part for part in map(str, problem["loc"]) if part != "[key]" and not part.startswith("(")
    )
    key = dotted(at + loc + unknown)
    where = f"{file}: {key}:" if key else f"{file}:"
    value = problem["input"]
    if unknown:
        return f"{where} unknown key;{accepted(named['key'], named['known'])}"
    if problem["type"] == "missing":
        return f"{where} is missing"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    echo = "" if isinstance(value, Mapping | BaseModel) else f" {shown(value)}:"
    return " ".join(f"{where}{echo} {message}".split())
