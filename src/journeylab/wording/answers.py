"""A study's answer to its question in a few sentences, composed from its verdicts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from journeylab.wording.rows import Row, StudyRows

NO_EVIDENCE = "These runs answer nothing: they are no evidence, and no claim is judged."


class Answer(NamedTuple):
    """What a claim says if it is supported, if it is refuted, and if neither (an open question)."""

    supported: str
    refuted: str
    otherwise: str


def rows_of(study: StudyRows | None) -> dict[str, Row]:
    """The verdicts by the claim's number; none of a run that is no evidence."""
    if study is None or not study.evidence or study.exploratory:
        return {}
    return {verdict.id.partition(".")[2]: verdict for verdict in study.verdicts}


def sentences(
    rows: Mapping[str, Row], answers: Mapping[str, Answer], *, withheld: str
) -> list[str]:
    """A sentence per decided claim in the order of `answers`, and one of all that are open.

    Numbers of claims are in brackets; `withheld` says why a claim has no verdict.
    """
    decided, undecided = [], []
    for name, clause in answers.items():
        if name not in rows:
            continue
        word = rows[name].verdict
        if word in ("supported", "refuted"):
            decided.append(
                f"{clause.supported if word == 'supported' else clause.refuted} ({name})"
            )
        else:
            why = f", withheld: {withheld}" if rows[name].withheld else ""
            undecided.append(f"{clause.otherwise} ({name}{why})")
    composed = [f"{clause[0].upper()}{clause[1:]}." for clause in decided]
    return composed + ([f"Open: {'; '.join(undecided)}."] if undecided else [])
