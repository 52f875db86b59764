"""Small jobs and results of exp4."""

from typing import Any

from journeylab.config import ExternalFile
from journeylab.plotting import StudyResults
from journeylab.studies.exp4_operator_recovery import settings as own

from ..gathering import computed, gather, small_problem, untrained

DATA = own.Data(file=ExternalFile(sha256="0" * 64), passage=100, held_out=0.2)
SEEDS, DRAWS = 2, 3
SMALL = own.Model(d=4, length=16)
RUNS = {
    "single-0": ("near-identity", {}),
    "positions-free": ("near-identity", {"operators": "each"}),
    "controls": ("rope", {"operators": "fixed"}),
}


def make_problem(variant: str = "near-identity", *, model: own.Model = SMALL, **of: object) -> Any:
    budget = own.Training(steps=20, learning_rate=0.01, rows=8)
    job = own.Job(variant=variant, data=DATA, model=model, training=budget, **of)
    return small_problem("exp4", job, "corpus")


def make_results() -> StudyResults:
    """Untrained models; curves of two steps."""
    settings = own.Settings(
        datasets={"corpus": DATA},
        arms={arm: own.Arm(variants=[variant], **of) for arm, (variant, of) in RUNS.items()},
        model=SMALL,
        training=own.Training(steps=9, learning_rate=0.1),
    )
    seeds, few = range(1000, 1000 + SEEDS), own.Evaluation(windows=20, null_draws=100)
    tables, curves = untrained("exp4", settings, seeds, few, {"loss": 3.0}, (0, 9))
    sizes = {"draws": DRAWS, "model": SMALL}
    for operators in ("one", "each"):
        drawn = {"computed": "random", "operators": operators} | sizes
        tables += computed("exp4", f"random-{operators}", own.STARTS, **drawn)
    tables += computed("exp4", "certificates", own.CHECKS, operators="each", **sizes)
    return gather("exp4", settings, tables, curves)
