"""Small jobs and results of exp13."""

from typing import Any

from journeylab.plotting import StudyResults
from journeylab.studies.exp13_published_mixers import settings as own

from ..gathering import computed, gather, small_problem, untrained

RUNS = {
    "S3": ("rope", "gru"),
    "A5": ("rope", "linear-product"),
    "parity": ("rope", "mamba3-real"),
    "associative": ("rope",),
}
MODEL = own.Model(width=16, heads=2, parameters=6000)


def make_problem(task: str, mechanism: str, **training: float) -> Any:
    chosen = {"steps": 4, "learning_rate": 0.01, "rows": 4, "evaluate_every": 4} | training
    job = own.Job(
        variant=mechanism,
        data=own.Data(task=task, rows=16),
        model=MODEL.model_copy(update={"layers": 1}),
        training=own.Training(**chosen),
    )
    return small_problem("exp13", job, task)


def make_results() -> StudyResults:
    """Untrained models of two seeds, invented curves, and the certificates."""
    arms = {
        arm: own.Arm(dataset=arm, variants=list(variants), model={"layers": 1})
        for arm, variants in RUNS.items()
    }
    datasets = {arm: own.Data(task=arm, rows=16) for arm in RUNS}
    training = own.Training(steps=4, learning_rate=0.01)
    settings = own.Settings(arms=arms, datasets=datasets, model=MODEL, training=training)
    seeds, few, learned = (1000, 1001), own.Evaluation(rows=8), {"accuracy": 0.3}
    tables, curves = untrained("exp13", settings, seeds, few, learned)
    checks = ("ceilings", "sizes", "orders", "reflections")
    tables += computed("exp13", "certificates", checks, enumerate=4, draws=1, model=MODEL)
    return gather("exp13", settings, tables, curves)
