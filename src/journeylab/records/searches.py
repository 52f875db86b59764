"""What a search of settings tried on pilot seeds, and what it chose."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from journeylab.config import Frozen, Search, build
from journeylab.records.files import read_json
from journeylab.records.stages import SEARCH


class SearchPoint(Frozen):
    """The values of the searched settings, and the means of the searched quantity and of the gate.

    A trial of which a seed failed has no mean. `folder` is that of the trial.
    """

    values: Mapping[str, float]
    mean: float | None
    folder: str
    gate: float | None = Field(default=None, exclude_if=lambda gate: gate is None)


class TrialResult(SearchPoint):
    """A run with the settings of a point, and the searched quantity of every pilot seed.

    `key` is that of its measurements. A seed that failed has no value.
    """

    run: str
    index: tuple[int, ...]
    steps: int
    key: str
    results: tuple[float | None, ...]


class CurvePoint(Frozen):
    """The mean over the pilot seeds at a step."""

    step: int
    value: float


class Choice(SearchPoint):
    """What was chosen for a run; `untried` are its neighbours on the grid that were not tried.

    `curve` is its training: the points of its curve, or of trials with several numbers of steps.
    """

    untried: tuple[Mapping[str, float], ...] = ()
    curve: tuple[CurvePoint, ...] = ()


class Searched(Frozen):
    """All trials of a study, and the choice of every run."""

    study: str
    search: Search
    trials: tuple[TrialResult, ...]
    choices: Mapping[str, Choice]


class PrintedSearch(Searched):
    """A search as reports print it: with what changed since, and the settings in use, by run."""

    outdated: tuple[str, ...]
    in_use: Mapping[str, Mapping[str, float]]

    @property
    def below_gate(self) -> list[str]:
        """The runs of which no point reached the gate."""
        gate = self.search.gate
        return [run for run, at in self.choices.items() if gate and not gate.passed(at.gate)]


class SearchRecord(Searched):
    """A search up to a round.

    `asked` are the folders of the trials of the next round; without any the search is complete.
    `basis` is what the trials depend on beside the searched settings, by name.
    """

    round: int
    basis: Mapping[str, Any]
    asked: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The round in one line."""
        count = f"search, round {self.round}: {len(self.trials)} trials of {len(self.choices)} runs"
        return f"{count}, {len(self.asked)} more are asked for" if self.asked else count


def evidence_of_search(root: Path, study: str) -> Path:
    """The file that keeps the last round of a search."""
    return root / "evidence" / SEARCH / f"{study}.json"


def read_search(path: Path, key: str | None = None) -> SearchRecord:
    """Read the record of a round. Raises UserError if it is missing, damaged or of another plan."""
    return build(SearchRecord, read_json(path, key), str(path))
