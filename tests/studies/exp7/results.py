"""Small results of exp7."""

import pandas as pd
import torch

from journeylab.knowledge.settings import Evaluation, Model, Training
from journeylab.plotting import StudyResults
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.measure import measure
from journeylab.studies.exp7_native_kg.models import problem as problem_of
from journeylab.studies.exp7_native_kg.settings import Arm, Data, Job, Settings

from ..gathering import flat_curve, gather, of_seed

RUNS = [("native", "A"), ("7a", "B"), ("7b-held", "B"), ("7b-held", "C")]
LINEARISATIONS = {"native": "none", "7a": "all", "7b-held": "held"}


def make_results() -> StudyResults:
    """Untrained models of two seeds, and invented curves."""
    torch.set_num_threads(1)
    training = Training(steps=1, learning_rate=0.1)
    tables: list[pd.DataFrame] = []
    curves = []
    for arm, variant in RUNS:
        for seed in range(2):
            run = of_seed("exp7", arm, variant, seed)
            job = Job(
                variant=variant,
                linearisation=LINEARISATIONS[arm],
                data=Data(),
                model=Model(d=16),
                training=training,
            )
            world = generate(job.data, data_streams("exp7", "world", seed))
            problem = problem_of(job, world, None)
            model = problem.build(Streams("exp7", seed).generator("init"))
            tables.append(measure(job, Evaluation(), problem, model).assign(**run))
            curves += flat_curve(run, problem.evaluate(model), (100, 200))
    arms = {
        arm: Arm(
            linearisation=LINEARISATIONS[arm],
            variants={variant: {} for run_arm, variant in RUNS if run_arm == arm},
        )
        for arm in LINEARISATIONS
    }
    settings = Settings(datasets={"world": Data()}, arms=arms, training=training)
    return gather("exp7", settings, tables, curves)
