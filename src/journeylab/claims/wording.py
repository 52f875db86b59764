"""Claims and verdicts in words; plain text with true minus signs."""

from collections.abc import Mapping, Sequence

from journeylab.claims import register as reg
from journeylab.config import Labels
from journeylab.records.verdicts import Verdict
from journeylab.typography import short


def region_text(claim: reg.Claim) -> str:
    """The region that a claim names, e.g. “all > 0.95”."""
    region = claim.region
    if region is None:
        return ""
    if isinstance(region, reg.AtMost):
        return f"≤\u00a0{short(region.at_most)}"
    if isinstance(region, reg.AtLeast):
        return f"≥\u00a0{short(region.at_least)}"
    if isinstance(region, reg.Solves):
        threshold = region.solves
        bound = (
            f">\u00a0{short(threshold.above)}"
            if isinstance(threshold, reg.Above)
            else f"≥\u00a0{short(threshold.at_least)}"
        )
        text = f"{bound} in most seeds"
    elif isinstance(region, reg.Inside):
        text = f"in ({short(region.inside[0])}, {short(region.inside[1])})"
    elif isinstance(region, reg.Above):
        text = f">\u00a0{short(region.above)}"
    else:
        text = f"<\u00a0{short(region.below)}"
    quantifier = {"all_of": "all ", "any_of": "some "}.get(claim.kind, "")
    return quantifier + text


def effect_text(claim: reg.Claim, labels: Labels) -> str:
    """What is compared with the region, e.g. “native/A − 7a/B”."""
    terms = ", ".join(term_texts(claim.terms, labels))
    return {"all_of": f"all of {terms}", "any_of": f"any of {terms}"}.get(claim.kind, terms)


def term_texts(terms: Sequence[reg.Term], labels: Labels) -> list[str]:
    """Terms in the names of runs; measures are told where they differ, in a term or between."""
    texts = [_term_text(term, labels, measured=False) for term in terms]
    distinct = len(set(texts)) == len(texts)
    return texts if distinct else [_term_text(term, labels, measured=True) for term in terms]


def _term_text(term: reg.Term, labels: Labels, *, measured: bool) -> str:
    measures = {cell.measure for cell in reg.cells([term])}
    measured = measured or len(measures) > 1

    def text(part: reg.Term, nested: bool) -> str:
        if isinstance(part, reg.Cell):
            name = run_name(part, labels)
            return f"{name} {part.measure}" if measured else name
        if isinstance(part, reg.Difference):
            left, right = part.difference
            if isinstance(left, reg.Cell) and isinstance(right, reg.Cell) and left.run == right.run:
                return f"{run_name(left, labels)} ({left.measure} − {right.measure})"
            first, second = text(left, True), text(right, True)
            return f"({first} − {second})" if nested else f"{first} − {second}"
        return short(part)

    return text(term, False)


def run_name(cell: reg.Cell, labels: Labels) -> str:
    """The run as people write it: its arm, and its variant's name in print."""
    return f"{cell.arm}/{labels.get(cell.variant, cell.variant)}"


def metric_label(term: reg.Term, measures: Mapping[str, reg.Measure]) -> str:
    """The label of the first measure that a term reads."""
    first = next(reg.cells([term]), None)
    return measures[first.measure].label if first else ""


_UNJUDGED = {True: "Not judged", False: "Secondary, not judged"}


def opening(verdict: Verdict) -> str:
    """The verdict's word, as a sentence begins with it."""
    return {
        "supported": "Supported",
        "refuted": "Refuted",
        "inconclusive": "Undecided by these data",
        "undecidable": "Cannot be decided with so few seeds",
        None: "Withheld" if verdict.withheld else _UNJUDGED[verdict.primary],
    }[verdict.verdict]


def sentence(verdict: Verdict) -> str:
    """The verdict in plain words, with the numbers it rests on; :func:`opening` stands before."""
    claimed = f", claimed {verdict.region_text}" if verdict.region_text else ""
    if verdict.kind == "exact":
        found = "is not finite" if verdict.effect is None else short(verdict.effect)
        numbers = f"{verdict.effect_text} {found} over {verdict.n} cases{claimed}"
    elif verdict.effect is None:
        numbers = f"no single number{claimed}, {verdict.n} seeds"
    else:
        name = "share of solving seeds" if "solves" in verdict.region else "median effect"
        if verdict.parts:
            name = f"{'worst' if verdict.kind == 'all_of' else 'best'} part's {name}"
        low = "−∞" if verdict.low is None else short(verdict.low)
        high = "∞" if verdict.high is None else short(verdict.high)
        rounding = 1e-12 * max(abs(verdict.low or 0), abs(verdict.high or 0))
        effect = 0.0 if abs(verdict.effect) < rounding else verdict.effect
        numbers = f"{name} {short(effect)}, interval [{low}, {high}]{claimed}, {verdict.n} seeds"
    if verdict.failures and verdict.kind != "exact":
        numbers += f", {verdict.failures} failed"
    told = (*([verdict.withheld] if verdict.withheld else []), *verdict.notes)
    ending = "".join(f"; {note}" for note in told)
    return f"{verdict.statement.removesuffix('.')} ({numbers}{ending})."
