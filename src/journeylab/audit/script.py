"""The plain text of a manuscript, with the position of every character in its source."""

from __future__ import annotations

import bisect
import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from journeylab.config import UserError

BREAK = "\u2029"
"""Ends a sentence: a heading, a list item, a row of a table, a paragraph."""
OBJECT = "\ufffc"
"""Stands for a macro or a reference, which a :class:`Mark` describes."""
UNIT = "\ue000"
"""Stands for a unit of measurement, such as the second argument of ``\\qty``."""
EXEMPT = re.compile(r"\baudit:\s*(?P<reason>\S.*)")
"""A comment that exempts its line from the audit and says why."""

_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|al|etc|approx|resp|ca|[Ff]igs?|[Tt]abs?|[Ee]qs?|[Ss]ecs?|[Nn]o|[Tt]hm"
    r"|[Aa]pp|[Rr]efs?|[Cc]h|[A-Z]))\.$"
)
_END = re.compile(rf"[.!?][”\"')\]]*(?=\s+(?:[^\sa-z,;:]|{OBJECT}))|{BREAK}|\n[ \t]*\n")


def read_text(path: Path) -> str:
    """The text of a manuscript. Raises UserError if it cannot be read, or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text; convert it") from None


class Source:
    """The text of a file and where its lines start. ``exempt`` holds the lines without an audit."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self.exempt: set[int] = set()
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def line(self, offset: int) -> int:
        """The line of a character, from 1."""
        return bisect.bisect_right(self._starts, offset)

    def column(self, offset: int) -> int:
        """The column of a character, from 1."""
        return offset - self._starts[self.line(offset) - 1] + 1


class Mark(NamedTuple):
    """A macro or a reference in the text: a key such as ``exp7.2.effect``, or a label."""

    kind: Literal["result", "rawresult", "reference"]
    name: str


class Script:
    """Text that grows from left to right; ``beside`` are claims that all of it stands beside."""

    def __init__(self, beside: Sequence[str] = ()) -> None:
        self.beside = tuple(beside)
        self.marks: dict[int, Mark] = {}
        self._text: list[str] = []
        self._sources: list[Source] = []
        self._source, self._offset = array("l"), array("l")

    @property
    def text(self) -> str:
        """All text so far."""
        return "".join(self._text)

    @property
    def last(self) -> str:
        """The last character; "" at the beginning."""
        return self._text[-1] if self._text else ""

    def copy(self, source: Source, start: int, end: int) -> None:
        """Add characters as the source has them."""
        for offset in range(start, end):
            self.add(source.text[offset], source, offset)

    def add(self, text: str, source: Source, offset: int) -> None:
        """Add text that stands for something at ``offset`` of the source."""
        if not self._sources or self._sources[-1] is not source:
            self._sources.append(source)
        for character in text:
            self._text.append(character)
            self._source.append(len(self._sources) - 1)
            self._offset.append(offset)

    def mark(self, mark: Mark, source: Source, offset: int) -> None:
        """Add a macro or a reference."""
        self.marks[len(self._text)] = mark
        self.add(OBJECT, source, offset)

    def origin(self, index: int) -> tuple[Source, int]:
        """The source of a character, and its offset there."""
        return self._sources[self._source[index]], self._offset[index]

    def sentences(self) -> Iterator[Sentence]:
        """The sentences, in order; each knows what stands between the same two blank lines."""
        text, start = self.text, 0
        for match in _END.finditer(text):
            # a point after an abbreviation, or between the digits of a list number, ends nothing
            if match[0][0] == "." and _ABBREVIATED.search(text[start : match.start() + 1]):
                continue
            yield from self._sentence(text, start, match.end())
            start = match.end()
        yield from self._sentence(text, start, len(text))

    def _sentence(self, text: str, start: int, end: int) -> Iterator[Sentence]:
        if text[start:end].strip(f"{BREAK} \n\t"):
            marks = {at - start: mark for at, mark in self.marks.items() if start <= at < end}
            yield Sentence(self, start, text[start:end], marks)


class Sentence(NamedTuple):
    """A sentence, where it starts in its script, and its marks by their index in ``text``."""

    script: Script
    start: int
    text: str
    marks: dict[int, Mark]

    def origin(self, index: int) -> tuple[Source, int]:
        """The source of the character at an index of the sentence, and its offset there."""
        return self.script.origin(self.start + index)
