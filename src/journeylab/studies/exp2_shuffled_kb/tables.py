"""Tables of exp2, and the numbers of its prose that are no reductions of measurements."""

from typing import cast

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.studies.exp2_shuffled_kb import anchors
from journeylab.studies.exp2_shuffled_kb.settings import Arm, Lookups, Relations, Settings


def tabulate(results: StudyResults) -> dict[str, Table]:
    """What is known without training of every repository."""
    data, grouped = settings_of(results).lookups, settings_of(results).relations
    rows = [_anchor_row(data, size) for size in data.sizes]
    rows.append(_anchor_row(grouped, grouped.subjects * grouped.relations))
    return {"anchors": plot.table(pd.DataFrame(rows).fillna("–"))}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Accuracies that are known without training, trials of the search, and budgets."""
    data, size = settings_of(results).lookups, settings_of(results).lookups.sizes[0]
    ceiling = anchors.untagged_ceiling(settings_of(results).relations)
    estimate = anchors.vote(data, size)
    return {
        "chance": float(anchors.chance(data)),
        "key_blind": float(anchors.key_blind(data, size)),
        "best_slot": float(anchors.best_slot(data, size)),
        "vote": estimate.value,
        "vote.error": estimate.error,
        "ceiling.untagged": float(ceiling),
        "ceiling.untagged.exact": str(ceiling),
        "budgets": _budgets(results),
        **_pilots(),
    }


def _pilots() -> dict[str, float]:
    """What the search found for RoPE with integer frequencies at M = 20, shuffled."""
    trials = plot.read_trials(__file__).query("arm == 'M20-shuffled' and variant == 'rope-integer'")
    of = trials.set_index(["steps", "rate", "scale"])["value"].astype(float)
    points = {"usual": ("3000", "0.003"), "rate": ("3000", "0.01"), "steps": ("6000", "0.01")}
    return {f"pilot.{name}": float(of[(*point, "1")]) for name, point in points.items()}


def _anchor_row(data: Lookups | Relations, size: int) -> dict[str, str]:
    known = {"Chance": anchors.chance(data), "Most frequent value": anchors.key_blind(data, size)}
    if isinstance(data, Lookups):
        name, more = f"{size} entries", "{:.4f} ± {:.4f}".format(*anchors.vote(data, size))
        known["Best slot"], votes = anchors.best_slot(data, size), {"Vote": more}
    else:
        name, votes = f"{data.subjects} subjects × {data.relations} relations", {}
        known["No tag"] = anchors.untagged_ceiling(data)
    return {"Repository": name} | {k: f"{float(x):.4f}" for k, x in known.items()} | votes


def settings_of(results: StudyResults) -> Settings:
    """The settings of the study."""
    return cast(Settings, results.settings)


def _budgets(results: StudyResults) -> str:
    usual, arms, steps = settings_of(results).training.steps, results.arms_of(Arm), {}
    for name in results.trained(arms):
        size = arms[name].size
        case = "identical content" if size is None else f"M = {size}"
        steps[case] = int(arms[name].training.get("steps", usual))
    return ", ".join(f"{count} steps for {case}" for case, count in steps.items())
