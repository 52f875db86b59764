from collections.abc import Callable

import pytest

from journeylab.knowledge.problem import Knowledge
from journeylab.knowledge.settings import Model, Training
from journeylab.streams import data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.models import problem
from journeylab.studies.exp7_native_kg.settings import SPECS, Data, Job

MakeJob = Callable[..., Job]


def draw(data, seed):
    return generate(data, data_streams("exp7", "world", seed))


@pytest.fixture(scope="session")
def make_job() -> MakeJob:
    """A job of a variant; by default linearised variants read template 1."""

    def make(variant: str, linearisation: str | None = None, **training: float) -> Job:
        native = SPECS[variant].kg == "native"
        budget = {"steps": 40, "learning_rate": 3e-3, "warmup": 5, "dropout": 0.05}
        return Job(
            variant=variant,
            linearisation=linearisation or ("none" if native else "held"),
            attention="softmax",
            frequencies="standard",
            data=Data(),
            model=Model(d=16, layers=2),
            training=Training(**budget | training),
        )

    return make


@pytest.fixture(scope="session")
def facts():
    return draw(Data(), 1000)


@pytest.fixture(scope="session")
def make_problem(make_job: MakeJob, facts) -> Callable[..., Knowledge]:
    return lambda variant, *args, **training: problem(
        make_job(variant, *args, **training), facts, None
    )
