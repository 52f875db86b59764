"""The numbers that a report's prose queries, see :mod:`journeylab.wording.queries`."""

from collections.abc import Collection
from difflib import get_close_matches

import pandas as pd

from journeylab.config import Metric, UserError
from journeylab.plotting import StudyResults
from journeylab.plotting.medians import level_text
from journeylab.wording.queries import Levels, Query, in_key, readings
from journeylab.wording.typography import Number


def answer(results: StudyResults, keys: Collection[str]) -> dict[str, Number]:
    """The numbers of queries by key; None where no run has a value.

    Raises UserError for a key that means nothing, or several things. A metric, level, arm or
    variant that is declared and was not measured is no error.
    """
    metrics = results.names.metrics
    tables = {name: results.pool(name) for name in metrics}
    measured = {name: _levels(rows, metrics[name]) for name, rows in tables.items()}
    arms = results.settings.arms
    variants = {*results.labels, *(name for arm in arms.values() for name in arm.variants)}
    declared = {
        name: {"arm": {*results.arms, *arms}, "variant": variants}
        | {factor: set(map(str, levels)) for factor, levels in metric.factors.items()}
        for name, metric in metrics.items()
    }
    numbers: dict[str, Number] = {}
    for key in keys:
        meant = readings(key, measured) or readings(key, declared)[:1]  # without values, all agree
        where = f"report.typ of {results.study}: {key}"
        if len(meant) > 1:
            ways = "; ".join(str(dict(query.where)) for query in meant)
            raise UserError(f"{where} can mean {ways}; write factor=level")
        if not meant:
            words = {*map(in_key, metrics)}
            words |= {in_key(x) for of in declared.values() for known in of.values() for x in known}
            unknown = sorted(set(key.split(".")) - words)
            near = [word for part in unknown for word in get_close_matches(part, words, 1)]
            raise UserError(
                f"{where} is no number, and no metric with levels of its factors; near: "
                f"{', '.join(near) or 'none'}"
            )
        numbers[key] = _reduce(tables[meant[0].metric], meant[0])
    return numbers


def _levels(rows: pd.DataFrame, metric: Metric) -> Levels:
    factors = ("arm", "variant", *(name for name in metric.factors if name in rows))
    return {factor: set(rows[factor].map(level_text)) - {""} for factor in factors}


def _reduce(rows: pd.DataFrame, query: Query) -> Number:
    for factor, levels in query.where.items():
        rows = rows[rows[factor].map(level_text).isin(levels)] if factor in rows else rows[:0]
    values = rows["value"].dropna()
    kind, _, limit = query.reduction.rpartition("-")
    if kind:
        against = {"at-least": values.ge, "below": values.lt, "above": values.gt}[kind]
        return int(against(float(limit)).sum())
    if query.reduction == "count":
        return len(values)
    if values.empty:
        return None
    reduced = values.abs().median() if query.reduction == "size" else values.agg(query.reduction)
    return float(reduced)
