"""Every number of a study, by key, and in authored text.

There ``{exp7.3.effect}`` stands for a number of a study's report, ``{|exp7.3.effect|}`` for its
absolute value, ``{exp1.3.solved}`` for the “12 of 12” of a claim about most seeds. Effects, means
and ends of intervals are rounded as on the first page of the report, other numbers to three digits.
"""

import difflib
import math
import re
from collections.abc import Mapping

import numpy as np

from journeylab.config import UserError
from journeylab.records.verdicts import Estimate
from journeylab.wording.numbers import extreme_text, first_digits, printed_numbers, solved_text
from journeylab.wording.rows import Row, StudyRows
from journeylab.wording.typography import Number, fixed, plain

PLACEHOLDER = re.compile(r"\{(?P<bar>\|?)(?P<key>exp\d+\.[\w.-]+)(?P=bar)\}")
UNJUDGED = "not judged yet"


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


def print_all(study: StudyRows, numbers: Mapping[str, Number]) -> dict[str, str]:
    """Every number of a study's ``numbers.json`` in print, by key."""
    printed = {key: plain(value) for key, value in numbers.items()}
    over_seeds = [row for row in study.verdicts if row.kind != "exact"]
    printed |= {f"{row.id}.seeds": plain(row.n) for row in over_seeds}
    printed |= {f"{row.id}.solved": solved_text(row) for row in over_seeds if row.solves}
    exact = [row for row in study.verdicts if row.kind == "exact"]
    printed |= {f"{row.id}.effect": extreme_text(row) for row in exact}
    for row in over_seeds:
        digits = first_digits(row)
        parts = {f"{row.id}.{i}": part for i, part in enumerate(row.parts, start=1)}
        for key, estimate in ({row.id: row} | parts).items():
            for name, text in printed_numbers(estimate, digits).items():
                if f"{key}.{name}" in printed:
                    printed[f"{key}.{name}"] = text
            for end in ("low", "high"):
                if isinstance(value := numbers.get(f"{key}.{end}"), float):
                    printed[f"{key}.{end}"] = fixed(value, digits)
    return printed


def fill(text: str, printed: Mapping[str, Mapping[str, str]], where: str) -> str:
    """The text with its numbers; ``printed`` holds those of every study, by key.

    “Not judged yet” stands for numbers of a study without results, and for a missing verdict.
    Raises UserError with `where`, the key, and what is near, for a number that the study does not
    have.
    """

    def number(found: re.Match[str]) -> str:
        key = found["key"]
        study = key.partition(".")[0]
        if study not in printed:
            return UNJUDGED
        if key not in printed[study]:
            near = ", ".join(difflib.get_close_matches(key, printed[study], n=3)) or "none"
            raise UserError(f"{where}: {found[0]}: {study} has no such number; near: {near}")
        shown = printed[study][key]
        if key.endswith(".verdict") and shown == "not judged":
            return UNJUDGED
        return shown.removeprefix("−") if found["bar"] else shown

    return PLACEHOLDER.sub(number, text)
