"""Small results of exp7."""

import torch

from journeylab.knowledge.settings import Evaluation, Model, Training
from journeylab.plotting import StudyResults
from journeylab.studies.exp7_native_kg.settings import Arm, Data, Settings

from ..gathering import gather, untrained

RUNS = {"characters": ("A", "B"), "words": ("A", "B", "C"), "marks": ("B-all",)}


def make_results() -> StudyResults:
    """Untrained models of two seeds, and invented curves."""
    torch.set_num_threads(1)
    arms = {
        arm: Arm(
            tokens="characters" if arm == "characters" else "words",
            variants={variant: {} for variant in variants},
        )
        for arm, variants in RUNS.items()
    }
    settings = Settings(
        datasets={"plan": Data()},
        arms=arms,
        model=Model(d=16),
        training=Training(steps=1, learning_rate=0.1),
    )
    tables, curves = untrained("exp7", settings, range(2), Evaluation(), steps=(100, 200))
    return gather("exp7", settings, tables, curves)
