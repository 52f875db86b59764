"""The theorems at a glance: the counts of outcomes of each, certificates apart."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from journeylab.wording.verdicts import OUTCOMES, TheoremText, theorem_text

HEAD = ("Theorem", "Document’s, over seeds", "Corrected, over seeds", "Certificates")
NOTES = (
    "Judged claims only. Over seeds: an effect in trained models or simulations is compared with a "
    "margin. Certificates: a worst case, computed exactly."
)


class Judged(NamedTuple):
    """A judged row of the register; ``outcome`` is its verdict, or why there is none."""

    id: str
    theorem: str
    document: bool
    exact: bool
    outcome: str


class TheoremCounts(NamedTuple):
    """A theorem and its printed name; ``cells`` count outcomes in the columns of :data:`HEAD`."""

    label: str
    name: str
    cells: tuple[tuple[tuple[str, int], ...], ...]
    studies: tuple[str, ...]


def count_outcomes(
    rows: Sequence[Judged], theorems: Mapping[str, TheoremText] = MappingProxyType({})
) -> list[TheoremCounts]:
    """Every theorem of the rows, in their order; one without a text is named by its label."""
    counted = []
    for label in dict.fromkeys(row.theorem for row in rows):
        about = [row for row in rows if row.theorem == label]
        seeds = [row for row in about if not row.exact]
        groups = (
            [row for row in seeds if row.document],
            [row for row in seeds if not row.document],
            [row for row in about if row.exact],
        )
        studies = dict.fromkeys(row.id.partition(".")[0] for row in about)
        name = theorem_text(label, theorems).name
        counted.append(TheoremCounts(label, name, tuple(map(_count, groups)), tuple(studies)))
    return counted


def _count(rows: Iterable[Judged]) -> tuple[tuple[str, int], ...]:
    words = [row.outcome for row in rows]
    return tuple((word, words.count(word)) for word in OUTCOMES if word in words)
