from collections.abc import Callable

import pytest

from journeylab.streams import Streams, data_streams
from journeylab.studies.exp11_sabag_pooling.data import generate
from journeylab.studies.exp11_sabag_pooling.models import PoolingProblem
from journeylab.studies.exp11_sabag_pooling.settings import Data, Job, Model, Training


@pytest.fixture(scope="session")
def make_problem() -> Callable[..., PoolingProblem]:
    """A problem with few strings."""

    def make(variant, task="copy", seed=1000, steps=2, **training) -> PoolingProblem:
        chosen = {"steps": steps, "learning_rate": 0.003, "evaluate_every": steps} | training
        source = "document" if task == "sentence" else "random"
        data = Data(source=source, train=400, test=60)
        job = Job(variant=variant, task=task, data=data, model=Model(), training=Training(**chosen))
        table = generate(data, data_streams("exp11", source, seed))
        return PoolingProblem(job, table, Streams("exp11", seed))

    return make


@pytest.fixture(scope="session")
def build() -> Callable[[PoolingProblem], object]:
    """The untrained model of a problem."""
    return lambda problem: problem.build(Streams("exp11", 1000).generator("init"))
