"""Mistakes of the person at the keyboard: one line that says what is wrong and what is right."""

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)

UNKNOWN = "unknown_key"
"""The type of pydantic's error for a key that a record does not have."""
LONGEST_MESSAGE, LONGEST_ECHO, LONGEST_PLACE = 290, 80, 140
"""Longest message, longest echo of a value, longest path of keys, in characters."""
_IMPORTED = Path(__file__).parents[1]


def cut(text: str, longest: int) -> str:
    """A text of at most so many characters; an ellipsis stands for the rest."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def shown(value: object) -> str:
    """The ``repr`` of a value for a message, cut at 80 characters."""
    try:
        return cut(repr(value), LONGEST_ECHO)
    except (ValueError, RecursionError):  # an integer of thousands of digits; a list in itself
        return f"<{type(value).__name__}>"


class UserError(Exception):
    """A mistake of the user: printed as one line, without a traceback."""

    def __init__(self, message: str) -> None:
        line = " ".join(message.split())
        printable = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line)
        super().__init__(cut(printable, LONGEST_MESSAGE))


def accepted(name: object, known: Mapping[str, Any] | list[str]) -> str:
    """A hint for an unknown name: the closest known name, and all known names."""
    if not known:
        return " remove it"
    hint = meant(cut(str(name), LONGEST_ECHO), known)
    return f"{hint.removeprefix(';')} accepted: {', '.join(known)}"


def check_known(name: str, known: Mapping[str, Any] | list[str], message: str) -> None:
    """Raise UserError with a message and a hint for a name that is not known."""
    if name not in known:
        raise UserError(f"{message};{accepted(name, known)}")


def meant(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The end of a message about a name: the closest of the known ones; "" if none is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"; did you mean {close[0]!r}?" if close else ""


def placed(file: str, at: Iterable[object]) -> str:
    """A file and a path of keys as a message begins: ``config.yaml: studies.exp7.arms:``."""
    key = cut(".".join(str(part) or "''" for part in at), LONGEST_PLACE)
    return f"{file}: {key}:" if key else f"{file}:"


def refusal(error: OSError, arguments: list[str]) -> str:
    """File and reason of a system error; without a file name, that of ``--output``."""
    file = error.filename2 or error.filename
    if file is None and "--output" in arguments[:-1]:
        file = arguments[arguments.index("--output") + 1]
    reason = error.strerror or str(error) or type(error).__name__
    return f"{file}: {reason}" if file is not None else reason


def masked(text: str) -> str:
    """A text with user, password and options of all addresses replaced: scheme://***@host/path."""
    return re.sub(r"(?<=://)[^/\s]\S*(?=@)|(?<=\?)\S+", "***", text)


def build(model: type[M], content: Any, file: str, at: tuple[str, ...] = ()) -> M:
    """Validate ``content`` as ``model``; raises UserError with the line of :func:`explain`."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UserError(explain(error, file, at)) from None
    except RecursionError:
        raise UserError(f"{placed(file, at)} nested too deep") from None


def explain(error: ValidationError, file: str, at: tuple[str, ...]) -> str:
    """The first problem of a validation as one line: file, key, value, what would be right."""
    # A misspelt key also leaves a key missing: report the misspelt key first.
    problem = min(error.errors(), key=lambda entry: entry["type"] != UNKNOWN)
    named = problem.get("ctx", {})
    unknown = (named["key"],) if problem["type"] == UNKNOWN else ()
    loc = tuple(
        part for part in map(str, problem["loc"]) if part != "[key]" and not part.startswith("(")
    )
    where = placed(file, at + loc + unknown)
    if unknown:
        return f"{where} unknown key;{accepted(named['key'], named['known'])}"
    if problem["type"] == "missing":
        return f"{where} is missing"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    value = problem["input"]
    echo = "" if isinstance(value, Mapping | BaseModel) else f" {shown(value)}:"
    return " ".join(f"{where}{echo} {message}".split())


def check_checkout() -> None:
    """Raise UserError in a checkout of journeylab, if another one was imported.

    This happens in a worktree, a copy or a queued experiment of DVC that uses the environment of
    the first checkout: results would be those of its code, under the name of this one.
    """
    beside = Path("src/journeylab").absolute()
    if (beside / "__init__.py").is_file() and not beside.samefile(_IMPORTED):
        raise UserError(
            f"{beside} is here, but {_IMPORTED} was imported; type `make setup` and use the .venv "
            "of this folder, or put PYTHONPATH=src before the command"
        )
