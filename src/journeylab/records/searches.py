"""What a search of settings tried on pilot seeds, and what it chose."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from journeylab.config import Frozen, Search, build
from journeylab.records.files import read_json
from journeylab.records.stages import SEARCH

_OPTIONAL = Field(default=None, exclude_if=lambda gate: gate is None)


class TrialResult(Frozen):
    """A run with the settings of a point: the searched quantity of every pilot seed, and its mean.

    `key` is that of its measurements. A seed that failed has no value, and its trial no mean.
    `gate` is the mean of the quantity of the search's gate.
    """

    folder: str
    run: str
    index: tuple[int, ...]
    values: Mapping[str, float]
    steps: int
    key: str
    results: tuple[float | None, ...]
    mean: float | None
    gate: float | None = _OPTIONAL


class CurvePoint(Frozen):
    """The mean over the pilot seeds at a step."""

    step: int
    value: float


class Choice(Frozen):
    """What was chosen for a run; `untried` are its neighbours on the grid that were not tried.

    `curve` is its training: the points of its curve, or of trials with several numbers of steps.
    """

    values: Mapping[str, float]
    mean: float | None
    folder: str
    gate: float | None = _OPTIONAL
    untried: tuple[Mapping[str, float], ...] = ()
    curve: tuple[CurvePoint, ...] = ()


class SearchRecord(Frozen):
    """All trials of a study up to a round, and the choice of every run.

    `asked` are the folders of the trials of the next round; without any the search is complete.
    `basis` is what the trials depend on beside the searched settings, by name.
    """

    study: str
    round: int
    search: Search
    basis: Mapping[str, Any]
    trials: tuple[TrialResult, ...]
    choices: Mapping[str, Choice]
    asked: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The round in one line."""
        count = f"search, round {self.round}: {len(self.trials)} trials of {len(self.choices)} runs"
        return f"{count}, {len(self.asked)} more are asked for" if self.asked else count


def round_input(number: int) -> str:
    """The name of the record of an earlier round among the inputs of a plan."""
    return f"round-{number}"


def evidence_of_search(root: Path, study: str) -> Path:
    """The file that keeps the last round of a search."""
    return root / "evidence" / SEARCH / f"{study}.json"


def read_search(path: Path, key: str | None = None) -> SearchRecord:
    """Read the record of a round. Raises UserError if it is missing, damaged or of another plan."""
    return build(SearchRecord, read_json(path, key), str(path))
