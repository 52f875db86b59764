"""Effects and regions of claims in words; plain text with true minus signs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from journeylab.claims import register as reg
from journeylab.claims.theorems import Theorems
from journeylab.config import Labels
from journeylab.records.verdict_text import TheoremText, run_text
from journeylab.typography import short


class Names(NamedTuple):
    """Printed names of a study's variants, arms and measures; a missing name prints as its key."""

    variants: Labels = MappingProxyType({})
    arms: Labels = MappingProxyType({})
    measures: Mapping[str, reg.Measure] = MappingProxyType({})

    def measure(self, name: str) -> str:
        """The label of a measure."""
        return self.measures[name].label if name in self.measures else name


def theorem_texts(theorems: Theorems) -> dict[str, TheoremText]:
    """What reports print of every theorem, by its label."""
    return {
        theorem.label: TheoremText(
            name=theorem.name, says=theorem.says, document=theorems.document(theorem).title
        )
        for theorem in theorems.theorems
    }


def region_text(claim: reg.Claim) -> str:
    """The region that a claim names, e.g. “all > 0.95”."""
    region = claim.region
    if region is None:
        return ""
    if isinstance(region, reg.AtMost):
        return f"≤\u00a0{_margin(region.at_most)}"
    if isinstance(region, reg.AtLeast):
        return f"≥\u00a0{_margin(region.at_least)}"
    if isinstance(region, reg.Solves):
        threshold = region.solves
        bound = (
            f">\u00a0{_margin(threshold.above)}"
            if isinstance(threshold, reg.Above)
            else f"≥\u00a0{_margin(threshold.at_least)}"
        )
        text = f"{bound} in most seeds"
    elif isinstance(region, reg.Inside):
        text = f"in ({_margin(region.inside[0])}, {_margin(region.inside[1])})"
    elif isinstance(region, reg.Above):
        text = f">\u00a0{_margin(region.above)}"
    else:
        text = f"<\u00a0{_margin(region.below)}"
    quantifier = {"all_of": "all ", "any_of": "some "}.get(claim.kind, "")
    return quantifier + text


def effect_text(claim: reg.Claim, names: Names) -> str:
    """The quantity that is compared with the region, e.g. “A − B, all templates”."""
    terms = "; ".join(term_texts(claim.terms, names))
    return {"all_of": f"all of {terms}", "any_of": f"any of {terms}"}.get(claim.kind, terms)


def term_texts(terms: Sequence[reg.Term], names: Names) -> list[str]:
    """Every term in printed names; measures are named where they differ in a term or between."""
    texts = [_term_text(term, names, measured=False) for term in terms]
    if len(set(texts)) == len(texts):
        return texts
    return [_term_text(term, names, measured=True) for term in terms]


def _term_text(term: reg.Term, names: Names, *, measured: bool) -> str:
    measured = measured or len({names.measure(cell.measure) for cell in reg.cells([term])}) > 1

    def text(part: reg.Term, nested: bool) -> str:
        if isinstance(part, reg.Cell):
            name = run_name(part, names)
            return f"{names.measure(part.measure)} of {name}" if measured else name
        if isinstance(part, reg.Difference):
            left, right = part.difference
            if isinstance(left, reg.Cell) and isinstance(right, reg.Cell):
                joined = _cells_text(left, right, names, measured=measured)
            else:
                joined = f"{text(left, True)} − {text(right, True)}"
            return f"({joined})" if nested else joined
        if isinstance(part, reg.Mean):
            listed = _mean_text(part, names) or "; ".join(text(each, True) for each in part.mean)
            return f"(mean of {listed})" if nested else f"mean of {listed}"
        return short(part)

    return text(term, False)


def _mean_text(mean: reg.Mean, names: Names) -> str:
    """The runs of a mean of one measure, which is named once; else nothing."""
    runs = [cell for cell in mean.mean if isinstance(cell, reg.Cell)]
    [measure, *others] = {names.measure(cell.measure) for cell in reg.cells(mean.mean)}
    if others or len(runs) < len(mean.mean):
        return ""
    return f"{measure} of {'; '.join(run_name(cell, names) for cell in runs)}"


def _cells_text(left: reg.Cell, right: reg.Cell, names: Names, *, measured: bool) -> str:
    """The difference of two cells; what both share is named once, at the end."""
    first, second = names.measure(left.measure), names.measure(right.measure)
    if left.run == right.run and first != second:
        return _joined(f"{first} − {second}", run_name(left, names))
    if left.arm != right.arm or measured or left.run == right.run:
        texts = [run_name(cell, names) for cell in (left, right)]
        if measured:
            texts = [f"{first} of {texts[0]}", f"{second} of {texts[1]}"]
        return " − ".join(texts)
    variants = (names.variants.get(cell.variant, cell.variant) for cell in (left, right))
    return _joined(" − ".join(variants), names.arms.get(left.arm, left.arm))


def run_name(cell: reg.Cell, names: Names) -> str:
    """A run in print: the label of its variant, then of its arm; empty labels are left out."""
    return run_text(cell.arm, cell.variant, names.variants, names.arms)


def gate_failed(names: Sequence[str], measure: str, median: float, needed: float) -> str:
    """Why a gate withholds a verdict.

    ``names`` are those of its runs, ``measure`` is what the gate reads, ``median`` the largest of
    their medians; not finite if half the seeds of each run failed.
    """
    finished = math.isfinite(median)
    listed = " and ".join(f"“{name}”" for name in names)
    if len(names) == 1:
        reason = f"its median is {short(median)}" if finished else "half its seeds failed"
        return f"{listed} fails its gate ({measure}): {reason}, needed is {short(needed)}"
    larger = f"the {'larger' if len(names) == 2 else 'largest'} median is {short(median)}"
    reason = larger if finished else "half the seeds of each failed"
    wanted = f"at least one must reach {short(needed)}"
    return f"{listed} fail their gate ({measure}): {wanted}, and {reason}"


def _margin(value: float) -> str:
    """A margin as registered, so that a value beside it can be compared with it."""
    return short(value, 6)


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def metric_label(terms: Sequence[reg.Term], measures: Mapping[str, reg.Measure]) -> str:
    """The label of the first measure of each term, if all agree; else what the labels share.

    Labels such as “accuracy, N = 8” and “accuracy, N = 12” share “accuracy”, the text before the
    first comma.
    """
    firsts = (next(reg.cells([term]), None) for term in terms)
    names = {measures[cell.measure].label for cell in firsts if cell}
    if len(names) > 1:
        names = {name.partition(",")[0] for name in names}
    return names.pop() if len(names) == 1 else ""
