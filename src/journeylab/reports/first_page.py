"""The first page of a study's report: question, answer, certainty, key figure, all verdicts."""

import re
import string
from typing import Any

from journeylab.reports.forest import WIDTH, strip
from journeylab.reports.summary import JudgedStudy
from journeylab.wording.numbers import value_text
from journeylab.wording.rows import DECIDED, Row, StudyRows
from journeylab.wording.verdicts import (
    SYMBOLS,
    certainty,
    checks_text,
    grouped,
    searched,
    source_letter,
)

_SENTENCE_END = re.compile(r"(?<=[\w)”%])\.(?= [^a-z])")


def first_page(study: JudgedStudy) -> dict[str, Any]:
    """Everything that the first page prints."""
    rows, figures = study.verdicts, study.content["figures"]
    printed_notes, marks = row_marks(rows)
    return {
        "question": study.content["question"],
        "answer": study.answer._asdict(),
        "certainty": certainty(rows, failed=study.failed, trained=len(study.outcomes)),
        "figure": {"name": figures[0]["name"], "caption": first_sentence(figures[0]["caption"])}
        if figures
        else None,
        "width": WIDTH,
        "theorems": [
            about[0].about._asdict()
            | {
                "label": label if about[0].known_theorem else "",
                "rows": [front_row(row, marks[row.id]) for row in about],
            }
            for label, about in grouped((row.theorem, row) for row in rows.judged).items()
        ],
        "checks": checks_text(rows.checks),
        "notes": printed_notes,
    }


def first_sentence(caption: str) -> str:
    """A caption up to the end of its first sentence."""
    return _SENTENCE_END.split(caption, maxsplit=1)[0].removesuffix(".") + "."


def row_marks(study: StudyRows) -> tuple[list[dict[str, str]], dict[str, str]]:
    """The notes of the judged rows, each once with its mark, and the marks of every row."""
    judged = study.judged
    texts = dict.fromkeys(text for row in judged for text in notes(row))
    marks = {text: _mark(i) for i, text in enumerate(texts)}
    return (
        [{"mark": mark, "text": text} for text, mark in marks.items()],
        {row.id: ", ".join(marks[text] for text in notes(row)) for row in judged},
    )


def front_row(row: Row, marks: str = "") -> dict[str, Any]:
    """What the first page prints of a row; ``marks`` are those of its notes."""
    word = row.outcome
    return {
        "id": row.id.removeprefix("exp"),
        "source": source_letter(row),
        "statement": row.statement,
        "lanes": [lane._asdict() for lane in strip(row)],
        "value": "" if row.effect is None and row.kind != "exact" else value_text(row),
        "claimed": row.region_text,
        "searched": searched(row),
        "marks": marks,
        "word": word if row.verdict and word == row.word else None,
        "symbol": SYMBOLS.get(word, ""),
        "unjudged": word,
    }


def notes(row: Row) -> list[str]:
    """Why a row is withheld, undecided or exploratory, and other notes of the judge."""
    said = [note for note in row.notes if not note.startswith(DECIDED)]
    texts = [*([f"withheld: {row.withheld}"] if row.withheld else []), *said]
    if row.registration and row.outcome == "exploratory":
        texts.append(f"{row.registration.text}; judged {row.word}")
    return texts


def _mark(index: int) -> str:
    letters = string.ascii_lowercase
    first = _mark(index // len(letters) - 1) if index >= len(letters) else ""
    return first + letters[index % len(letters)]
