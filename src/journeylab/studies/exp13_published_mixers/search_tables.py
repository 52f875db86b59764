"""The tables of the search in the exp13 report."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from journeylab.plotting import Table
from journeylab.studies.exp13_published_mixers import search
from journeylab.studies.exp13_published_mixers.metrics import ARMS, LABELS
from journeylab.wording.typography import fixed


def tabulate_rates() -> Table:
    """Losses by learning rate, and the chosen rate, of every searched run."""
    rows: dict[tuple[str, str, int, int], dict[str, str]] = {}
    for trial in search.TRIALS:
        row = rows.setdefault(trial[:4], _name_trial(trial))
        if trial.scale == search.SCALE:
            row[f"{trial.rate:g}"] = fixed(trial.loss, 3)
        if search.chooses(trial):
            row["Chosen"] = f"{search.chosen(trial.arm, trial.variant)[0]:g}"
    return _tabulate_trials(
        "search-rates",
        rows.values(),
        [*(f"{rate:g}" for rate in search.RATES), "Chosen"],
        "Search of learning rates: loss on validation rows after the last step, mean of the pilot "
        f"seeds {' and '.join(map(str, search.SEEDS))}.",
        f"Other runs were not searched: rate {search.RATE}, scale ×{search.SCALE:g}. –: not "
        f"tried. A difference up to {search.TIE} keeps the usual rate. Trials of another depth or "
        "with other steps than the run choose nothing.",
    )


def tabulate_scales() -> Table:
    """Losses by initial scale, and the chosen scale, where scales were tried."""
    rows: dict[tuple[str, str, int, int, float], dict[str, str]] = {}
    scaled = {(*each[:4], each.rate) for each in search.TRIALS if each.scale != search.SCALE}
    for trial in search.TRIALS:
        if (key := (*trial[:4], trial.rate)) in scaled:
            row = rows.setdefault(key, _name_trial(trial) | {"Rate": f"{trial.rate:g}"})
            row[f"×{trial.scale:g}"] = fixed(trial.loss, 3)
            rate, scale = search.chosen(trial.arm, trial.variant)
            if search.chooses(trial) and trial.rate == rate:
                row["Chosen"] = f"×{scale:g}"
    return _tabulate_trials(
        "search-scales",
        rows.values(),
        ["Rate", *(f"×{scale:g}" for scale in search.SCALES), "Chosen"],
        "Search of initial scales at the rates in the table: the same losses.",
        "Searched runs without a row have the usual scale: their mechanism has no such weights, or "
        "no other scale could be better.",
    )


def _name_trial(trial: search.SearchTrial) -> dict[str, str]:
    return {
        "Task": ARMS.get(trial.arm, trial.arm),
        "Mechanism": LABELS.get(trial.variant, trial.variant),
        "Layers": str(trial.layers),
        "Steps": str(trial.steps),
    }


def _tabulate_trials(
    name: str, rows: Iterable[dict[str, str]], heads: list[str], caption: str, notes: str
) -> Table:
    heads = ["Layers", "Steps", *heads]
    frame = pd.DataFrame(rows, columns=["Task", "Mechanism", *heads]).astype(object).fillna("–")
    return Table(name=name, caption=caption, frame=frame, notes=notes, numeric=tuple(heads))
