"""Small jobs and results of exp6."""

from typing import Any

from journeylab.config import TrainingSettings
from journeylab.plotting import StudyResults
from journeylab.studies.exp6_coupling_rank import settings as own

from ..gathering import computed, gather, small_problem, untrained

SMALL = {"positions": 12, "roles": 3, "entities": 8, "queries": 300}
RUNS = {
    "random-toral": ("journey", "separable", "additive"),
    "random-labels": ("journey-learned", "separable"),
    "random-toral-scores": ("journey", "separable"),
}


def make_job(variant: str, fit: str = "labels", steps: int = 3, **data: object) -> own.Job:
    """A job of a variant with a small teacher; other keys are those of its data."""
    chosen = SMALL | {"frequencies": "random", "operators": "toral"} | data
    training = {"steps": steps, "learning_rate": 0.03, "clip": 1e6, "evaluate_every": steps}
    return own.Job(
        variant=variant,
        fit=fit,
        data=own.Data(**chosen),
        model=own.Model(restarts=2),
        training=TrainingSettings(**training),
    )


def make_problem(*args: str, **keys: object) -> Any:
    return small_problem("exp6", make_job(*args, **keys), "test")


def make_results() -> StudyResults:
    """Untrained models of two seeds, invented curves, and one draw of every rank."""
    teacher = make_job("journey").data
    datasets = {"random-toral": teacher}
    datasets["random-labels"] = teacher.model_copy(update={"labels": "random"})
    arms = {
        arm: own.Arm(
            dataset=arm.removesuffix("-scores"),
            fit="scores" if arm.endswith("-scores") else "labels",
            variants=list(variants),
        )
        for arm, variants in RUNS.items()
    }
    settings = own.Settings(
        arms=arms,
        datasets=datasets,
        model=own.Model(restarts=2),
        training=TrainingSettings(steps=2, learning_rate=0.1),
    )
    tables, curves = untrained("exp6", settings, (1000, 1001), own.Evaluation())
    tables += computed("exp6", "rank", own.FREQUENCIES, draws=1, positions=9, roles=2)
    return gather("exp6", settings, tables, curves)
