"""The search of learning rates and initial scales of exp12, on a pilot seed.

``python tools/search_exp12.py`` trains the models and prints the rows. They are kept in
``trials.csv``, because a study trains with the chosen settings only.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd


class Case(NamedTuple):
    """A searched model: the tier that its claims read, and the steps of the search."""

    tier: str
    steps: int


SEED = 1000
CASES = {
    "size-k1/A": Case("T2", 1000),
    "size-k10/A": Case("T2", 1000),
    "size-k10/B": Case("T2", 1000),
    "split-k3/A": Case("T2", 800),
    "split-k3/A-plus-causal": Case("T2", 800),
    "bridging-p70/A": Case("T2", 800),
    "bridging-p70/B": Case("T2", 800),
    "unseen/A": Case("T3", 1000),
    "unseen/A-tail": Case("T3", 1000),
    "unseen/B": Case("T3", 1000),
    "unseen/B-mlm": Case("T3", 1000),
}
"""The searched runs. Runs of the same model in another size of the world, or with another bridged
share, take the setting that is found here."""
SCALES = {
    "0.02": {"embedding_scale": 0.02, "output_scale": 5.0},
    "1": {"embedding_scale": 1.0, "output_scale": 1.0},
}
"""Deviation of the embeddings → initial scale."""
POINTS = (("0.02", "0.001"), ("0.02", "0.002"), ("0.02", "0.004"), ("1", "0.002"))
"""The grid: deviation of the embeddings and peak rate."""
MORE = (("0.02", "0.008"), ("0.02", "0.016"))
"""Added one after the other, for models that learn best at the largest rate that was tried."""


def measured() -> pd.DataFrame:
    """The printed rows: hits@1 on tier 1, hits@1 and mean log rank on the tier of the case."""
    return pd.read_csv(
        Path(__file__).with_name("trials.csv"), dtype={"deviation": str, "rate": str}
    )


def chosen() -> dict[str, tuple[str, str]]:
    """Run → deviation and rate with the lowest mean log rank; within 1 %, the lowest rate."""
    rows = measured().sort_values(["run", "rate"])
    lowest = rows.groupby("run")["log_rank"].transform("min")
    best = rows[rows["log_rank"] <= 1.01 * lowest].drop_duplicates("run")
    points = zip(best["deviation"], best["rate"], strict=True)
    return dict(zip(best["run"], points, strict=True))


def search_table() -> pd.DataFrame:
    """Columns arm, model, tier, steps, the mean log rank at each point, and the best point."""
    ranks = measured().pivot_table(index="run", columns=["deviation", "rate"], values="log_rank")
    best = chosen()
    rows = [
        {
            "arm": run.partition("/")[0],
            "model": run.partition("/")[2],
            "tier": case.tier,
            "steps": case.steps,
            **{
                "σ {}, {}".format(*point): "–" if np.isnan(value) else f"{value:.2f}"
                for point, value in zip(ranks.columns.to_list(), ranks.loc[run], strict=True)
            },
            "best": "σ {}, {}".format(*best[run]),
        }
        for run, case in CASES.items()
        if run in best
    ]
    return pd.DataFrame(rows)
