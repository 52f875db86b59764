"""Everything that reports on several studies read of each of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from journeylab.records.runs import RunHost, RunRecord
from journeylab.records.verdicts import Registration
from journeylab.reports.answers import PrintedAnswer
from journeylab.wording.rows import StudyRows
from journeylab.wording.verdicts import TheoremText


class JudgedStudy(NamedTuple):
    """A study: its verdicts, figures, runs, and the registration of its rows.

    ``folder`` holds its figures and tables; ``content`` and ``numbers`` are content.json and
    numbers.json of that folder. ``register`` is a hash of the study's rows as they are judged;
    ``theorems`` are the texts of theorems by label.
    """

    verdicts: StudyRows
    folder: Path
    content: Mapping[str, Any]
    numbers: Mapping[str, Any]
    records: Sequence[tuple[RunRecord, RunHost]]
    registered: Mapping[str, Registration]
    register: str
    theorems: Mapping[str, TheoremText] = MappingProxyType({})
    answer: PrintedAnswer = PrintedAnswer("")

    @property
    def study(self) -> str:
        """The study's id."""
        return self.verdicts.study
