"""Small jobs and results of exp11."""

from typing import Any, get_args

from journeylab.plotting import StudyResults
from journeylab.studies.exp11_sabag_pooling import settings as own

from ..gathering import computed, gather, small_problem, untrained

FEW = {"train": 400, "test": 60}
RUNS = {
    "string-copy": ("sabag", "sabag-positions"),
    "string-sorted": ("sabag", "pma"),
    "sentence": ("sabag",),
}


def make_problem(variant: str, task: str = "copy", steps: int = 2, **training: float) -> Any:
    """A problem with few strings."""
    chosen = {"steps": steps, "learning_rate": 0.003, "evaluate_every": steps} | training
    source = "document" if task == "sentence" else "random"
    data = own.Data(source=source, **FEW)
    job = own.Job(
        variant=variant, task=task, data=data, model=own.Model(), training=own.Training(**chosen)
    )
    return small_problem("exp11", job, source)


def make_results() -> StudyResults:
    """Untrained models and starts of two seeds, invented curves, and certificates."""
    arms = {
        arm: own.Arm(
            task=arm.removeprefix("string-"),
            dataset="sentence" if arm == "sentence" else "strings",
            variants=list(variants),
        )
        for arm, variants in RUNS.items()
    }
    settings = own.Settings(
        arms=arms,
        datasets={
            "strings": own.Data(**FEW),
            "sentence": own.Data(source="document", **FEW),
        },
        training=own.Training(steps=2, learning_rate=0.1),
    )
    seeds, learned = (1000, 1001), {"accuracy": 0.3}
    tables, curves = untrained("exp11", settings, seeds, own.Evaluation(), learned)
    for seed in seeds:
        for kind in ("ratio", "sign", "rates"):
            tables += computed("exp11", kind, seed=seed, steps=10, starts=2)
    tables += computed("exp11", "exact", get_args(own.Check), draws=1, steps=2)
    tables += computed("exp11", "search", steps=2)
    return gather("exp11", settings, tables, curves)
