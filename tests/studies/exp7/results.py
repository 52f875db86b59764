"""Small results of exp7."""

import torch

from journeylab.knowledge.settings import Evaluation, Model, Training
from journeylab.plotting import StudyResults
from journeylab.studies.exp7_native_kg.settings import Arm, Data, Settings

from ..gathering import gather, problems, untrained

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
    arms = {
        arm: Arm(
            tokens=tokens, variants={variant: {} for run_arm, variant in RUNS if run_arm == arm}
        )
        for arm, tokens in TOKENS.items()
    }
    settings = Settings(
        datasets={"plan": Data()},
        arms=arms,
        model=Model(d=16),
        training=Training(steps=1, learning_rate=0.1),
    )
    make = problems("exp7", settings)
    tables, curves = untrained("exp7", RUNS, range(2), make, Evaluation(), steps=(100, 200))
    return gather("exp7", settings, tables, curves)
