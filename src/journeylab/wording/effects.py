"""Effects and regions of claims in words; plain text with true minus signs."""

import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from journeylab.claims.effects import Cell, Difference, Every, Mean, Measure, Term, cells
from journeylab.claims.schema import Criterion
from journeylab.config import Labels
from journeylab.wording.typography import short

_SUPERLATIVE = re.compile(r"(largest|smallest|least|max)\b")


class Names(NamedTuple):
    """Printed names of a study's variants, arms and measures; a missing name prints as its key."""

    variants: Labels = MappingProxyType({})
    arms: Labels = MappingProxyType({})
    measures: Mapping[str, Measure] = MappingProxyType({})

    def measure(self, name: str) -> str:
        """The label of a measure."""
        return self.measures[name].label if name in self.measures else name

    def run(self, run: str) -> str:
        """A run ``arm/variant`` in print: the labels of its variant and arm that are not empty."""
        arm, _, variant = run.rpartition("/")
        return _joined(self.variants.get(variant, variant), self.arms.get(arm, arm))


UNNAMED = Names()
"""All print as their keys."""


def region_text(claim: Criterion) -> str:
    """The region that a claim names, e.g. “all > 0.95”; margins as they are registered."""
    region = claim.region
    if region is None:
        return ""
    if region.is_band:
        text = f"in ({short(region.low, 6)}, {short(region.high, 6)})"
    else:
        [end] = region.ends
        sign = (">≥" if end == region.low else "<≤")[region.closed]
        text = f"{sign}\u00a0{short(end, 6)}"
    quantifier = {"all_of": "all ", "any_of": "some "}.get(claim.kind, "")
    return f"{quantifier}{text}{' in most seeds' * (region.of == 'seeds')}"


def effect_text(claim: Criterion, names: Names) -> str:
    """The quantity that is compared with the region, e.g. “A − B, all templates”."""
    if isinstance(claim.effect, Every):
        label = claim.effect.every.label
        extreme = "largest" if claim.claimed.low == -math.inf else "smallest"
        return label if _SUPERLATIVE.match(label) else f"{extreme} {label}"
    terms = "; ".join(term_texts(claim.terms, names))
    return {"all_of": f"all of {terms}", "any_of": f"any of {terms}"}.get(claim.kind, terms)


def term_texts(terms: Sequence[Term], names: Names) -> list[str]:
    """Every term in printed names; measures are named where they differ in a term or between."""
    texts = [_term_text(term, names, measured=False) for term in terms]
    if len(set(texts)) == len(texts):
        return texts
    return [_term_text(term, names, measured=True) for term in terms]


def _term_text(term: Term, names: Names, *, measured: bool) -> str:
    measured = measured or len({names.measure(cell.measure) for cell in cells([term])}) > 1

    def text(part: Term, nested: bool) -> str:
        if isinstance(part, Cell):
            name = names.run(part.run)
            return f"{names.measure(part.measure)} of {name}" if measured else name
        if isinstance(part, Difference):
            left, right = part.difference
            joined = _shared_text(left, right, names, measured=measured)
            joined = joined or f"{text(left, True)} − {text(right, True)}"
            return f"({joined})" if nested else joined
        if isinstance(part, Mean):
            listed = _mean_text(part, names) or "; ".join(text(each, True) for each in part.mean)
            return f"(mean of {listed})" if nested else f"mean of {listed}"
        return short(part)

    return text(term, False)


def _mean_text(mean: Mean, names: Names) -> str:
    """The runs of a mean of one measure, which is named once; else nothing."""
    runs = [cell for cell in mean.mean if isinstance(cell, Cell)]
    [measure, *others] = {names.measure(cell.measure) for cell in cells(mean.mean)}
    if others or len(runs) < len(mean.mean):
        return ""
    return f"{measure} of {'; '.join(names.run(cell.run) for cell in runs)}"


def _shared_text(left: Term, right: Term, names: Names, *, measured: bool) -> str:
    """The difference of two cells of one run, or of one arm, which is named at the end; else ""."""
    if not isinstance(left, Cell) or not isinstance(right, Cell):
        return ""
    first, second = names.measure(left.measure), names.measure(right.measure)
    if left.run == right.run and first != second:
        return _joined(f"{first} − {second}", names.run(left.run))
    if left.arm != right.arm or measured or left.run == right.run:
        return ""
    variants = (names.variants.get(cell.variant, cell.variant) for cell in (left, right))
    return _joined(" − ".join(variants), names.arms.get(left.arm, left.arm))


def gate_failed(names: Sequence[str], measure: str, median: float | None, needed: float) -> str:
    """Why a gate withholds a verdict.

    ``names`` are those of its runs, ``measure`` is what the gate reads, ``median`` the largest of
    their medians; None if half the seeds of each run failed.
    """
    listed = " and ".join(f"“{name}”" for name in names)
    if len(names) == 1:
        reason = "half its seeds failed" if median is None else f"its median is {short(median)}"
        return f"{listed} fails its gate ({measure}): {reason}, needed is {short(needed)}"
    reason = "half the seeds of each failed"
    if median is not None:
        reason = f"the {'larger' if len(names) == 2 else 'largest'} median is {short(median)}"
    wanted = f"at least one must reach {short(needed)}"
    return f"{listed} fail their gate ({measure}): {wanted}, and {reason}"


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def metric_label(terms: Sequence[Term], measures: Mapping[str, Measure]) -> str:
    """The label of the first measure of each term, if all agree; else what the labels share.

    Labels such as “accuracy, N = 8” and “accuracy, N = 12” share “accuracy”, the text before the
    first comma.
    """
    firsts = (next(cells([term]), None) for term in terms)
    names = {measures[cell.measure].label for cell in firsts if cell}
    if len(names) > 1:
        names = {name.partition(",")[0] for name in names}
    return names.pop() if len(names) == 1 else ""
