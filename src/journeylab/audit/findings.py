"""What an audit reports: one line for each number, word, macro or file that needs a look."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Kind = Literal["different", "verdict", "macro", "stale", "equal", "unknown", "unchecked"]
KINDS: tuple[Kind, ...] = get_args(Kind)
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
