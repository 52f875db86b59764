"""Small results of exp7."""

from typing import Any

import torch

from journeylab.knowledge.settings import Evaluation, Model, Training
from journeylab.plotting import StudyResults
from journeylab.streams import data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.models import problem as problem_of
from journeylab.studies.exp7_native_kg.settings import Arm, Data, Job, Settings

from ..gathering import gather, untrained

TOKENS = {"characters": "characters", "words": "words", "marks": "words"}
RUNS = [
    ("characters", "A"),
    ("characters", "B"),
    ("words", "A"),
    ("words", "B"),
    ("words", "C"),
    ("marks", "B-all"),
]


def make_results() -> StudyResults:
    """Untrained models of two seeds, and invented curves."""
    torch.set_num_threads(1)
    training = Training(steps=1, learning_rate=0.1)

    def make(arm: str, variant: str, seed: int) -> Any:
        sizes = {"data": Data(), "model": Model(d=16), "training": training}
        job = Job(variant=variant, tokens=TOKENS[arm], **sizes)
        return problem_of(job, generate(job.data, data_streams("exp7", "plan", seed)), None)

    tables, curves = untrained("exp7", RUNS, range(2), make, Evaluation(), steps=(100, 200))
    arms = {
        arm: Arm(
            tokens=tokens, variants={variant: {} for run_arm, variant in RUNS if run_arm == arm}
        )
        for arm, tokens in TOKENS.items()
    }
    settings = Settings(datasets={"plan": Data()}, arms=arms, training=training)
    return gather("exp7", settings, tables, curves)
