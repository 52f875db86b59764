"""What an audit reports: one line for each number, word, macro or file that needs a look."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal["different", "verdict", "macro", "stale", "equal", "unknown", "unchecked"]
"""``different``: a number that is not that of the claim beside it; ``verdict``: a word that does
not agree with a verdict; ``macro``: a number or study that does not exist; ``stale``: a figure or
table that is not the current one; ``equal``: typed by hand and equal to a known number;
``unknown``: a number without a claim beside it that no known number explains; ``unchecked``:
nothing to compare with."""
MISTAKES: frozenset[Kind] = frozenset(("different", "verdict", "macro", "stale"))
"""The kinds with which ``--strict`` fails."""


class Finding(NamedTuple):
    """One finding: the file, the line and the column from 1, what it is, and one sentence."""

    file: str
    line: int
    column: int
    kind: Kind
    text: str

    @property
    def is_mistake(self) -> bool:
        """Whether ``--strict`` fails because of it."""
        return self.kind in MISTAKES

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.kind}: {self.text}"


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The end of a message on an unknown name: the closest known one; "" if none is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"; did you mean {close[0]}?" if close else ""
