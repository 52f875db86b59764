"""The response as plain text, for the forms of a review system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from journeylab.wording.verdicts import count


def plain_text(described: Mapping[str, Any], characters: int) -> str:
    """Markdown for the forms of a review system: a part per reviewer, each within ``characters``.

    A part holds as much of each point as fits: sentences and numbers, or numbers, or verdicts
    alone. Points that still do not fit are counted at its end.
    """
    reviewers = dict.fromkeys(point["reviewer"] for point in described["points"])
    return "\n\n".join(_part(described, reviewer, characters) for reviewer in reviewers) + "\n"


def _part(described: Mapping[str, Any], reviewer: str, characters: int) -> str:
    points = [point for point in described["points"] if point["reviewer"] == reviewer]
    stamp = f"**{described['stamp']}**\n\n" if described["stamp"] else ""
    head = f"# {reviewer}\n\n{stamp}{described['covers']}"
    part = ""
    for write in (_whole, _numbers, _words):
        part = "\n\n".join((head, *map(write, points)))
        if len(part) <= characters:
            return part
    shown = list(map(_words, points))
    while shown:
        shown.pop()
        left = f"{count(len(points) - len(shown))} more: see response.pdf".capitalize()
        part = "\n\n".join((head, *shown, f"{left}."))
        if len(part) <= characters:
            return part
    return part[:characters]


def _whole(point: Mapping[str, Any]) -> str:
    sentences = " ".join(point["sentences"])
    return _pointed(point, lambda row: f"{_line(row)} {row['statement']}", sentences)


def _numbers(point: Mapping[str, Any]) -> str:
    return _pointed(point, _line, point["sentences"][0] if point["sentences"] else "")


def _words(point: Mapping[str, Any]) -> str:
    """A point in one line: the ids of its rows by outcome."""
    by_word: dict[str, list[str]] = {}
    for row in point["rows"]:
        name = row["id"].removeprefix("exp")
        by_word.setdefault(row["word"] or row["unjudged"], []).append(name)
    listed_words = "; ".join(f"{word}: {', '.join(names)}" for word, names in by_word.items())
    return f"**{point['title']}** {point['answer'] or ''} {listed_words}".strip()


def _pointed(
    point: Mapping[str, Any], line: Callable[[Mapping[str, Any]], str], sentences: str
) -> str:
    quoted = "\n".join(f"> {text}" for text in point["point"].splitlines())
    passage = f" ({point['passage']})" if point["passage"] else ""
    change = f"Changed in the manuscript: {point['change']}{passage}." if point["change"] else ""
    rows = "\n".join(f"- {line(row)}" for row in point["rows"])
    parts = (f"## {point['title']}", quoted, point["answer"], change, sentences, rows)
    return "\n\n".join(part for part in parts if part)


def _line(row: Mapping[str, Any]) -> str:
    claimed = f", claimed {row['region']}" if row["region"] else ""
    numbers = " ".join(filter(None, (row["effect"], row["interval"]))) + claimed
    return f"{row['id']} ({row['source']}) {row['word'] or row['unjudged']}: {numbers}."
