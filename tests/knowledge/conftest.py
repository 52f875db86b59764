from collections.abc import Callable
from typing import Literal, NamedTuple

import pytest

from journeylab.knowledge.problem import Knowledge
from journeylab.knowledge.settings import (
    LINEARISED_TEMPLATES,
    Linearisation,
    Model,
    Spec,
    Training,
    linearised,
    native,
)
from journeylab.streams import data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.language import ENGLISH
from journeylab.studies.exp7_native_kg.settings import Data

SPECS: dict[str, Spec] = {
    "A": native(),
    "Aprime": native(values="operator"),
    "A-no-slots": native(slots="zero"),
    "A-causal": native(objective="causal"),
    "A-predict-all": native(objective="copy"),
    "A-tail": native(objective="tail"),
    "A-plus-causal": native(objective="both"),
    "A-sequential": native(slots="zero", positions="sequential"),
    "B": linearised("rope"),
    "Bprime": linearised("rope", values="operator"),
    "C": linearised("tokens"),
    "Cprime": linearised("tokens", values="operator"),
    "B-mlm": linearised("rope", objective="mlm"),
}
"""The models that a study may name."""


class Reading(NamedTuple):
    """The settings of a model, as a study's job has them."""

    spec: Spec
    training: Training
    model: Model = Model(d=16, layers=2)
    attention: Literal["softmax", "softplus"] = "softmax"
    frequencies: Literal["standard", "integer"] = "standard"


def draw(data, seed):
    return generate(data, data_streams("exp7", "world", seed))


@pytest.fixture(scope="session")
def facts():
    return draw(Data(), 1000)


@pytest.fixture(scope="session")
def make_problem(facts) -> Callable[..., Knowledge]:
    """The problem of a model; by default linearised models read template 1."""

    def make(
        variant: str, linearisation: Linearisation | None = None, **training: float
    ) -> Knowledge:
        spec = SPECS[variant]
        templates = linearisation or ("none" if spec.kg == "native" else "held")
        budget = {"steps": 40, "learning_rate": 3e-3, "warmup": 5, "dropout": 0.05}
        job = Reading(spec, Training(**budget | training))
        return Knowledge(job, facts, ENGLISH, LINEARISED_TEMPLATES[templates])

    return make
