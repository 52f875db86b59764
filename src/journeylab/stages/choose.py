"""A round of a search: what the trials so far choose for each run, and which trials follow."""

import math
from collections.abc import Collection, Container, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pandas as pd

from journeylab.config import Search, Trial, UserError, read_setting
from journeylab.records.evidence import CURVES
from journeylab.records.files import MEASUREMENTS, read_table, verify_files, write_json
from journeylab.records.runs import read_run
from journeylab.records.searches import (
    Choice,
    CurvePoint,
    SearchRecord,
    TrialResult,
    read_search,
    round_input,
)
from journeylab.stages.running import Call

_FIXED = {"study", "arm", "variant", "seed", "metric", "value"}


class Planned(NamedTuple):
    """A trial of a run."""

    run: str
    trial: Trial


def run(call: Call) -> None:
    """plan, earlier rounds, folder of trials → the record of this round."""
    plan, folder = call.plan, call.file("runs")
    search, number = Search.model_validate(plan.settings["search"]), plan.settings["round"]
    planned = {
        name: Planned(run, Trial(tuple(index), budget))
        for name, (run, index, budget) in plan.settings["trials"].items()
    }
    keys, taken = dict(plan.runs), _taken(call, search, planned)
    tried = {
        name: _read(plan.study, search, folder, name, planned[name], keys[name]) for name in taken
    }
    choices, asked = {}, []
    for searched in dict.fromkeys(planned[name].run for name in taken):
        of_run = {
            planned[name].trial: tried[name] for name in taken if planned[name].run == searched
        }
        folders = {each.trial: name for name, each in planned.items() if each.run == searched}
        choice, follow = choose(search, of_run, folders)
        choices[searched] = _with_curve(search, choice, folder)
        asked += [folders[trial] for trial in follow if number < search.last]
    record = SearchRecord(
        study=plan.study,
        round=number,
        search=search,
        basis=plan.settings["basis"],
        trials=tuple(tried.values()),
        choices=choices,
        asked=tuple(asked),
    )
    read = {name: folder / name / MEASUREMENTS for name in taken}
    write_json(call.output, record, origin=plan.origin(**read))
    print(f"{plan.study}: {record.summary}", flush=True)


def choose(
    search: Search, tried: Mapping[Trial, TrialResult], possible: Container[Trial]
) -> tuple[Choice, list[Trial]]:
    """The choice for a run among its trials, and those of the `possible` trials that it asks for.

    First the neighbours of the choice on the grid; when none of them can be tried, the choice with
    other numbers of steps.
    """
    usual = {trial.point: result for trial, result in tried.items() if trial.budget == 1.0}
    index, untried = search.choose(
        {i: _number(result.mean) for i, result in usual.items()},
        {i: _number(result.gate) for i, result in usual.items()},
    )
    grown = [Trial(near) for near in untried if Trial(near) in possible]
    budgets = [Trial(index, budget) for budget in search.budgets]
    points = [tried[trial] for trial in (Trial(index), *budgets) if trial in tried]
    choice = Choice(
        values=usual[index].values,
        mean=usual[index].mean,
        folder=usual[index].folder,
        gate=usual[index].gate,
        untried=tuple(search.values(near) for near in untried),
        curve=tuple(
            CurvePoint(step=each.steps, value=each.mean)
            for each in sorted(points, key=lambda each: each.steps)
            if each.mean is not None
        ),
    )
    others = (each for each in budgets if each in possible and each not in tried)
    return choice, grown or list(others)


def _number(mean: float | None) -> float:
    return math.nan if mean is None else mean


def _taken(call: Call, search: Search, planned: Mapping[str, Planned]) -> list[str]:
    """The folders of the trials that the first round makes, and of those that others asked for."""
    start = {Trial(index) for index in search.start()}
    taken = {name for name, each in planned.items() if each.trial in start}
    for path in call.files.get("rounds", ()):
        number = int(path.stem.rpartition("-")[2])
        taken.update(read_search(path, call.plan.inputs[round_input(number)]).asked)
    return [name for name in planned if name in taken]


def _read(
    study: str, search: Search, folder: Path, name: str, planned: Planned, key: str
) -> TrialResult:
    """The results of a trial; UserError if `at` does not choose one number for each seed."""
    record = read_run(folder / name)
    table = read_table(folder / name / MEASUREMENTS, key)
    finished = [each.seed for each in record.seeds if each.status == "finished"]
    results: dict[str, tuple[float | None, ...]] = {}
    for place, measured in search.measured.items():
        metric, at = measured.of(planned.run.split("/")[0])
        try:
            known = _of_each_seed(table, metric, at, finished)
        except ValueError as error:
            raise UserError(
                f"config.yaml: studies.{study}.search{place}.at: {at}: {planned.run} has {error}"
            ) from None
        results[place] = tuple(known.get(seed) for seed in search.pilots)
    return TrialResult(
        folder=name,
        run=planned.run,
        index=planned.trial.point,
        values={setting: read_setting(record.settings, setting) for setting in search.grid},
        steps=record.settings["training"]["steps"],
        key=key,
        results=results[""],
        mean=_mean(results[""]),
        gate=_mean(results[".gate"]) if search.gate else None,
    )


def _of_each_seed(
    table: pd.DataFrame, metric: str, at: Mapping[str, object], seeds: Collection[int]
) -> dict[int, float]:
    """The value of a metric at levels by seed; ValueError unless each of `seeds` has one."""
    rows = table[table["metric"] == metric]
    levels = ""
    for factor, level in at.items():
        column = rows[factor] if factor in rows else pd.Series(pd.NA, rows.index)
        chosen = rows[column.isna() if level is None else column == level]
        if chosen.empty and not rows.empty:
            levels = f"; {factor} is one of: {', '.join(map(str, column.unique()))}"
        rows = chosen
    values = rows.groupby("seed")["value"]
    if set(values.groups) != set(seeds) or (values.size() > 1).any():
        found = "no value" if rows.empty else "several values"
        free = [str(c) for c in rows if c not in _FIXED and rows[c].nunique() > 1]
        choose_one = f"; choose a level of {', '.join(free)}" if free else levels
        raise ValueError(f"{found} of {metric} for a seed{choose_one}")
    first = values.first()
    return {seed: float(first[seed]) for seed in seeds}


def _mean(results: Sequence[float | None]) -> float | None:
    return None if None in results else fmean(x for x in results if x is not None)


def _with_curve(search: Search, choice: Choice, folder: Path) -> Choice:
    """The choice with the mean of its curve over the pilot seeds, if the search names one."""
    if search.curve is None or choice.mean is None or len(choice.curve) > 1:
        return choice
    record = read_run(folder / choice.folder)
    verify_files(folder / choice.folder, record.files)
    table = read_table(folder / choice.folder / CURVES, record.plan_key)
    means = table[table["metric"] == search.curve].groupby("step")["value"].mean().reset_index()
    if means.empty:
        known = ", ".join(sorted(set(table["metric"]) - {"loss"})) or "none"
        raise UserError(
            f"config.yaml: studies.{record.study}.search.curve: {search.curve!r}: the curves hold "
            f"no such metric; they hold: {known}"
        )
    points = (CurvePoint(step=int(s), value=float(x)) for s, x in means.itertuples(index=False))
    return choice.model_copy(update={"curve": tuple(points)})
