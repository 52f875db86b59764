"""Small jobs and results of exp1."""

from functools import cache

import pandas as pd
import torch

from journeylab.plotting import StudyResults
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp1_group_languages import settings as own
from journeylab.studies.exp1_group_languages.data import generate
from journeylab.studies.exp1_group_languages.models import Recognition

from ..gathering import gather, of_computed, untrained

FEW = own.Data(train=210, validation=42)
RUNS = [("A", "toral-product"), ("B", "toral-product"), ("B", "linear-aggregation")]
RUNS += [("S3", "orthogonal-product")]
SEEDS = 3


@cache
def draw_strings() -> pd.DataFrame:
    return generate(FEW, data_streams("exp1", "strings", 1000))


def make_job(variant: str, task: str = "S3", **training: float) -> own.Job:
    budget = {"steps": 30, "learning_rate": 0.01, "batch": 16}
    return own.Job(
        variant=variant,
        task=task,
        data=FEW,
        model=own.Model(),
        training=own.Training(**budget | training),
    )


def make_problem(
    variant: str, task: str = "S3", seed: int = 1000, **training: float
) -> Recognition:
    return Recognition(make_job(variant, task, **training), draw_strings(), Streams("exp1", seed))


def make_results() -> StudyResults:
    """Untrained models of a few variants; the others are disabled."""
    torch.set_num_threads(1)
    job = own.Computation(
        computed="certificates", variant="all", strings=10, length=20, enumerate=4, draws=1
    )
    tables, _ = untrained(
        *("exp1", RUNS, range(SEEDS)),
        lambda arm, variant, seed: make_problem(variant, arm, seed),
        *(own.Evaluation(strings=10), {}),
    )
    tables.append(of_computed("exp1", "certificates", job))
    arms = {
        arm: own.Arm(
            task=arm,
            variants={variant: {} for run_arm, variant in RUNS if run_arm == arm}
            | {"complex-product": {"enabled": False}},
        )
        for arm, _ in RUNS
    }
    settings = own.Settings(
        datasets={"strings": own.Data()},
        arms=arms,
        training=own.Training(steps=1, learning_rate=0.1),
    )
    return gather("exp1", settings, tables)
