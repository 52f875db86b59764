"""exp7's step computed only for tokens that affect the loss, against the step over whole rows."""

from pathlib import Path
from unittest.mock import patch

import torch
from gpu import PILOT, exp7_problems
from pairs import Row

from journeylab.knowledge.problem import Knowledge
from journeylab.records.cost import Step, compare
from journeylab.streams import Streams
from journeylab.training.loop import SingleSeed

MODELS = (("characters", "A"), ("characters", "B"), ("characters", "C"), ("larger", "B-mlm"))


def places_against_whole_rows(pairs: int, config: Path = Path("config.yaml")) -> list[Row]:
    rows: list[Row] = []
    for arm, variant in MODELS:
        [problem] = exp7_problems(arm, variant, 1, config)
        over_whole_rows = patch.object(type(problem), "compact", lambda self, batch: batch)
        result = compare(_step(problem), over_whole_rows(_step(problem)), pairs)
        rows.append({"name": f"exp7 {variant}: supervised tokens against whole rows", **result})
    return rows


def _step(problem: Knowledge) -> Step:
    training, streams = problem.job.training, Streams("exp7", PILOT)
    learner = SingleSeed(problem, training, streams, "", torch.device("cpu"))
    return lambda: learner.advance(1, training.learning_rate)
