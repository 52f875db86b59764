"""Messages for the person at the keyboard: one line that says what is wrong and what is right."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

LONGEST_MESSAGE, LONGEST_ECHO, LONGEST_PLACE = 290, 80, 140
"""Longest message, longest echo of a value, longest path of keys, in characters."""


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


def dotted(at: Iterable[object]) -> str:
    """A path of keys as a message prints it: ``studies.exp7.arms``."""
    return cut(".".join(str(part) or "''" for part in at), LONGEST_PLACE)


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
