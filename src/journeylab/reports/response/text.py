"""The response as plain text, for the forms of a review system."""

from collections.abc import Mapping
from typing import Any

from journeylab.wording.verdicts import count


def plain_text(described: Mapping[str, Any], characters: int) -> str:
    """Markdown for the forms of a review system: a part per reviewer, each within ``characters``.

    A part begins with the answers to all points in a line each. Then follow as many whole answers
    as fit, with the rows of all of them if these fit too; those left out are counted.
    """
    reviewers = dict.fromkeys(point["reviewer"] for point in described["points"])
    return "\n\n".join(_part(described, reviewer, characters) for reviewer in reviewers) + "\n"


def _part(described: Mapping[str, Any], reviewer: str, characters: int) -> str:
    points = [point for point in described["points"] if point["reviewer"] == reviewer]
    stamp = f"**{described['stamp']}**\n\n" if described["stamp"] else ""
    moved_on = "".join(f"{line}.\n\n" for line in described["moved_on"])
    part = f"# {reviewer}\n\n{stamp}{moved_on}" + "\n".join(map(_line, points))
    answers = list(map(_answer, points))
    whole = [_with_rows(*each) for each in zip(answers, points, strict=True)]
    for texts in (whole, answers):
        text = "\n\n".join((part, *texts))
        if len(text) <= characters:
            return text
    while answers:
        answers.pop()
        left = f"{count(len(points) - len(answers))} more: see response.pdf".capitalize()
        text = "\n\n".join((part, *answers, f"{left}."))
        if len(text) <= characters:
            return text
    return part[:characters]


def _line(point: Mapping[str, Any]) -> str:
    word = ": ".join(filter(None, (point["word"], point["number"])))
    return f"- **{point['title']}** {word}".rstrip()


def _answer(point: Mapping[str, Any]) -> str:
    quoted = "\n".join(f"> {text}" for text in point["point"].splitlines())
    passage = f" ({point['passage']})" if point["passage"] else ""
    change = f"Changed in the manuscript: {point['change']}{passage}." if point["change"] else ""
    sentences = "" if point["answer"] else " ".join(point["sentences"])
    parts = (f"## {point['title']}", quoted, point["stale"], *point["answer"], change, sentences)
    return "\n\n".join(part for part in parts if part)


def _with_rows(answer: str, point: Mapping[str, Any]) -> str:
    rows = [
        f"- {row['id']} ({row['source']}) {row['word'] or row['unjudged']}: {row['statement']} "
        f"{row['value']}" + (f", claimed {row['region']}" if row["region"] else "") + "."
        for row in point["rows"]
    ]
    return "\n\n".join((answer, "\n".join(rows))) if rows else answer
