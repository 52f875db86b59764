from collections.abc import Callable

import pytest

from journeylab.streams import Streams, data_streams
from journeylab.studies.exp10_circuit_encoders.data import generate
from journeylab.studies.exp10_circuit_encoders.models import Circuits
from journeylab.studies.exp10_circuit_encoders.settings import Data, Job, Model, Training


@pytest.fixture(scope="session")
def table():
    return generate(Data(), data_streams("exp10", "circuits", 1000))


@pytest.fixture(scope="session")
def make_problem(table) -> Callable[..., Circuits]:
    def make(
        variant, task="degree", head="last", steps=2, seed=1000, every=1, **training
    ) -> Circuits:
        chosen = {"steps": steps, "learning_rate": 0.002, "evaluate_every": steps} | training
        job = Job(
            variant=variant,
            task=task,
            head=head,
            data=Data(),
            model=Model(),
            training=Training(**chosen),
        )
        return Circuits(job, table.iloc[::every], Streams("exp10", seed))

    return make


@pytest.fixture(scope="session")
def build() -> Callable[[Circuits], object]:
    """The untrained model of a problem."""
    return lambda problem: problem.build(Streams("exp10", 1000).generator("init"))
