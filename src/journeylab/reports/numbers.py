"""Every number of a study, by key."""

import math
from collections.abc import Mapping

import numpy as np

from journeylab.records.verdicts import Estimate
from journeylab.wording.rows import Row, StudyRows
from journeylab.wording.typography import Number, plain


def study_numbers(verdicts: StudyRows, extra: Mapping[str, Number]) -> dict[str, Number]:
    """All numbers by key: ``exp7.2.effect`` of a claim, ``exp7.1.3.low`` of its third part.

    Unbounded ends of intervals are the texts −∞ and ∞; a missing verdict is “not judged”. A claim
    judged at looks has the look at which they ended, its seeds and its state.
    """
    study = verdicts.study
    numbers: dict[str, Number] = {
        f"{study}.{name}": getattr(verdicts, name) for name in ("scale", "seeds", "alpha", "M")
    }
    for verdict in verdicts.verdicts:
        numbers |= _estimate(verdict.id, verdict, verdict, bounded=verdict.kind != "exact")
        if verdict.kind == "exact" and verdict.effect is None and verdict.n:
            numbers[f"{verdict.id}.effect"] = plain(verdict.extreme)
        known = ("tail", "k", "detectable", "source", "kind")
        numbers |= {f"{verdict.id}.{name}": getattr(verdict, name) for name in known}
        numbers[f"{verdict.id}.region"] = verdict.region_text
        if verdict.state:
            numbers[f"{verdict.id}.seeds"] = verdict.n
            numbers[f"{verdict.id}.look"] = verdicts.look_of(verdict)
            numbers[f"{verdict.id}.state"] = verdict.state
        for point in verdict.scope:
            numbers |= _estimate(f"{verdict.id}.{point.key}", point, verdict, bounded=True)
        for i, part in enumerate(verdict.parts, start=1):
            numbers |= _estimate(f"{verdict.id}.{i}", part, verdict, bounded=True)
    return numbers | {f"{study}.{key}": _known(value) for key, value in extra.items()}


def with_own_keys(study: str, numbers: Mapping[str, Number]) -> dict[str, Number]:
    """The numbers also by their keys without the study, by which its prose cites them."""
    own = f"{study}."
    known = {key.removeprefix(own): n for key, n in numbers.items() if key.startswith(own)}
    return {**numbers, **known}


def _known(value: Number) -> Number:
    """A number of Python that JSON can hold; None for NaN, as of a median if all seeds failed."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else plain(value)
    return value


def _estimate(key: str, row: Estimate, of: Row, *, bounded: bool) -> dict[str, Number]:
    known = ("effect", "mean", "low", "high", "n", "failures")
    values: dict[str, Number] = {name: getattr(row, name) for name in known}
    values["verdict"] = of.in_form(row.verdict) or "not judged"
    if bounded and row.low is None:
        values["low"] = "−∞"
    if bounded and row.high is None:
        values["high"] = "∞"
    return {f"{key}.{name}": value for name, value in values.items()}
