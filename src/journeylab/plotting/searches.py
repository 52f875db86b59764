"""The table of a search of hyperparameters: what was tried on pilot seeds, and what was chosen."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from journeylab.plotting.results import StudyResults, Table


def read_trials(module: str | Path) -> pd.DataFrame:
    """The trials of a search, ``trials.csv`` beside a module of the study, in their order.

    Columns: arm, variant, steps, peak rate, initial scale, the value that decides (infinite if a
    seed diverged), and chosen, an asterisk at the settings of the study. ``case`` and ``note`` may
    say what else differs, by run or by trial; further columns decide nothing.
    """
    path = Path(module).with_name("trials.csv")
    trials = pd.read_csv(path, dtype=str, keep_default_na=False)
    return trials.reindex(columns=[*trials.columns, *({"case", "note"} - {*trials})], fill_value="")


def tabulate_trials(results: StudyResults, module: str, value: str) -> Table:
    """The trials beside a module of the study, as its table ``search``.

    A row is a run: all points that were tried, rate and scale, each with its ``value``. The steps
    of a trial are said where they are not those of the row.
    """
    rows: list[dict[str, str]] = []
    trials = read_trials(module)
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
