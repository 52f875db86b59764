from collections.abc import Callable
from typing import Any

import pytest

from journeylab.knowledge.settings import Model, Training
from journeylab.streams import data_streams
from journeylab.studies.exp12_native_kg_transfer.data import generate
from journeylab.studies.exp12_native_kg_transfer.models import problem
from journeylab.studies.exp12_native_kg_transfer.settings import Data, Job


@pytest.fixture(scope="session")
def draw():
    """A world of a seed."""
    return lambda seed=1000, **data: generate(
        Data(**data), data_streams("exp12", data.get("world", "family"), seed)
    )


@pytest.fixture(scope="session")
def make_problem(draw) -> Callable[..., Any]:
    """The problem of a variant, by default in the smallest world."""

    def make(variant: str, tokens: int = 1, seed: int = 1000, dropout: float = 0.05, **data: Any):
        data = {"k": 1} | data
        job = Job(
            variant=variant,
            tokens=tokens,
            data=Data(**data),
            model=Model(d=16, layers=2),
            training=Training(steps=40, learning_rate=3e-3, warmup=5, dropout=dropout),
        )
        return problem(job, draw(seed, **data), None)

    return make
