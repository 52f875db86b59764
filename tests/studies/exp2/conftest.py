from collections.abc import Callable

import pandas as pd
import pytest

from journeylab.studies.exp2_shuffled_kb.data import generate
from journeylab.studies.exp2_shuffled_kb.models import Retrieval
from journeylab.studies.exp2_shuffled_kb.settings import VARIANTS, Data, Job, Model, Training
from journeylab.training import Streams

SMALL = Data(keys=12, values=4, sizes=(5, 8), subjects=2, relations=3, questions=80)


@pytest.fixture(scope="session")
def make_job() -> Callable[..., Job]:
    """A job of a variant on small repositories; its task follows from its name."""

    def make(variant: str, order: str = "shuffled", **training: float) -> Job:
        grouped = variant in VARIANTS["relations"]
        budget = {"steps": 300, "learning_rate": 1e-2, "evaluate_every": 150}
        return Job(
            variant=variant,
            task="relations" if grouped else "lookup",
            size=None if grouped else 5,
            order=order,
            attention="softmax",
            data=SMALL,
            model=Model(d=16),
            training=Training(**budget | training),
        )

    return make


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    return generate(SMALL, 1000)


@pytest.fixture(scope="session")
def make_problem(make_job, table) -> Callable[..., Retrieval]:
    return lambda *args, **training: Retrieval(make_job(*args, **training), table, Streams(1000))
