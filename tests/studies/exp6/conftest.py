from collections.abc import Callable

import pytest

from journeylab.config import TrainingSettings
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp6_coupling_rank.data import generate
from journeylab.studies.exp6_coupling_rank.models import Coupling
from journeylab.studies.exp6_coupling_rank.settings import Data, Job, Model

SMALL = {"positions": 12, "roles": 3, "entities": 8, "queries": 300}


@pytest.fixture(scope="session")
def make_job() -> Callable[..., Job]:
    """A job of a variant with a small teacher; other keys are those of its data."""

    def make(variant: str, fit: str = "labels", steps: int = 3, **data) -> Job:
        chosen = SMALL | {"frequencies": "random", "operators": "toral"} | data
        training = {"steps": steps, "learning_rate": 0.03, "clip": 1e6, "evaluate_every": steps}
        return Job(
            variant=variant,
            fit=fit,
            data=Data(**chosen),
            model=Model(restarts=2),
            training=TrainingSettings(**training),
        )

    return make


@pytest.fixture(scope="session")
def make_problem(make_job) -> Callable[..., Coupling]:
    def make(*args, seed: int = 1000, **keys) -> Coupling:
        job = make_job(*args, **keys)
        return Coupling(job, generate(job.data, data_streams("exp6", "test", seed)))

    return make


@pytest.fixture(scope="session")
def build() -> Callable[[Coupling], object]:
    """The untrained model of a problem."""
    return lambda problem: problem.build(Streams("exp6", 1000).generator("init"))
