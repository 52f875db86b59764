"""``checklist:`` of response.yaml: a person's answers to the checklists of venues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, StringConstraints, model_validator

from journeylab.config import Frozen, accepted
from journeylab.records.checklists import QUESTIONS, open_items


def _word(answer: object) -> object:
    """YAML reads a bare Yes and No as truth values."""
    return {True: "Yes", False: "No"}[answer] if isinstance(answer, bool) else answer


Words = Annotated[
    str, BeforeValidator(_word), StringConstraints(strip_whitespace=True, min_length=1)
]


class ChecklistAnswer(Frozen):
    """An answer and its justification, such as the section that shows it."""

    answer: Annotated[Literal["Yes", "No", "NA"], BeforeValidator(_word)]
    justification: Words


class Checklists(Frozen):
    """Answers by the id of the question: to NeurIPS's checklist, and in ACM's artifact appendix."""

    neurips: Mapping[str, ChecklistAnswer] = {}
    artifact: Mapping[str, Words] = {}

    @model_validator(mode="after")
    def _known(self) -> Self:
        for name, given in (("neurips", self.neurips), ("artifact", self.artifact)):
            known = [item.id for item in QUESTIONS[name]]
            for question in given:
                if question not in known:
                    raise ValueError(
                        f"{name}: {question!r} is no question;{accepted(question, known)}"
                    )
        return self

    @property
    def open_questions(self) -> dict[str, list[str]]:
        """By checklist, the questions that neither a person nor the records answer."""
        given = {"neurips": set(self.neurips), "artifact": set(self.artifact)}
        return {name: open_items(name, answered) for name, answered in given.items()}
