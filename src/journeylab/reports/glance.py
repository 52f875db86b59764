"""The theorems at a glance: how many judged claims of each came out how, certificates apart."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from journeylab.records.verdicts import WORDS, Registration, Verdict

OTHER = ("withheld", "not judged", "exploratory")
"""What stands where there is no verdict, told after the verdicts."""

HEAD = ("Theorem", "Document’s, over seeds", "Corrected, over seeds", "Certificates")
NOTES = (
    "Judged claims only. Over seeds: an effect in trained models or simulations, held against a "
    "margin. Certificates: a worst case, computed exactly."
)


class Judged(NamedTuple):
    """A judged row of the register and how it came out: a verdict, or why there is none."""

    id: str
    theorem: str
    document: bool
    exact: bool
    outcome: str


class Theorem(NamedTuple):
    """A theorem; ``cells`` count outcomes as :data:`HEAD` says, in the order of verdicts."""

    label: str
    cells: tuple[tuple[tuple[str, int], ...], ...]
    studies: tuple[str, ...]


def outcome(row: Verdict, registered: Mapping[str, Registration]) -> str:
    """How a row came out, in a word: its verdict, or why there is none."""
    if row.verdict is not None and is_exploratory(row, registered):
        return "exploratory"
    return row.verdict or ("withheld" if row.withheld else "not judged")


def is_exploratory(row: Verdict, registered: Mapping[str, Registration]) -> bool:
    """Whether a row was not registered before its runs."""
    return row.id in registered and registered[row.id].exploratory


def at_a_glance(rows: Sequence[Judged]) -> list[Theorem]:
    """Every theorem of the rows, in the order in which they come."""
    found = []
    for theorem in dict.fromkeys(row.theorem for row in rows):
        about = [row for row in rows if row.theorem == theorem]
        seeds = [row for row in about if not row.exact]
        groups = (
            [row for row in seeds if row.document],
            [row for row in seeds if not row.document],
            [row for row in about if row.exact],
        )
        studies = dict.fromkeys(row.id.partition(".")[0] for row in about)
        found.append(Theorem(theorem, tuple(map(_counted, groups)), tuple(studies)))
    return found


def _counted(rows: Iterable[Judged]) -> tuple[tuple[str, int], ...]:
    words = [row.outcome for row in rows]
    return tuple((word, words.count(word)) for word in (*WORDS, *OTHER) if word in words)
