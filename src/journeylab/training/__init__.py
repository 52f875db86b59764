"""Training one seed in one thread: streams, schedule, loop, checkpoints, progress.

The engine knows no study. A study hands it a `Problem` and gets `Trained` back.
"""

from journeylab.training.checkpoint import discard_checkpoints
from journeylab.training.loop import Problem, Trained, train
from journeylab.training.process import prepare_process
from journeylab.training.progress import Progress, report_progress
from journeylab.training.schedule import learning_rate
from journeylab.training.streams import Streams

__all__ = [
    "Problem",
    "Progress",
    "Streams",
    "Trained",
    "discard_checkpoints",
    "learning_rate",
    "prepare_process",
    "report_progress",
    "train",
]
