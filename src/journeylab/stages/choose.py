"""A round of a search: what the trials so far choose for each run, and which trials follow."""

from collections.abc import Collection, Container, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import pandas as pd

from journeylab.config import Search, Trial, UserError, read_setting
from journeylab.records.evidence import CURVES
from journeylab.records.files import MEASUREMENTS, read_table, verify_files, write_json
from journeylab.records.runs import read_run
from journeylab.records.searches import (
    Choice,
    CurvePoint,
    SearchPoint,
    SearchRecord,
    TrialResult,
    read_search,
)
from journeylab.stages.running import Call

_FIXED = {"study", "arm", "variant", "seed", "metric", "value"}


def run(call: Call) -> None:
    """plan, earlier rounds, folder of trials → the record of this round."""
    plan, folder = call.plan, call.file("runs")
    search, number = Search.model_validate(plan.settings["search"]), plan.settings["round"]
    before = [read_search(path, plan.inputs[path.stem]) for path in call.files.get("rounds", ())]
    known = {name for record in before for name in record.asked}
    start = {*search.reachable(1)}
    planned: dict[str, dict[Trial, str]] = {}
    for name, (searched, index, budget) in plan.settings["trials"].items():
        planned.setdefault(searched, {})[Trial(tuple(index), budget)] = name
    trials: list[TrialResult] = []
    choices, asked = {}, []
    for searched, folders in planned.items():
        tried = {
            trial: _read(call, search, searched, trial, name)
            for trial, name in folders.items()
            if trial in start or name in known
        }
        choice, follow = choose(search, tried, folders)
        trials += tried.values()
        choices[searched] = _with_curve(search, choice, folder)
        asked += [folders[trial] for trial in follow if number < search.last]
    record = SearchRecord(
        study=plan.study,
        round=number,
        search=search,
        basis=plan.settings["basis"],
        trials=tuple(trials),
        choices=choices,
        asked=tuple(asked),
    )
    read = {each.folder: folder / each.folder / MEASUREMENTS for each in trials}
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
        {i: result.mean for i, result in usual.items()},
        {i: result.gate for i, result in usual.items()},
    )
    grown = [Trial(near) for near in untried if Trial(near) in possible]
    budgets = [Trial(index, budget) for budget in search.budgets]
    points = [tried[trial] for trial in (Trial(index), *budgets) if trial in tried]
    choice = Choice(
        **{name: getattr(usual[index], name) for name in SearchPoint.model_fields},
        untried=tuple(search.values(near) for near in untried),
        curve=tuple(
            CurvePoint(step=each.steps, value=each.mean)
            for each in sorted(points, key=lambda each: each.steps)
            if each.mean is not None
        ),
    )
    others = (each for each in budgets if each in possible and each not in tried)
    return choice, grown or list(others)


def _read(call: Call, search: Search, run: str, trial: Trial, name: str) -> TrialResult:
    """The results of a trial; UserError if `at` does not choose one number for each seed."""
    folder, key = call.file("runs") / name, dict(call.plan.runs)[name]
    record, table = read_run(folder), read_table(folder / MEASUREMENTS, key)
    finished = [each.seed for each in record.seeds if each.status == "finished"]
    results: dict[str, tuple[float | None, ...]] = {}
    for place, measured in search.measured.items():
        metric, at = measured.of(run.split("/")[0])
        try:
            known = _of_each_seed(table, metric, at, finished)
        except ValueError as error:
            raise UserError(
                f"config.yaml: studies.{call.plan.study}.search{place}.at: {at}: {run} has {error}"
            ) from None
        results[place] = tuple(known.get(seed) for seed in search.pilots)
    return TrialResult(
        folder=name,
        run=run,
        index=trial.point,
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
