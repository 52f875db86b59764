"""The theorems at a glance: the counts of outcomes of each, certificates apart."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from journeylab.claims.schema import Claim
from journeylab.wording.rows import Row
from journeylab.wording.verdicts import OUTCOMES, TheoremText, grouped, theorem_text

HEAD = ("Theorem", "Document’s, over seeds", "Corrected, over seeds", "Certificates")
NOTES = (
    "Judged claims only. Over seeds: an effect in trained models or simulations is compared with a "
    "margin. Certificates: a worst case, computed exactly. Checks of code are not counted."
)


Judged = tuple[Claim | Row, str]
"""A judged row of the register, and its verdict, or the word for why there is none."""


class TheoremCounts(NamedTuple):
    """A theorem and its printed name; ``cells`` count outcomes in the columns of :data:`HEAD`."""

    label: str
    name: str
    cells: tuple[tuple[tuple[str, int], ...], ...]
    studies: tuple[str, ...]


def count_outcomes(
    rows: Sequence[Judged], theorems: Mapping[str, TheoremText] = MappingProxyType({})
) -> list[TheoremCounts]:
    """Every theorem of the rows, in their order; one without a text is named by its label.

    Checks of code are not counted.
    """
    counted = []
    by_theorem = grouped((row.theorem, (row, word)) for row, word in rows if row.form != "check")
    for label, about in by_theorem.items():
        seeds = [(row, word) for row, word in about if row.kind != "exact"]
        groups = (
            [word for row, word in seeds if row.source == "document"],
            [word for row, word in seeds if row.source != "document"],
            [word for row, word in about if row.kind == "exact"],
        )
        studies = dict.fromkeys(row.id.partition(".")[0] for row, _ in about)
        name = theorem_text(label, theorems).name
        counted.append(TheoremCounts(label, name, tuple(map(_count, groups)), tuple(studies)))
    return counted


def _count(words: Sequence[str]) -> tuple[tuple[str, int], ...]:
    return tuple((word, words.count(word)) for word in OUTCOMES if word in words)
