"""How many cases the campaign tries, and the record of what came of them.

`JOURNEYLAB_CASES=0.1` tries a tenth of the full number of cases. Every test of the campaign counts
its cases in a `Tally`; `python tools/reliability.py` prints the tallies as a table.
"""

import json
import math
import os
from collections import Counter
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "build/torture"
SHARE = float(os.environ.get("JOURNEYLAB_CASES", "1"))
"""Cases that are tried, as a share of the full campaign."""

SILENT = "SILENT"
"""The outcome that no case may have: a wrong result that nothing reports."""


def cases(full: int, least: int = 1) -> int:
    """The number of cases to try, where the full campaign tries `full`."""
    return max(least, math.ceil(full * SHARE))


def seeded(full: int, least: int = 1) -> range:
    """The numbers of the cases, each the seed of its random choices."""
    return range(cases(full, least))


class Tally:
    """Counts of cases by fault and outcome, of one row of the campaign."""

    def __init__(self, row: str) -> None:
        self.path = FOLDER / f"{row}.json"
        self.outcomes: dict[str, Counter[str]] = {}
        self.figures: dict[str, str] = {}

    def add(self, fault: str, outcome: str, number: int = 1) -> None:
        """Count cases of a fault that ended in the same way."""
        self.outcomes.setdefault(fault, Counter())[outcome] += number

    def note(self, name: str, value: str) -> None:
        """Keep a measured figure, such as a peak of memory."""
        self.figures[name] = value

    def write(self) -> None:
        """Add the counts to the file of the row; a fault that was tried again is replaced."""
        known = {"faults": {}, "figures": {}}
        if self.path.exists():
            known |= json.loads(self.path.read_text(encoding="utf-8"))
        for fault, counts in self.outcomes.items():
            known["faults"][fault] = dict(counts)
        known["figures"] |= self.figures
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(known, indent=2, sort_keys=True, ensure_ascii=False)
        self.path.write_text(text + "\n", encoding="utf-8")


torture = pytest.mark.torture
small_and_full = pytest.mark.parametrize("full", [False, pytest.param(True, marks=torture)])
"""A test of few cases, which the campaign also runs with all of them."""
