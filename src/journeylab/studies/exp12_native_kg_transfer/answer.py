"""The study's answer in one paragraph, made of its verdicts and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from journeylab.records.verdicts import StudyVerdicts, Verdict


class Answer(NamedTuple):
    """What a row says if it is supported, if it is refuted, and what is open otherwise."""

    supported: str
    refuted: str
    otherwise: str


CONDITIONS: dict[str, Answer] = {
    "1": Answer(
        "native triples transfer the better the larger the world",
        "a larger world does not make native triples transfer better by as much as was claimed",
        "whether a larger world makes native triples transfer better",
    ),
    "9": Answer(
        "in ten times the plan's world they transfer as linearised ones do",
        "in ten times the plan's world they do not transfer as linearised ones do",
        "whether in ten times the plan's world they transfer as linearised ones do",
    ),
    "4": Answer(
        "what transfers is knowledge of the triples, also where nothing could be derived",
        "where nothing can be derived, facts read as triples are hardly said better than unread",
        "whether anything transfers where nothing can be derived",
    ),
    "5": Answer(
        "reading more facts in both formats favours them",
        "reading more facts in both formats does not favour them",
        "whether reading more facts in both formats favours them",
    ),
    "6": Answer(
        "to facts that no model saw they generalise better than linearised ones",
        "to facts that no model saw they do not generalise better than linearised ones",
        "whether they generalise better than linearised ones to facts that no model saw",
    ),
}
"""The rows on when native KG transfers and generalises, in the order in which they are told."""

FACTORS = {
    "1": "the size of the world",
    "2": "tokenisation",
    "3": "the objective where names are split",
    "7": "the objective for what no model saw",
    "8": "the format for what no model saw",
}
"""What each row holds responsible; of 8, which claims that the format is not, the opposite."""
EQUIVALENCE_ROWS = ("8",)


def answer(study: StudyVerdicts) -> str:
    """When native KG transfers and generalises, and which factors are responsible.

    Ids of rows stand in brackets. A quick run, and one that is exploratory, answers nothing.
    """
    if not study.evidence or study.exploratory:
        return "These runs answer nothing: they are no evidence, and none of the claims is judged."
    rows = {verdict.id.partition(".")[2]: verdict for verdict in study.verdicts}
    told = _sentences(rows, {name: one for name, one in CONDITIONS.items() if name in rows})
    responsible: dict[str, list[str]] = {"is": [], "is not": [], "is open": []}
    for name, factor in FACTORS.items():
        if name in rows:
            responsible[_blamed(rows[name], name)].append(f"{factor} ({name})")
    told += [
        f"{lead}: {'; '.join(found)}."
        for lead, found in zip(
            ("Responsible", "Not responsible", "Not decided"), responsible.values(), strict=True
        )
        if found
    ]
    return " ".join(told)


def _sentences(rows: Mapping[str, Verdict], answers: Mapping[str, Answer]) -> list[str]:
    decided, undecided = [], []
    for name, found in answers.items():
        word = rows[name].verdict
        if word in ("supported", "refuted"):
            decided.append(f"{found.supported if word == 'supported' else found.refuted} ({name})")
        else:
            undecided.append(f"{found.otherwise} ({name}{_why(rows[name])})")
    told = [f"{each[0].upper()}{each[1:]}." for each in decided]
    return told + ([f"Open is {'; '.join(undecided)}."] if undecided else [])


def _blamed(row: Verdict, name: str) -> str:
    if row.verdict not in ("supported", "refuted"):
        return "is open"
    return "is" if (row.verdict == "supported") != (name in EQUIVALENCE_ROWS) else "is not"


def _why(row: Verdict) -> str:
    return ", withheld: not all models learned what they were taught" if row.withheld else ""
