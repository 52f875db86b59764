"""Effects and gates as the register writes them: ``native/A@T2 - mean(7a/B@T2, 7a/C@T2)``.

term := atom, or atom - atom, from left to right
atom := arm/variant@measure, a number, mean(term, term, …) or (term)
gate := arm/variant@measure >= number, or several runs, of which one must: run@… or run@… >= …
"""

import math
import re
from collections import deque
from typing import Any

_TOKEN = re.compile(r"mean\(|[(),]|[^\s(),]+")
_EXAMPLE = "write e.g. arm/variant@measure - arm/variant@measure, or mean(…, …) - 0.5"
_GATE = "write e.g. arm/variant@measure >= 0.95, or arm/a@measure or arm/b@measure >= 0.95"


def parse_term(written: object) -> Any:
    """The keys that an expression stands for; anything but a text is returned as it is.

    Raises ValueError with the expression, and an example of what would be right.
    """
    if not isinstance(written, str):
        return written
    tokens = deque(_TOKEN.findall(written))
    try:
        term = _term(tokens)
    except (IndexError, ValueError, RecursionError):
        term = None
    if term is None or tokens:
        raise ValueError(f"{written!r} is no effect; {_EXAMPLE}")
    return term


def parse_gate(written: object) -> object:
    """The keys that a gate's expression stands for; anything but a text is returned as it is."""
    if not isinstance(written, str):
        return written
    left, _, bound = written.partition(">=")
    cells = [part.strip().partition("@") for part in left.split(" or ")]
    measures = {measure for _, _, measure in cells}
    try:
        [measure], at_least = measures, float(bound)
    except ValueError:
        raise ValueError(f"{written!r} is no gate; {_GATE}") from None
    runs = [run for run, _, _ in cells]
    return {"run": runs[0] if len(runs) == 1 else runs, "measure": measure, "at_least": at_least}


def _term(tokens: deque[str]) -> Any:
    term = _atom(tokens)
    while tokens and tokens[0] == "-":
        tokens.popleft()
        term = {"difference": [term, _atom(tokens)]}
    return term


def _atom(tokens: deque[str]) -> Any:
    token = tokens.popleft()
    if token in ("mean(", "("):
        terms = [_term(tokens)]
        while token == "mean(" and tokens[0] == ",":
            tokens.popleft()
            terms.append(_term(tokens))
        if tokens.popleft() != ")":
            raise IndexError
        return {"mean": terms} if token == "mean(" else terms[0]
    run, is_cell, measure = token.partition("@")
    if is_cell:
        return {"run": run, "measure": measure}
    if not math.isfinite(number := float(token)):
        raise ValueError(token)
    return number
