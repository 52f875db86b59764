"""What a study's figures are drawn from, and what its tables are."""

from dataclasses import dataclass, field

import pandas as pd

from journeylab.config import StudySettings
from journeylab.records.runs import RunRecord
from journeylab.records.verdicts import StudyVerdicts

RunName = tuple[str, str]
"""An arm and one of its variants."""


@dataclass(frozen=True)
class StudyResults:
    """Everything that is known of a study once it is judged.

    ``measurements`` is tidy: study, arm, variant, seed (none for what is computed once), metric,
    factors…, value. ``curves``, where
    the study trains: study, arm, variant, seed, step, metric, value. Failed seeds have no rows in
    either; they are in ``runs``.
    """

    study: str
    settings: StudySettings
    measurements: pd.DataFrame
    verdicts: StudyVerdicts | None = None
    curves: pd.DataFrame | None = None
    runs: tuple[RunRecord, ...] = ()

    def select(self, metric: str, **where: str | int) -> pd.DataFrame:
        """The measurements of one metric, of one arm, whose columns have the given values.

        Raises ValueError for rows of several arms: a second one would move a mean without a word.
        """
        rows = self.pool(metric, **where)
        arms = rows["arm"].unique()
        if len(arms) > 1:
            raise ValueError(
                f"{self.study}: {metric} is measured in arms {', '.join(sorted(arms))}: "
                "select one by arm=…, or pool them"
            )
        return rows

    def pool(self, metric: str, **where: str | int) -> pd.DataFrame:
        """The measurements of one metric, of all arms, whose columns have the given values."""
        rows = self.measurements[self.measurements["metric"] == metric]
        for column, value in where.items():
            rows = rows[rows[column] == value]
        return rows

    def failures(self, arm: str, variant: str) -> int:
        """How many seeds of a variant failed."""
        return sum(
            seed.status == "failed"
            for run in self.runs
            if (run.arm, run.variant) == (arm, variant)
            for seed in run.seeds
        )


@dataclass(frozen=True)
class Table:
    """A table for the PDF and for LaTeX.

    The frame's columns are the heads and its cells are printed as they are: format numbers first.
    Columns named in ``numeric`` are aligned to the right.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    notes: str = ""
    numeric: tuple[str, ...] = field(default=())
