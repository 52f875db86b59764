"""What reports read of several studies, and the counts of their outcomes by theorem."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from journeylab.records.runs import RunHost, RunRecord, SeedRecord
from journeylab.reports.answers import PrintedAnswer
from journeylab.wording.rows import Row, StudyRows
from journeylab.wording.verdicts import grouped, tally

HEAD = ("Theorem", "Document’s, over seeds", "Corrected, over seeds", "Certificates")
NOTES = (
    "Judged claims only. Over seeds: an effect in trained models or simulations is compared with a "
    "margin. Certificates: a worst case, computed exactly. Checks of code are not counted."
)


class JudgedStudy(NamedTuple):
    """A study: its verdicts, figures and runs, and the answer to its question.

    ``folder`` holds its figures and tables; ``content`` and ``numbers`` are content.json and
    numbers.json of that folder. ``register`` is a hash of the study's rows as they are judged.
    """

    verdicts: StudyRows
    folder: Path
    content: Mapping[str, Any]
    numbers: Mapping[str, Any]
    records: Sequence[tuple[RunRecord, RunHost]]
    register: str
    answer: PrintedAnswer

    @property
    def study(self) -> str:
        """The study's id."""
        return self.verdicts.study

    @property
    def outcomes(self) -> list[SeedRecord]:
        """How every seed of every run ended."""
        return [outcome for run, _ in self.records for outcome in run.seeds]

    @property
    def failed(self) -> int:
        """The number of seeds of runs that have no result."""
        return sum(outcome.status == "failed" for outcome in self.outcomes)


class TheoremCounts(NamedTuple):
    """A theorem and its printed name; ``cells`` count outcomes in the columns of :data:`HEAD`."""

    label: str
    name: str
    cells: tuple[tuple[tuple[str, int], ...], ...]
    studies: tuple[str, ...]


def count_outcomes(rows: Iterable[Row]) -> list[TheoremCounts]:
    """Every theorem of the rows, in their order; one without a text is named by its label.

    Checks of code are not counted.
    """
    counted = []
    by_theorem = grouped((row.theorem, row) for row in rows if not row.is_check)
    for label, about in by_theorem.items():
        seeds = [row for row in about if row.kind != "exact"]
        groups = (
            [row.outcome for row in seeds if row.source == "document"],
            [row.outcome for row in seeds if row.source != "document"],
            [row.outcome for row in about if row.kind == "exact"],
        )
        studies = dict.fromkeys(row.id.partition(".")[0] for row in about)
        cells = tuple(map(tally, groups))
        counted.append(TheoremCounts(label, about[0].about.name, cells, tuple(studies)))
    return counted
