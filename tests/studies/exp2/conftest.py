from collections.abc import Callable

import pandas as pd
import pytest

from journeylab.streams import Streams, data_streams
from journeylab.studies.exp2_shuffled_kb.data import generate
from journeylab.studies.exp2_shuffled_kb.models import Retrieval
from journeylab.studies.exp2_shuffled_kb.settings import (
    VARIANTS,
    Data,
    Job,
    Lookups,
    Model,
    Relations,
    Training,
)

SYMBOLS = {"keys": 12, "values": 4, "questions": 80}
LOOKUPS = Lookups(task="lookup", sizes=(5, 8), **SYMBOLS)
RELATIONS = Relations(task="relations", subjects=2, relations=3, **SYMBOLS)


def draw(data, seed):
    return generate(data, data_streams("exp2", data.task, seed))


def data_of(variant: str) -> Data:
    return RELATIONS if variant in VARIANTS["relations"] else LOOKUPS


@pytest.fixture(scope="session")
def make_job() -> Callable[..., Job]:
    """A job of a variant on small repositories; its task follows from its name."""

    def make(variant: str, order: str = "shuffled", **training: float) -> Job:
        budget = {"steps": 300, "learning_rate": 1e-2, "evaluate_every": 150}
        return Job(
            variant=variant,
            size=5 if variant in VARIANTS["lookup"] else None,
            order=order,
            attention="softmax",
            data=data_of(variant),
            model=Model(d=16),
            training=Training(**budget | training),
        )

    return make


@pytest.fixture(scope="session")
def lookups() -> pd.DataFrame:
    return draw(LOOKUPS, 1000)


@pytest.fixture(scope="session")
def relations() -> pd.DataFrame:
    return draw(RELATIONS, 1000)


@pytest.fixture(scope="session")
def make_problem(make_job, lookups, relations) -> Callable[..., Retrieval]:
    def make(variant: str, *args, **training) -> Retrieval:
        job = make_job(variant, *args, **training)
        return Retrieval(job, lookups if job.task == "lookup" else relations, Streams("exp2", 1000))

    return make
