"""Small jobs and results of exp4."""

import tempfile
from functools import cache
from pathlib import Path

import pandas as pd

from journeylab.config import ExternalFile
from journeylab.plotting import StudyResults
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp4_operator_recovery import settings as own
from journeylab.studies.exp4_operator_recovery.data import generate
from journeylab.studies.exp4_operator_recovery.models import RecoveryProblem

from ..gathering import gather, of_computed, untrained, write_syllables

DATA = own.Data(file=ExternalFile(sha256="0" * 64), passage=100, held_out=0.2)
SEEDS, DRAWS = 2, 3
SMALL = own.Model(d=4, length=16)
RUNS = {
    "single-0": ("near-identity", {}),
    "positions-free": ("near-identity", {"operators": "each"}),
    "controls": ("rope", {"operators": "fixed"}),
}


@cache
def draw_passages() -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        file = write_syllables(Path(folder) / "text")
        return generate(DATA, data_streams("exp4", "corpus", 1000), file)


def make_problem(
    variant: str = "near-identity", *, model: own.Model = SMALL, seed: int = 1000, **of: object
) -> RecoveryProblem:
    budget = own.Training(steps=20, learning_rate=0.01, rows=8)
    job = own.Job(variant=variant, data=DATA, model=model, training=budget, **of)
    return RecoveryProblem(job, draw_passages(), Streams("exp4", seed))


def make_results() -> StudyResults:
    """Untrained models; curves of two steps."""
    runs = {arm: [variant] for arm, (variant, _) in RUNS.items()}
    tables, curves = untrained(
        *("exp4", runs, range(1000, 1000 + SEEDS)),
        lambda arm, variant, seed: make_problem(variant, seed=seed, **RUNS[arm][1]),
        *(own.Evaluation(windows=20, null_draws=100), {"loss": 3.0}, (0, 9)),
    )
    computations = [("random-one", "random", start, "one") for start in own.STARTS]
    computations += [("random-each", "random", start, "each") for start in own.STARTS]
    computations += [("certificates", "certificates", check, "each") for check in own.CHECKS]
    for arm, kind, variant, operators in computations:
        job = own.Computation(
            computed=kind, variant=variant, operators=operators, draws=DRAWS, model=SMALL
        )
        tables.append(of_computed("exp4", arm, job))
    settings = own.Settings(
        datasets={"corpus": own.Data(file=ExternalFile(sha256="0" * 64))},
        arms={arm: own.Arm(variants=[variant], **of) for arm, (variant, of) in RUNS.items()},
        training=own.Training(steps=9, learning_rate=0.1),
    )
    return gather("exp4", settings, tables, curves)
