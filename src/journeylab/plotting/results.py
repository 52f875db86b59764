"""The results that a study's figures are drawn from, and the type of its tables."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from journeylab.config import Labels, StudySettings, TrainedArm, UserError, accepted
from journeylab.plotting.style import Style, styles
from journeylab.records.runs import RunRecord
from journeylab.records.searches import PrintedSearch
from journeylab.wording.names import StudyNames
from journeylab.wording.rows import StudyRows
from journeylab.wording.typography import fixed

RunName = tuple[str, str]
"""An arm and one of its variants."""
Level = str | int | Collection[str | int]
"""A level of a factor, or several of them."""
Places = int | Callable[[float], str]
"""Decimals of a number, or how it is printed."""

Kind = TypeVar("Kind")

_RUN = ["arm", "variant", "seed"]


@dataclass(frozen=True)
class StudyResults:
    """All results of a judged study.

    ``measurements`` is tidy: study, arm, variant, seed (empty for a run that is computed once),
    metric, factors…, value. ``curves`` exists if the study trains: study, arm, variant, seed, step,
    metric, value. Failed seeds have no rows in either; they are listed in ``runs``. ``search`` is
    what the search of settings tried and chose, and ``trials`` an older search, as
    :func:`~journeylab.plotting.read_trials` reads it.
    """

    study: str
    settings: StudySettings
    measurements: pd.DataFrame
    names: StudyNames
    verdicts: StudyRows | None = None
    curves: pd.DataFrame | None = None
    runs: tuple[RunRecord, ...] = ()
    search: PrintedSearch | None = None
    trials: pd.DataFrame | None = None

    @property
    def labels(self) -> Labels:
        """The printed names of variants, in the order of figures."""
        return self.names.labels

    @property
    def arms(self) -> Labels:
        """The printed names of arms, in the order of figures."""
        return self.names.arms

    @cached_property
    def styles(self) -> dict[str, Style]:
        """Color, marker and dashes of each model, by its printed name."""
        return styles(self.labels.values())

    @cached_property
    def failed(self) -> pd.DataFrame:
        """The seeds that failed: arm, variant, seed."""
        lost = [
            (run.arm, run.variant, seed.seed)
            for run in self.runs
            for seed in run.seeds
            if seed.status == "failed"
        ]
        return pd.DataFrame(lost, columns=_RUN)

    def failures(self, arm: Level, variant: str) -> int:
        """The number of failed seeds of a variant, in one or several arms."""
        return len(_having(self.failed, {"arm": arm, "variant": variant}))

    @cached_property
    def present(self) -> list[RunName]:
        """The trained runs that were measured or failed, in order."""
        known = pd.concat([self.measurements[_RUN[:2]], self.failed[_RUN[:2]]]).drop_duplicates()
        arms = in_print_order(self.arms, known["arm"])
        labels = in_print_order(self.labels, known["variant"])
        runs = [
            (arm, variant)
            for arm, variant in known.itertuples(index=False)
            if isinstance(self.settings.arms.get(arm), TrainedArm)
        ]
        return sorted(runs, key=lambda run: (arms.index(run[0]), labels.index(run[1])))

    def trained(self, arms: Collection[str]) -> list[str]:
        """The arms among ``arms`` that trained any variant, in order."""
        return list(dict.fromkeys(arm for arm, _ in self.present if arm in arms))

    def arms_of(self, kind: type[Kind]) -> dict[str, Kind]:
        """The arms of the settings that are of one type, by name."""
        return {name: arm for name, arm in self.settings.arms.items() if isinstance(arm, kind)}

    def select(self, metric: str, **where: Level) -> pd.DataFrame:
        """The measurements of a metric in one arm whose columns have the given values.

        Raises ValueError for rows of several arms, which a mean would mix.
        """
        rows = self.pool(metric, **where)
        arms = rows["arm"].unique()
        if len(arms) > 1:
            raise ValueError(
                f"{self.study}: {metric} is measured in arms {', '.join(sorted(arms))}: "
                "select one by arm=…, or pool them"
            )
        return rows

    @cached_property
    def _metrics(self) -> dict[str, pd.DataFrame]:
        return {str(metric): rows for metric, rows in self.measurements.groupby("metric")}

    def _measured(self, metric: str) -> pd.DataFrame:
        """The measurements of a metric; raises UserError for one that the study does not have."""
        if metric in self._metrics:
            return self._metrics[metric]
        if metric not in self.names.metrics:
            hint = accepted(metric, self.names.metrics)
            raise UserError(f"{self.study}: metric {metric!r} is drawn, but is unknown;{hint}")
        return self.measurements[:0]

    def pool(self, metric: str, **where: Level) -> pd.DataFrame:
        """The measurements of a metric in all arms whose columns have the given values."""
        return _having(self._measured(metric), where)

    def values(self, metric: str, run: RunName, **where: Level) -> "pd.Series[float]":
        """A metric of a run: a value per finished seed, in the order of seeds."""
        rows = self.select(metric, arm=run[0], variant=run[1], **where)
        return rows.sort_values("seed")["value"]

    def anchor(self, metric: str, **where: Level) -> float | None:
        """The median over seeds of what is the same in all runs of a seed; None without a value."""
        rows = self.pool(metric, **where).drop_duplicates("seed")
        return float(rows["value"].median()) if len(rows) else None

    def tidy(self, metric: str, **where: Level) -> pd.DataFrame:
        """The measurements of a metric for seaborn; a failed seed is a row without a value.

        Columns ``data``, ``model`` and ``run`` hold the printed names of arm, variant and both, as
        ordered categories. Infinite values become NaN; whole numbers among levels are integers.
        """
        return self._in_print(self._measured(metric), where)

    def paired(self, metric: str, reference: RunName, **where: Level) -> pd.DataFrame:
        """:meth:`tidy` of all other runs, less the value of the ``reference`` at the same seed.

        ``where`` leaves one value per run and seed. A seed that failed in either run has none.
        """
        rows = self.tidy(metric, **where)
        own = (rows["arm"] == reference[0]) & (rows["variant"] == reference[1])
        known = rows[own].set_index("seed")["value"]
        others = rows[~own & rows["seed"].isin(known.index)]
        return others.assign(
            value=others["value"] - others["seed"].map(known),
            run=others["run"].cat.remove_unused_categories(),
        )

    def learning(self, metric: str, **where: Level) -> pd.DataFrame:
        """The curves of one metric over ``step``, as :meth:`tidy` has measurements."""
        levels = {"metric": metric, **where}
        if self.curves is None:  # nothing was trained
            return self._in_print(self.measurements[:0], levels)[:0].assign(step=())
        return self._in_print(self.curves, levels)

    def _in_print(self, table: pd.DataFrame, where: Mapping[str, Level]) -> pd.DataFrame:
        """The rows of a table with these levels, and a row for every failed seed."""
        rows = _having(table, where)
        factors = [name for name in rows.columns if name not in (*_RUN, "value")]
        if len(rows):
            unused = [name for name in factors if rows[name].isna().all()]  # of other metrics
            rows = rows.drop(columns=unused)
            factors = [name for name in factors if name not in unused]
            numbers = rows[factors].select_dtypes("float")
            rows = rows.astype({name: int for name, of in numbers.items() if (of % 1 == 0).all()})
        chosen = {name: level for name, level in where.items() if name in _RUN}
        levels = rows[factors].drop_duplicates()
        if rows.empty:  # no seed finished: the levels are known from `where` only
            single = {name: level for name, level in where.items() if isinstance(level, str | int)}
            levels = pd.DataFrame([single]).drop(columns=list(chosen), errors="ignore")
        failed = _having(self.failed, chosen).merge(levels, how="cross")
        rows = pd.concat([rows, failed] if len(failed) else [rows], ignore_index=True)
        rows = rows.assign(
            value=rows["value"].replace([np.inf, -np.inf], np.nan),
            data=in_order(rows["arm"], self.arms),
            model=in_order(rows["variant"], self.labels),
        )
        runs = rows["model"].astype(str) + ", " + rows["data"].astype(str)
        categories = runs[rows.sort_values(["data", "model"], kind="stable").index].unique()
        return rows.assign(run=pd.Categorical(runs, categories))


@dataclass(frozen=True)
class Table:
    """A table for the PDF and for LaTeX.

    The frame's columns are the heads and its cells are printed as they are: format numbers first.
    Columns named in ``numeric`` are aligned to the right. ``numbers`` are cells that can be cited,
    by their keys. The caption and the notes of a study's own table are those of its ``names.yaml``.
    """

    frame: pd.DataFrame
    numeric: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    caption: str = ""
    notes: str = ""


def median(values: "pd.Series[float]", places: Places = 3) -> str:
    """The median with ``places`` decimals, or as a function prints it; “n/a” without values."""
    if values.empty:
        return "n/a"
    middle = float(values.median())
    return places(middle) if callable(places) else fixed(middle, places)


def table(
    rows: Sequence[Mapping[str, str]] | pd.DataFrame,
    words: int = 1,
    numbers: Mapping[str, float] | None = None,
) -> Table:
    """A table of rows by head; all columns but the first ``words`` are numeric."""
    frame = pd.DataFrame(rows)
    return Table(frame, tuple(map(str, frame.columns[words:])), numbers or {})


def _having(rows: pd.DataFrame, where: Mapping[str, Level]) -> pd.DataFrame:
    kept = np.full(len(rows), fill_value=True)
    for column, level in where.items():
        if not kept.any():  # a metric that no run measured has no columns of factors
            break
        levels = [level] if isinstance(level, str) or not isinstance(level, Collection) else level
        kept &= rows[column].isin(list(levels)).to_numpy()
    return rows[kept]


def in_names(levels: "pd.Series[Any]", names: Mapping[Any, str]) -> "pd.Categorical[Any]":
    """The printed names of levels, in the order of ``names``."""
    printed = pd.Categorical(levels.map(names), list(dict.fromkeys(names.values())))
    return printed.remove_unused_categories()


def in_print_order(known: Iterable[str], present: Iterable[str]) -> list[str]:
    """Names with a printed name first, in their order; then the others, numbers by their value."""
    others = sorted(present, key=lambda name: re.sub(r"\d+", lambda n: n[0].zfill(9), name))
    return list(dict.fromkeys([*known, *others]))


def in_order(names: "pd.Series[str]", printed: Mapping[str, str]) -> "pd.Categorical[Any]":
    """Printed names, or names as they are without one, in the order of :func:`in_print_order`."""
    return in_names(names, {n: printed.get(n, n) for n in in_print_order(printed, set(names))})
