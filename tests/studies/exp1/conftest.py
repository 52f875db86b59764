from collections.abc import Callable

import pandas as pd
import pytest

from journeylab.streams import Streams, data_streams
from journeylab.studies.exp1_group_languages.data import generate
from journeylab.studies.exp1_group_languages.models import Recognition
from journeylab.studies.exp1_group_languages.settings import Data, Job, Model, Training

FEW = Data(train=210, validation=42)


def draw(data, seed):
    return generate(data, data_streams("exp1", "strings", seed))


@pytest.fixture(scope="session")
def make_job() -> Callable[..., Job]:
    def make(variant: str, task: str = "S3", **training: float) -> Job:
        budget = {"steps": 30, "learning_rate": 0.01, "batch": 16}
        return Job(
            variant=variant,
            task=task,
            data=FEW,
            model=Model(),
            training=Training(**budget | training),
        )

    return make


@pytest.fixture(scope="session")
def strings() -> pd.DataFrame:
    return draw(FEW, 1000)


@pytest.fixture(scope="session")
def make_problem(make_job, strings) -> Callable[..., Recognition]:
    def make(variant: str, task: str = "S3", seed: int = 1000, **training: float) -> Recognition:
        return Recognition(make_job(variant, task, **training), strings, Streams("exp1", seed))

    return make
