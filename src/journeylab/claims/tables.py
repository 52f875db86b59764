"""Read a table of measurements that another tool wrote, and refuse what cannot be judged."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from journeylab.claims.claims_file import TableClaims, whole
from journeylab.claims.effects import Every
from journeylab.claims.schema import StudyClaims
from journeylab.config import UserError, accepted, shown

MLFLOW = "mlflow:"
"""What the name of an experiment begins with."""
FAILED = ("", "nan", "failed")
"""How a table writes the value of a run that failed, in any case."""


def read_measurements(source: str | pd.DataFrame, of: TableClaims) -> pd.DataFrame:
    """The tidy table of a CSV or Parquet file, CSV from standard input (``-``), MLflow or a frame.

    ``mlflow:NAME`` is an experiment: parameters are columns, and each metric of a run is a row.

    Its columns are arm, variant, seed, metric, value and those that measures select on; its index
    counts rows as a reader of the file does. NaN is the value of a run that failed. Raises
    UserError with the row and the column of what cannot be read.
    """
    raw = _raw(source)
    source = source if isinstance(source, str) else "table"
    raw.columns = [str(name) for name in raw.columns]
    if twice := [name for name in raw.columns if list(raw.columns).count(name) > 1]:
        raise UserError(f"{source}: column {shown(twice[0])} stands there twice")
    if raw.empty:
        raise UserError(f"{source}: has no rows")
    columns = of.columns
    by_arm = columns.run is None and {"arm", "variant"} <= set(raw.columns)
    runs = ["arm", "variant"] if by_arm else [columns.run or "run"]
    measured = list(columns.metrics) or [columns.metric, columns.value]
    for name in (*runs, columns.seed, *measured):
        if name not in raw.columns:
            raise UserError(
                f"{source}: column {shown(name)} is missing;{accepted(name, list(raw.columns))}; "
                f"the key table in {of.path} gives columns other names"
            )
    factors = sorted(_selected(of.claims).intersection(raw.columns).difference(measured, runs))
    if columns.metrics:
        kept = [*runs, columns.seed, *factors]
        raw = raw.melt(kept, measured, columns.metric, columns.value, ignore_index=False)
    of_wide = raw[columns.metric] if columns.metrics else None
    names = [_names(source, raw[column]) for column in runs]
    if not by_arm:
        names = [names[0].map(whole).str.split("/", n=1).str[part] for part in (0, 1)]
    return pd.DataFrame(
        {
            "arm": names[0],
            "variant": names[1],
            "seed": _seeds(source, raw[columns.seed]),
            "metric": _names(source, raw[columns.metric]),
            "value": _values(source, raw[columns.value], of_wide),
            **{name: _factor(source, raw[name]) for name in factors},
        }
    )


def _raw(source: str | pd.DataFrame) -> pd.DataFrame:
    """The table as it is written; its index counts rows as a reader of the file does."""
    if isinstance(source, pd.DataFrame):
        return source.set_axis(pd.RangeIndex(1, 1 + len(source)))
    try:
        if source.endswith(".parquet"):
            return _raw(pd.read_parquet(source))
        if source == "-":
            return _read_csv(sys.stdin, source)
        if source.startswith(MLFLOW):
            return _read_mlflow(source.removeprefix(MLFLOW))
        with Path(source).open(encoding="utf-8-sig", newline="") as stream:
            return _read_csv(stream, source)
    except (OSError, ValueError, csv.Error) as error:
        reason = " ".join((getattr(error, "strerror", "") or str(error)).split())
        raise UserError(f"{source}: cannot be read as a table ({reason[:200]})") from None


def _read_mlflow(name: str) -> pd.DataFrame:
    """The finished and failed runs of an experiment in the store of MLFLOW_TRACKING_URI.

    Columns are the parameters, and ``run`` is the name of a run where no parameter has that name.
    Of a run that did not finish, no metric counts: all of them have failed.
    """
    ended = _ended(name)
    metrics = sorted({metric for run in ended for metric in run.data.metrics})
    rows = [
        {"run": run.info.run_name, **run.data.params, "metric": metric}
        | {"value": run.data.metrics.get(metric) if run.info.status == "FINISHED" else None}
        for run in ended
        for metric in metrics
        if metric in run.data.metrics or run.info.status != "FINISHED"
    ]
    return pd.DataFrame(rows, index=range(1, len(rows) + 1), dtype=object)


def first_start(name: str) -> float:
    """When the first of these runs began, in seconds since 1970; infinite if there is none."""
    return min((run.info.start_time / 1000 for run in _ended(name)), default=math.inf)


def _ended(name: str) -> list[Any]:
    """The finished and failed runs of an experiment, in the order in which they began."""
    try:
        from mlflow import MlflowClient, search_runs
    except ImportError:
        raise UserError(f"{MLFLOW}{name}: MLflow is not installed: pip install mlflow") from None
    client = MlflowClient()
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        names = [each.name for each in client.search_experiments()]
        raise UserError(f"{MLFLOW}{name}: there is no such experiment;{accepted(name, names)}")
    runs = search_runs([experiment.experiment_id], output_format="list")
    ended = [run for run in runs if run.info.status not in ("RUNNING", "SCHEDULED")]
    return sorted(ended, key=lambda run: run.info.start_time)


def _read_csv(lines: Iterable[str], source: str) -> pd.DataFrame:
    """All fields as text."""
    reader = csv.reader(lines, strict=True)
    head, rows, numbers = next(reader, []), [], []
    for row in filter(None, reader):
        if len(row) != len(head):
            raise UserError(
                f"{source}: row {reader.line_num}: {len(row)} fields, but the head has {len(head)}"
            )
        rows.append(row)
        numbers.append(reader.line_num)
    return pd.DataFrame(rows, columns=head, index=numbers, dtype=object)


def _names(source: str, values: pd.Series[Any]) -> pd.Series[str]:
    named = values.map(lambda each: isinstance(each, str) and bool(each.strip())).astype(bool)
    _refuse(source, values, ~named, "write a name")
    return values.astype(str)


def _seeds(source: str, values: pd.Series[Any]) -> pd.Series[float]:
    """The seeds as floats, NaN for a row without one."""
    empty = values.isna() | (values.astype(str) == "")
    numbers = pd.to_numeric(values.where(~empty), errors="coerce").astype(float)
    wrong = ~empty & ~((numbers >= 0) & (numbers % 1 == 0) & (numbers < 2**53))
    _refuse(source, values, wrong, "write a whole number, or nothing for a run without seeds")
    return numbers


def _values(
    source: str, values: pd.Series[Any], columns: pd.Series[Any] | None
) -> pd.Series[float]:
    """The values as floats, NaN where a run failed; ``columns`` names those of a wide table."""
    failed = values.isna() | values.astype(str).str.strip().str.lower().isin(FAILED)
    truth = values.map(lambda each: isinstance(each, bool | np.bool_)).astype(bool)
    numbers = pd.to_numeric(values.where(~failed & ~truth), errors="coerce").astype(float)
    wrong = numbers.isna() & ~failed
    if columns is not None and wrong.any():
        values = values.rename(str(columns[wrong.to_numpy()].iloc[0]))
    _refuse(source, values, wrong, "write a number, or nothing for a run that failed")
    return numbers


def _factor(source: str, values: pd.Series[Any]) -> pd.Series[Any]:
    """A column that measures select on: numbers, or names, with nothing where it does not apply.

    Of a column of text without types, as in CSV, texts that read as numbers are numbers.
    """
    given = values.notna() & (values.astype(str) != "")
    numbers = pd.to_numeric(values.where(given), errors="coerce")
    typed = source.endswith(".parquet")
    is_text = values.map(lambda each: isinstance(each, str)).astype(bool)
    numeric = given & (~is_text if typed else numbers.notna())
    named = given & ~numeric
    few = numeric if numeric.sum() < named.sum() else named
    _refuse(source, values, few, "the column mixes numbers and names; write one kind")
    return values.where(given)


def _refuse(source: str, values: pd.Series[Any], wrong: pd.Series[bool], right: str) -> None:
    """Raise UserError for the first value of a column that is ``wrong``, if there is one."""
    if wrong.any():
        at = int(wrong.to_numpy().argmax())
        row = f"{source}: row {values.index[at]}: {values.name}:"
        raise UserError(f"{row} {shown(values.iloc[at])}: {right}")


def _selected(claims: StudyClaims) -> set[str]:
    """The columns that measures and certificates select on."""
    every = [row.effect.every.at for row in claims.claims if isinstance(row.effect, Every)]
    return {name for at in (*(each.at for each in claims.measures.values()), *every) for name in at}
