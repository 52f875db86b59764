"""Small jobs and invented results of exp12."""

from typing import Any

import numpy as np
import pandas as pd

from journeylab.knowledge.settings import Model, Training
from journeylab.plotting import StudyResults
from journeylab.studies.exp12_native_kg_transfer.settings import SPECS, Data, Job

from ...made import configured
from ..gathering import draw_data, gather, of_seed, small_problem

SETTINGS = configured().studies["exp12"]
RUNS = list(SETTINGS.trained())
SEEDS = 3
ENTITIES = {"k1": 45, "split": 45}
"""Entities by the last part of an arm's name; 135 in the others."""
QUANTITIES = ("person", "town", "facts", "transfer facts", "generalisation facts")


def draw_world(seed: int = 1000, **data: Any) -> pd.DataFrame:
    return draw_data("exp12", Data(**data), data.get("world", "family"), seed)


def make_problem(variant: str, tokens: int = 1, dropout: float = 0.05) -> Any:
    """The problem of a variant in the smallest world."""
    job = Job(
        variant=variant,
        tokens=tokens,
        data=Data(k=1),
        model=Model(d=16, layers=2),
        training=Training(steps=40, learning_rate=3e-3, warmup=5, dropout=dropout),
    )
    return small_problem("exp12", job, "family")


def make_results() -> StudyResults:
    """Invented hits@1, floors and sizes of every run, with the levels that are measured."""
    rng = np.random.default_rng(0)
    rows = []
    for arm, variant in RUNS:
        for seed in range(SEEDS):
            run = of_seed("exp12", arm, variant, seed)
            entities = ENTITIES.get(arm.rpartition("-")[2], 135)
            sizes = dict.fromkeys(QUANTITIES, 96.0) | {"entities": entities}
            for name, value in sizes.items():
                rows.append(run | {"metric": "world_size", "quantity": name, "value": value})
            for tier, hits in (("T1", 0.97), ("T2", 0.6), ("T3", 0.2)):
                rows.append(run | {"metric": "floor_marginal", "tier": tier, "value": 0.1})
                native = SPECS[variant].kg == "native"
                for form, template in (
                    *(("text", each) for each in (0, 1, 2)),
                    *([("kg", None)] * native),
                ):
                    levels = {"tier": tier, "format": form, "template": template}
                    levels |= {"metric": "hits@1", "candidates": "all"}
                    rows.append(run | levels | {"value": hits + rng.uniform(-0.05, 0.03)})
    table = pd.DataFrame(rows).astype({"template": "Int64"})
    return gather("exp12", SETTINGS, [table])
