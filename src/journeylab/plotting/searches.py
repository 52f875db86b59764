"""The table of a search of hyperparameters: what was tried on pilot seeds, and what was chosen."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from journeylab.config import Measured, Search, same_values
from journeylab.plotting.results import StudyResults, Table
from journeylab.records.searches import CurvePoint, PrintedSearch, SearchPoint
from journeylab.wording.effects import Names
from journeylab.wording.typography import short
from journeylab.wording.verdicts import capital, listed


def read_trials(module: str | Path) -> pd.DataFrame:
    """The trials of a search, ``trials.csv`` beside a module of the study, in their order.

    Columns: arm, variant, steps, peak rate, initial scale, the value that decides (infinite if a
    seed diverged), and chosen, an asterisk at the settings of the study. ``case`` and ``note`` may
    say what else differs, by run or by trial; further columns decide nothing.
    """
    path = Path(module).with_name("trials.csv")
    trials = pd.read_csv(path, dtype=str, keep_default_na=False)
    return trials.reindex(columns=[*trials.columns, *({"case", "note"} - {*trials})], fill_value="")


def tabulate_trials(results: StudyResults, value: str) -> Table:
    """The trials of the study, as a table.

    A row is a run: all points that were tried, rate and scale, each with its ``value``. The steps
    of a trial are said where they are not those of the row.
    """
    trials, rows = results.trials, []
    assert trials is not None
    for run, tried in trials.groupby(["arm", "variant", "case"], sort=False):
        arm, variant, case = map(str, run)
        points = tried.to_dict("records")
        usual = points[0]["steps"]
        row = {"Arm": results.arms.get(arm, arm)} if trials["arm"].nunique() > 1 else {}
        row["Model"] = results.labels.get(variant, variant)
        if case:
            row["Case"] = case
        row["Steps"] = usual
        row[f"Rate × scale: {value}"] = "; ".join(_print_trial(point, usual) for point in points)
        rows.append(row)
    return Table(pd.DataFrame(rows), ("Steps",))


def _print_trial(trial: Mapping[Any, str], usual: str) -> str:
    """Rate and scale, what else differs from the row, and the value: all on one line."""
    steps = "" if trial["steps"] == usual else f"{trial['steps']} steps"
    at = [f"{trial['rate']} × {trial['scale']}", *filter(None, (trial["note"], steps))]
    value = trial["value"].replace("inf", "failed")
    return f"{', '.join(at)}: {value}{trial['chosen']}".replace(" ", "\u00a0")


def tabulate_search(results: StudyResults, searched: PrintedSearch) -> Table:
    """The trials of a search that the pipeline made, as the table ``search``.

    A row is a run: its choice, what config.yaml has where that differs, the trained step at which
    the searched quantity was best, and all points that were tried.
    """
    search, trials = searched.search, searched.trials
    settings = _settings(search)
    rows, names = [], Names(results.labels, results.arms)
    for run, chosen in searched.choices.items():
        used = searched.in_use.get(run)
        same = used is not None and same_values(chosen.values, used)
        steps = next(each.steps for each in trials if each.folder == chosen.folder)
        tried = [
            f"{_point(search, each.values)}: {_value(each.mean)}{_mark(search, each)}"
            for each in trials
            if each.run == run and each.steps == steps
        ]
        all_points = "; ".join(point.replace(" ", "\u00a0") for point in tried)
        gate = _value(chosen.gate) + _mark(search, chosen)
        rows.append(
            {
                "Run": names.run(run),
                "Chosen": _point(search, chosen.values),
                "Value": _value(chosen.mean),
                **({"Gate": gate} if search.gate else {}),
                "In use": "the same" if same else _point(search, used) if used else "not searched",
                "Best at step": _best_step(search, chosen.curve),
                f"All points, {' × '.join(settings)}: value": all_points,
            }
        )
    values = ("Value", "Gate") if search.gate else ("Value",)
    caption = f"Search of {listed(settings)}."
    return Table(pd.DataFrame(rows), values, caption=caption, notes=_notes(searched))


def describe_search(searched: PrintedSearch) -> str:
    """How settings were chosen, for the sentence on fairness."""
    search = searched.search
    sizes = " × ".join(str(len(values)) for values in search.grid.values())
    gated = ""
    if search.gate is not None:
        gated = f", among points with {_names(search.gate)} of at least {search.gate.at_least:g}"
    if searched.below_gate:
        gated += f"; no point of {listed(searched.below_gate)} reached it"
    return (
        f"{listed(_settings(search))} were searched by the pipeline, from one grid of {sizes} "
        f"points for {len(searched.choices)} runs, by {_names(search)} after training on "
        f"{_pilots(search)}{gated}; the table of the search says where the settings in use are "
        "others"
    )


def gain_of_longest(results: StudyResults) -> float | str:
    """What the largest number of steps adds to the searched quantity of a run, at most.

    “n/a” if no search of the pipeline tried other numbers of steps at its choices.
    """
    if results.search is None:
        return "n/a"
    sign = 1.0 if results.search.search.best == "highest" else -1.0
    gains = [
        sign * (choice.curve[-1].value - choice.mean)
        for choice in results.search.choices.values()
        if len(choice.curve) > 1 and choice.mean is not None
    ]
    return max(gains) if gains else "n/a"


def _notes(searched: PrintedSearch) -> str:
    search, below = searched.search, searched.below_gate
    notes = (
        f"Value: mean over {_pilots(search)}, the {search.best} counts; within {search.tie:g} of "
        "it, the point nearest to the middle of the grid. Every run tried the same grid, then the "
        "neighbours of its choice until all were tried. Best at step: where the value was best, of "
        "the steps of training; with several numbers of steps, of these."
    )
    if search.gate is not None:
        notes += (
            f" Gate: the mean of {_names(search.gate)} over the same seeds; points below "
            f"{search.gate.at_least:g}, marked †, do not count."
        )
    if below:
        notes += f" No point of {listed(below)} reached it: the nearest one is chosen."
    if edges := [run for run, chosen in searched.choices.items() if chosen.untried]:
        notes += f" At the edge of what was tried: {listed(edges)}."
    return notes + "".join(f" {capital(each)}." for each in searched.outdated)


def _settings(search: Search) -> list[str]:
    """The printed names of the searched settings."""
    return [setting.rpartition(".")[2].replace("_", " ") for setting in search.grid]


def _pilots(search: Search) -> str:
    return f"pilot seeds {search.pilots[0]} to {search.pilots[-1]}"


def _names(measured: Measured) -> str:
    return listed([name.replace("_", " ") for name in measured.metrics])


def _best_step(search: Search, curve: Sequence[CurvePoint]) -> str:
    if not curve:
        return "–"
    best = (max if search.best == "highest" else min)(point.value for point in curve)
    at = min(point.step for point in curve if abs(point.value - best) <= search.tie)
    return f"{at:,} of {max(point.step for point in curve):,}".replace(",", "\u202f")


def _point(search: Search, values: Mapping[str, float]) -> str:
    return " × ".join(f"{values[setting]:g}" for setting in search.grid)


def _mark(search: Search, point: SearchPoint) -> str:
    return "" if search.gate is None or search.gate.passed(point.gate) else "†"


def _value(mean: float | None) -> str:
    return "failed" if mean is None else short(mean)
