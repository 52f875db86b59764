"""Small jobs and results of exp8."""

from typing import Any

from journeylab.plotting import StudyResults
from journeylab.studies.exp8_value_embeddings import settings as own

from ..gathering import computed, gather, small_problem, untrained

SMALL = {"n": 3, "train": 300, "test": 60}
RUNS = {
    "axial": ("discrete", "sinusoidal", "hybrid50"),
    "full": ("discrete",),
    "table-unit": ("hybrid50",),
    "categorical": ("discrete", "sinusoidal"),
}


def make_job(
    variant: str = "thermometer",
    attention: str = "axial",
    steps: int = 2,
    cycles: int = 2,
    **data: object,
) -> own.Job:
    """A job of a variant with a small model on small instances; other keys are those of data."""
    return own.Job(
        variant=variant,
        attention=attention,
        data=own.Data(**(SMALL | data)),
        model=own.Model(d=16, cycles=cycles, supervision=2),
        training=own.Training(steps=steps, learning_rate=0.01, rows=16, evaluate_every=steps),
    )


def make_problem(*args: str, **keys: object) -> Any:
    return small_problem("exp8", make_job(*args, **keys), "costs")


def make_computation(computed: str, variant: str = "all", draws: int = 1, **of: Any) -> Any:
    """A computation with the sections of a small job, whose further keys are `of`."""
    sections = dict(make_job(**of)) | {"variant": variant}
    return own.Computation(computed=computed, draws=draws, **sections)


def make_results() -> StudyResults:
    """Untrained models of two seeds, invented curves, and what is computed once."""
    of = make_job()
    arms = {
        arm: own.Arm(attention="full" if arm == "full" else "axial", variants=list(variants))
        for arm, variants in RUNS.items()
    }
    settings = own.Settings(
        datasets={"costs": of.data}, arms=arms, model=of.model, training=of.training
    )
    tables, curves = untrained("exp8", settings, (1000, 1001), own.Evaluation())
    curves += [row | {"metric": "train_loss", "value": 0.5} for row in curves]
    for name in ("certificates", "geometry"):
        tables += computed("exp8", name, **dict(make_computation(name)))
    return gather("exp8", settings, tables, curves)
