"""Small jobs and results of exp11."""

from typing import get_args

from journeylab.plotting import StudyResults
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp11_sabag_pooling import settings as own
from journeylab.studies.exp11_sabag_pooling.data import generate
from journeylab.studies.exp11_sabag_pooling.models import PoolingProblem

from ..gathering import gather, of_computed, untrained

RUNS = {
    "string-copy": ("sabag", "sabag-positions"),
    "string-sorted": ("sabag", "pma"),
    "sentence": ("sabag",),
}


def make_problem(
    variant: str, task: str = "copy", seed: int = 1000, steps: int = 2, **training: float
) -> PoolingProblem:
    """A problem with few strings."""
    chosen = {"steps": steps, "learning_rate": 0.003, "evaluate_every": steps} | training
    source = "document" if task == "sentence" else "random"
    data = own.Data(source=source, train=400, test=60)
    job = own.Job(
        variant=variant, task=task, data=data, model=own.Model(), training=own.Training(**chosen)
    )
    table = generate(data, data_streams("exp11", source, seed))
    return PoolingProblem(job, table, Streams("exp11", seed))


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
        datasets={"strings": own.Data(), "sentence": own.Data(source="document")},
        training=own.Training(steps=2, learning_rate=0.1),
    )

    def make(arm: str, variant: str, seed: int) -> PoolingProblem:
        return make_problem(variant, arms[arm].task, seed)

    seeds, learned = (1000, 1001), {"accuracy": 0.3}
    tables, curves = untrained("exp11", RUNS, seeds, make, own.Evaluation(), learned)
    for seed in seeds:
        for kind in ("ratio", "sign", "rates"):
            job = own.Computation(computed=kind, variant="all", steps=10, starts=2)
            tables.append(of_computed("exp11", kind, job, seed))
    for check in get_args(own.Check):
        job = own.Computation(computed="exact", variant=check, draws=1, steps=2)
        tables.append(of_computed("exp11", "exact", job))
    job = own.Computation(computed="search", variant="all", steps=2)
    tables.append(of_computed("exp11", "search", job))
    return gather("exp11", settings, tables, curves)
