"""Training of seeds in one thread or on one GPU: schedule, loop, ensembles, checkpoints.

The engine depends on no study. A study gives it one `Problem` per seed and gets one `Trained` back.
"""

from journeylab.training.checkpoint import discard_checkpoints
from journeylab.training.engine import Execution, choose_execution, train_seeds
from journeylab.training.ensemble import train_ensemble
from journeylab.training.loop import Problem, Trained, train
from journeylab.training.process import device_name, prepare_process
from journeylab.training.progress import Progress, count_steps, report_progress
from journeylab.training.schedule import learning_rate

__all__ = [
    "Execution",
    "Problem",
    "Progress",
    "Trained",
    "choose_execution",
    "count_steps",
    "device_name",
    "discard_checkpoints",
    "learning_rate",
    "prepare_process",
    "report_progress",
    "train",
    "train_ensemble",
    "train_seeds",
]
