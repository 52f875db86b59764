"""The numbers that a report's prose queries, see :mod:`journeylab.wording.queries`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

import pandas as pd

from journeylab.config import Metric, UserError
from journeylab.plotting import StudyResults
from journeylab.wording.queries import Levels, Query, in_key, readings
from journeylab.wording.typography import Number


def answer(
    results: StudyResults, metrics: Mapping[str, Metric], keys: Collection[str]
) -> dict[str, Number]:
    """The numbers of queries by key; None where no run has a value.

    Raises UserError for a key that means nothing, or several things. A level that a quick or
    partial run does not have is no error.
    """
    tables = {name: results.pool(name) for name in metrics}
    measured = {name: _levels(rows, metrics[name]) for name, rows in tables.items()}
    arms = results.settings.arms
    named = {
        "arm": {*results.arms, *arms},
        "variant": {*results.labels, *(v for a in arms.values() for v in a.variants)},
    }
    planned = {name: {**levels, **named} for name, levels in measured.items()}
    whole = results.verdicts is None or results.verdicts.evidence
    numbers: dict[str, Number] = dict.fromkeys(keys)
    for key in keys:
        meant = readings(key, measured) or readings(key, planned)
        where = f"report.typ of {results.study}: {key}"
        if len(meant) > 1:
            ways = "; ".join(str(dict(query.where)) for query in meant)
            raise UserError(f"{where} can mean {ways}; write factor=level")
        if meant:
            numbers[key] = _reduce(tables[meant[0].metric], meant[0])
            continue
        known = [name for name in metrics if f"{key}.".startswith(f"{in_key(name)}.")]
        if not known or (whole and any(len(tables[name]) for name in known)):
            words = {*map(in_key, metrics)}
            words |= {in_key(x) for of in planned.values() for known in of.values() for x in known}
            unknown = sorted(set(key.split(".")) - words)
            near = [word for part in unknown for word in get_close_matches(part, words, 1)]
            raise UserError(
                f"{where} is no number, and no metric with levels of its factors; near: "
                f"{', '.join(near) or 'none'}"
            )
    return numbers


def _levels(rows: pd.DataFrame, metric: Metric) -> Levels:
    factors = ("arm", "variant", *(name for name in metric.factors if name in rows))
    return {factor: set(texts(rows[factor])) - {""} for factor in factors}


def texts(levels: pd.Series[str] | pd.Series[float]) -> pd.Series[str]:
    """Levels as text; numbers as short as possible, and "" where a factor does not apply."""
    return levels.map(lambda x: "" if pd.isna(x) else f"{x:g}" if isinstance(x, float) else str(x))


def _reduce(rows: pd.DataFrame, query: Query) -> Number:
    for factor, levels in query.where.items():
        rows = rows[texts(rows[factor]).isin(levels)]
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
