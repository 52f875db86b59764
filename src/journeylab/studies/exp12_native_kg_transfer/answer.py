"""The study's answer in one paragraph, composed from its verdicts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from journeylab.records.verdicts import StudyVerdicts, Verdict


class Answer(NamedTuple):
    """What a claim says if it is supported, if it is refuted, and if neither (an open question)."""

    supported: str
    refuted: str
    otherwise: str


CONDITIONS: dict[str, Answer] = {
    "1": Answer(
        "native triples transfer better in a larger world",
        "native triples do not transfer better in a larger world by the claimed margin",
        "whether native triples transfer better in a larger world",
    ),
    "9": Answer(
        "in a world ten times as large as exp7's they transfer as well as sentences do",
        "in a world ten times as large as exp7's they do not transfer as well as sentences do",
        "whether in a world ten times as large as exp7's they transfer as well as sentences do",
    ),
    "4": Answer(
        "facts read as triples transfer even if they cannot be derived from other facts",
        "facts read as triples do not transfer by the claimed margin if they cannot be derived",
        "whether facts read as triples transfer if they cannot be derived from other facts",
    ),
    "5": Answer(
        "reading more facts in both formats favours native triples",
        "reading more facts in both formats does not favour native triples",
        "whether reading more facts in both formats favours native triples",
    ),
    "6": Answer(
        "native triples generalise to unseen facts better than sentences do",
        "native triples do not generalise to unseen facts better than sentences do",
        "whether native triples generalise to unseen facts better than sentences do",
    ),
}
"""Claims on when native KG transfers and generalises, in the order of the answer."""

FACTORS = {
    "1": "the size of the world",
    "2": "tokenisation",
    "3": "the objective, if names are split",
    "7": "the objective, for unseen facts",
    "8": "the format, for unseen facts",
}
"""The factor that each claim names as a cause; claim 8 denies that its factor is a cause."""
EQUIVALENCE_CLAIMS = ("8",)


def answer(study: StudyVerdicts) -> str:
    """Return when native KG transfers and generalises, and which factors are responsible.

    Numbers of claims are in brackets. A quick or exploratory run gives no answer.
    """
    if not study.evidence or study.exploratory:
        return "These runs answer nothing: they are no evidence, and no claim is judged."
    rows = {verdict.id.partition(".")[2]: verdict for verdict in study.verdicts}
    sentences = _sentences(rows, {name: CONDITIONS[name] for name in CONDITIONS if name in rows})
    responsible: dict[str, list[str]] = {"is": [], "is not": [], "is open": []}
    for name, factor in FACTORS.items():
        if name in rows:
            responsible[_responsibility(rows[name], name)].append(f"{factor} ({name})")
    sentences += [
        f"{lead}: {'; '.join(factors)}."
        for lead, factors in zip(
            ("Responsible", "Not responsible", "Not decided"), responsible.values(), strict=True
        )
        if factors
    ]
    return " ".join(sentences)


def _sentences(rows: Mapping[str, Verdict], answers: Mapping[str, Answer]) -> list[str]:
    decided, undecided = [], []
    for name, clause in answers.items():
        word = rows[name].verdict
        if word in ("supported", "refuted"):
            decided.append(
                f"{clause.supported if word == 'supported' else clause.refuted} ({name})"
            )
        else:
            undecided.append(f"{clause.otherwise} ({name}{_why(rows[name])})")
    sentences = [f"{clause[0].upper()}{clause[1:]}." for clause in decided]
    return sentences + ([f"Open: {'; '.join(undecided)}."] if undecided else [])


def _responsibility(row: Verdict, name: str) -> str:
    if row.verdict not in ("supported", "refuted"):
        return "is open"
    return "is" if (row.verdict == "supported") != (name in EQUIVALENCE_CLAIMS) else "is not"


def _why(row: Verdict) -> str:
    return ", withheld: not all models learned the taught facts" if row.withheld else ""
