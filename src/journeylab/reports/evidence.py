"""What is known of one study when all of them are told together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from journeylab.records.runs import RunHost, RunRecord
from journeylab.records.verdicts import Registration, StudyVerdicts


class Evidence(NamedTuple):
    """A study: its verdicts, what was drawn of it, its runs, and when its rows were registered.

    ``folder`` holds what was drawn; ``content`` and ``numbers`` are its content.json and
    numbers.json. ``register`` is a hash of the study's rows as they are judged;
    ``read`` are the runs that each row reads.
    """

    verdicts: StudyVerdicts
    folder: Path
    content: Mapping[str, Any]
    numbers: Mapping[str, Any]
    records: Sequence[tuple[RunRecord, RunHost]]
    registered: Mapping[str, Registration]
    register: str
    read: Mapping[str, Sequence[RunRecord]]

    @property
    def study(self) -> str:
        """The study's id."""
        return self.verdicts.study
