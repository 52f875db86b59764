"""Small jobs and results of exp1."""

from typing import Any

import torch

from journeylab.plotting import StudyResults
from journeylab.studies.exp1_group_languages import settings as own

from ..gathering import computed, gather, small_problem, untrained

FEW = own.Data(train=210, validation=42)
RUNS = {
    "A": ("toral-product",),
    "B": ("toral-product", "linear-aggregation"),
    "S3": ("orthogonal-product",),
}
SEEDS = 3


def make_problem(variant: str, task: str = "S3", **training: float) -> Any:
    budget = {"steps": 30, "learning_rate": 0.01, "batch": 16}
    job = own.Job(
        variant=variant,
        task=task,
        data=FEW,
        model=own.Model(),
        training=own.Training(**budget | training),
    )
    return small_problem("exp1", job, "strings")


def make_results() -> StudyResults:
    """Untrained models of a few variants; the others are disabled."""
    torch.set_num_threads(1)
    arms = {
        arm: own.Arm(
            task=arm,
            variants={name: {} for name in variants} | {"complex-product": {"enabled": False}},
        )
        for arm, variants in RUNS.items()
    }
    settings = own.Settings(
        datasets={"strings": FEW},
        arms=arms,
        training=own.Training(steps=1, learning_rate=0.1),
    )
    tables, _ = untrained("exp1", settings, range(SEEDS), own.Evaluation(strings=10), {})
    tables += computed("exp1", "certificates", strings=10, length=20, enumerate=4, draws=1)
    return gather("exp1", settings, tables)
