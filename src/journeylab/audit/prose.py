"""The text of Markdown files, and of the answers in ``response.yaml``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from journeylab.audit.script import BREAK, EXEMPT, Script, Source, read_text
from journeylab.config import UserError

_HIDDEN = re.compile(
    r"(?:^|(?<=\n))(?P<fence>```|~~~)[^\n]*\n.*?\n(?P=fence)[^\n]*"  # a block of code
    r"|<!--.*?-->"
    # code in a line, which ends with its block: a paragraph, list item, heading or row
    r"|(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*(?:\n|[-*+>][ \t]|#|\|)).)+?(?<!`)(?P=ticks)(?!`)"
    r"|(?<=\])\([^)\s]*(?:\s+\"[^\"]*\")?\)"  # the address of a link
    r"|https?://\S+"
    r"|(?P<item>(?:^|(?<=\n))\s*\d+[.)](?=\s))"  # the number of a list item
    r"|(?:^|(?<=\n))\|[ \t:|-]+\|(?=\n)",
    re.DOTALL,
)
_BREAKS = re.compile(r"(?:(?<=\n)|^)[ \t]*(?:#+|[-*+]|>|\|)|\|[ \t]*\n")
_MARKUP = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")


def read_markdown(path: Path) -> tuple[Script, Source]:
    """The text of a Markdown file, without code, addresses and comments.

    Every heading, list item and row of a table is a sentence of its own. Raises UserError for a
    file that cannot be read.
    """
    source = _read(path)
    script = Script()
    _add(script, source, 0, len(source.text))
    return script, source


def read_answers(path: Path) -> tuple[list[Script], Source]:
    """The ``answer:`` of every point, which stands beside the claims of its point.

    A comment after the indicator of a block, ``answer: | # audit: why``, exempts the whole answer,
    since all that follows is text.

    Raises UserError for a file that cannot be read or is not a response.
    """
    source = _read(path)
    try:
        root = yaml.compose(source.text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise UserError(f"{path}: line {mark.line + 1 if mark else '?'}: is not YAML") from None
    points, scripts = _value(root, "points"), []
    if not isinstance(points, yaml.SequenceNode):
        raise UserError(f"{path}: has no list `points:`; of YAML, an audit reads response.yaml")
    for point in _entries(points):
        answer = _value(point, "answer")
        if not isinstance(answer, yaml.ScalarNode):
            continue
        claims = [entry.value for entry in _entries(_value(point, "claims"))]
        script = Script(beside=claims)
        start, end = answer.start_mark.index, answer.end_mark.index
        if answer.style in (">", "|"):  # the indicator is no text
            first, start = source.line(start), source.text.index("\n", start)
            if first in source.exempt:
                source.exempt.update(range(first, source.line(end - 1) + 1))
        _add(script, source, start, end)
        scripts.append(script)
    return scripts, source


def _entries(node: yaml.Node | None) -> list[yaml.Node]:
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _read(path: Path) -> Source:
    source = Source(path, read_text(path))
    comment = re.compile(r"<!--(.*?)-->|(?<!\S)#([^\n]*)")
    for match in comment.finditer(source.text):
        if EXEMPT.search(match[0]):
            source.exempt.add(source.line(match.start()))
    return source


def _add(script: Script, source: Source, start: int, end: int) -> None:
    """Copy a part of the source, with spaces for what is not text and breaks between blocks."""
    at = start
    for low, high, text in sorted(_replaced(source.text, start, end)):
        if low < at:
            continue
        script.copy(source, at, low)
        script.add(text, source, low)
        at = high
    script.copy(source, at, end)


def _replaced(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    for match in _HIDDEN.finditer(text, start, end):
        yield *match.span(), BREAK if match["item"] else " "
    for match in _BREAKS.finditer(text, start, end):
        yield *match.span(), BREAK
    for match in _MARKUP.finditer(text, start, end):
        yield *match.span(), ""
