"""A study's answer to its question: its author's sentences, as long as the verdicts are the same.

``answer.yaml`` of a study holds the sentences, and the revision and the verdicts that they were
written for. Reports, the response, the claims index and the command line print them; if a verdict
differs, they print generated sentences instead, and say so.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import PositiveInt, StringConstraints, model_validator

from journeylab.config import Frozen, UserError, build, check_known, read_yaml
from journeylab.reports.numbers import PLACEHOLDER, fill, print_all, study_numbers
from journeylab.wording.rows import StudyRows
from journeylab.wording.verdicts import OUTCOMES, listed, meaning

FILE = "answer.yaml"
WORDS = 60
SENTENCES = 3
STALE = "The author’s answer was written for another result: {}."
_ENDS = re.compile(r"[.?!](?=\s|$)")
_REVISION = "revision"


class Answer(Frozen):
    """The sentences, and what they were written for: ``revision``, and words of verdicts by row."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    written_for: Mapping[str, PositiveInt | str]

    @model_validator(mode="after")
    def _short(self) -> Self:
        text = PLACEHOLDER.sub("0", self.text)
        words, sentences = len(text.split()), len(_ENDS.findall(text))
        if words > WORDS or sentences > SENTENCES:
            raise ValueError(
                f"text: {words} words in {sentences} sentences; write at most {WORDS} words in "
                f"{SENTENCES} sentences"
            )
        return self

    @property
    def words(self) -> dict[str, str]:
        """The words of the verdicts by row."""
        return {row: str(word) for row, word in self.written_for.items() if row != _REVISION}


class PrintedAnswer(NamedTuple):
    """An answer in print; ``note`` says why it is not its author's, "" if it is."""

    text: str
    note: str = ""


def read_answer(folder: Path) -> Answer | None:
    """The answer of the study in ``folder``; None without one.

    Raises UserError if a verdict is no word of verdicts, or if the text has a number of a row that
    ``written_for`` does not name.
    """
    path = folder / FILE
    if not path.exists():
        return None
    answer = build(Answer, read_yaml(path), str(path))
    if not isinstance(answer.written_for.get(_REVISION), int):
        raise UserError(f"{path}: written_for: {_REVISION} is missing; write {_REVISION}: 1")
    words = [*OUTCOMES, "holds", "fails"]
    for row, word in answer.words.items():
        check_known(word, words, f"{path}: written_for: {row}: {word!r}")
    for found in PLACEHOLDER.finditer(answer.text):
        row = ".".join(found["key"].split(".")[:2])
        if row not in answer.words:
            raise UserError(
                f"{path}: text: {found[0]}: written_for does not name {row}; add its verdict"
            )
    return answer


def print_answer(answer: Answer | None, study: StudyRows) -> PrintedAnswer:
    """The author's answer with its numbers, or a generated one if verdicts are not as it says."""
    if answer is None or not study.evidence:
        return PrintedAnswer(meaning(study))
    if changed := _changes(answer, study):
        return PrintedAnswer(meaning(study), STALE.format(listed(changed)))
    numbers = {study.study: print_all(study, study_numbers(study, {}))}
    return PrintedAnswer(fill(answer.text, numbers, f"{FILE} of {study.study}: text"))


def _changes(answer: Answer, study: StudyRows) -> list[str]:
    revision = answer.written_for[_REVISION]
    if revision != study.revision:
        return [f"revision {revision}, and this is revision {study.revision}"]
    return differing(answer.words, {row.id: row.outcome for row in study.verdicts})


def differing(written_for: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The rows whose words of verdicts ``now`` are others than an author wrote for."""
    return [
        f"{row.removeprefix('exp')} was {word} and is {now.get(row, 'not judged')}"
        for row, word in written_for.items()
        if now.get(row) != word
    ]
