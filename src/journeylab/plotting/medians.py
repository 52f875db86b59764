"""Tables of measurements whose cells are numbers with keys, to be cited as ``\\result{key}``."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd

from journeylab.plotting.results import Level, Places, StudyResults, Table, in_order, median
from journeylab.plotting.searches import tabulate_trials
from journeylab.wording.queries import in_key
from journeylab.wording.typography import plain

Columns = dict[str, tuple[str, Mapping[str, Level]]]
"""Head of a column → the metric in it, and the levels of the factors at which it is read."""


def medians(
    results: StudyResults,
    columns: Mapping[str, tuple[str, Mapping[str, Level]]],
    arms: Level = (),
    by: tuple[str, ...] = ("arm", "variant"),
    places: Places = plain,
    titles: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> Table:
    """Medians over the seeds that finished, by run or as ``by`` says, in all trained arms or some.

    Where no arm is trained, all arms are shown.
    ``titles`` are the printed names of levels, by factor; those of arms and variants are known.
    The cell of the run axial/discrete below “Held-out” has the key ``axial-discrete.held-out``.
    Raises ValueError if there are several values of a seed in a cell.
    """
    trained = [arm for arm, _ in results.present] or list(results.arms)
    known: dict[tuple[str, ...], dict[str, str]] = {}
    numbers: dict[str, float] = {}
    for head, (metric, where) in columns.items():
        rows = results.pool(metric, **{"arm": arms or trained, **where})
        if rows.empty:  # without the columns of its factors
            continue
        if rows.duplicated([*by, "seed"]).any():
            raise ValueError(f"{results.study}: {head}: choose levels of all its factors")
        for group, values in rows.groupby(list(by), sort=False)["value"]:
            levels = tuple(map(level_text, group))
            numbers[_key(*levels, head)] = float(values.median())
            known.setdefault(levels, {})[head] = median(values, places)
    table = [dict(zip(by, levels, strict=True)) | cells for levels, cells in known.items()]
    frame = pd.DataFrame(table, columns=[*by, *columns], dtype=object).fillna("–")
    printed = {"arm": results.arms, "variant": results.labels, **titles}
    named = [factor for factor in by if factor in printed]
    frame = frame.assign(**{factor: in_order(frame[factor], printed[factor]) for factor in named})
    frame = frame.sort_values(named, kind="stable", ignore_index=True).astype(str)
    frame = frame.rename(columns={factor: factor.capitalize() for factor in by})
    if isinstance(arms, str):
        frame = frame.drop(columns="Arm", errors="ignore")
    return Table(frame, tuple(columns), numbers)


def tabulated(results: StudyResults, own: Mapping[str, Table]) -> dict[str, Table]:
    """The tables of a study that have rows, in the order of its ``names.yaml``: its own, which
    ``figures.py`` makes, and those that ``names.yaml`` describes.
    """
    names, tables = results.names, dict(own)
    for name, written in names.tables.items():
        if written.medians:
            columns: Columns = {}
            for column in written.medians:
                known = names.metrics[column.metric].factors  # a metric may lack a shared factor
                shared = {of: level for of, level in written.at.items() if of in known}
                columns[column.head] = column.metric, {**shared, **column.at}
            tables[name] = medians(results, columns, written.arms, written.by)
        elif written.ranges:
            tables[name] = ranges(results, written.ranges)
        elif written.trials and results.trials is not None:
            tables[name] = tabulate_trials(results, written.trials)
    ordered = (name for name in dict.fromkeys((*names.tables, *tables)) if name in tables)
    return {name: tables[name] for name in ordered if len(tables[name].frame)}


def ranges(results: StudyResults, by: Mapping[str, tuple[str, ...]]) -> Table:
    """The smallest and the largest value of metrics that are computed exactly.

    ``by`` names the factors of each metric whose levels have rows of their own. The largest
    ``rise`` at the level “broken” has the key ``rise-broken.largest``.
    """
    rows: list[dict[str, str]] = []
    numbers: dict[str, float] = {}
    for metric, factors in by.items():
        known = results.pool(metric).assign(all="all cases")
        if known.empty:  # without the columns of its factors
            continue
        label = results.names.metrics[metric].label
        for levels, values in known.groupby([*(factors or ["all"])], sort=False)["value"]:
            ends = {"Smallest": float(values.min()), "Largest": float(values.max())}
            rows.append(
                {"Measured": label, "At": ", ".join(map(level_text, levels))}
                | {head: plain(value) for head, value in ends.items()}
            )
            at = [level_text(level) for level in levels] if factors else []
            numbers |= {_key(metric, *at, head): value for head, value in ends.items()}
    caption = "Checks, and controls that must fail: the extreme values over all cases."
    numeric = ("Smallest", "Largest") if rows else ()
    return Table(pd.DataFrame(rows), numeric, numbers, caption)


def level_text(level: Any) -> str:
    """A level as text: numbers as short as possible, and "" where a factor does not apply."""
    return "" if pd.isna(level) else f"{level:g}" if isinstance(level, float) else str(level)


def _key(*names: str) -> str:
    """Names as a key: run and column, ``axial-discrete.held-out``; metric, levels and end."""
    *first, last = map(in_key, names)
    return f"{'-'.join(first)}.{last.lower()}"
