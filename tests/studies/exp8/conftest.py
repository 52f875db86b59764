from collections.abc import Callable

import pytest

from journeylab.streams import Streams, data_streams
from journeylab.studies.exp8_value_embeddings.data import generate
from journeylab.studies.exp8_value_embeddings.models import Assignment
from journeylab.studies.exp8_value_embeddings.settings import (
    Computation,
    Data,
    Job,
    Model,
    Training,
)

SMALL = {"n": 3, "train": 300, "test": 60}


@pytest.fixture(scope="session")
def make_job() -> Callable[..., Job]:
    """A job of a variant with a small model on small instances; other keys are those of data."""

    def make(
        variant: str = "thermometer",
        attention: str = "axial",
        steps: int = 2,
        cycles: int = 2,
        **data,
    ) -> Job:
        return Job(
            variant=variant,
            attention=attention,
            data=Data(**(SMALL | data)),
            model=Model(d=16, cycles=cycles, supervision=2),
            training=Training(steps=steps, learning_rate=0.01, rows=16, evaluate_every=steps),
        )

    return make


@pytest.fixture(scope="session")
def make_problem(make_job) -> Callable[..., Assignment]:
    def make(*args, seed: int = 1000, **keys) -> Assignment:
        job = make_job(*args, **keys)
        table = generate(job.data, data_streams("exp8", "costs", seed))
        return Assignment(job, table, Streams("exp8", seed))

    return make


@pytest.fixture(scope="session")
def make_computation(make_job) -> Callable[..., Computation]:
    def make(computed: str, variant: str = "all", draws: int = 1, steps: int = 2) -> Computation:
        job = make_job(steps=steps)
        sections = {"data": job.data, "model": job.model, "training": job.training}
        return Computation(computed=computed, variant=variant, draws=draws, **sections)

    return make


@pytest.fixture(scope="session")
def build() -> Callable[[Assignment], object]:
    """The untrained model of a problem."""
    return lambda problem: problem.build(problem.streams.generator("init"))
