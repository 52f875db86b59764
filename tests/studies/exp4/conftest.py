from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from journeylab.config import ExternalFile
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp4_operator_recovery.data import generate
from journeylab.studies.exp4_operator_recovery.models import RecoveryProblem
from journeylab.studies.exp4_operator_recovery.settings import Data, Job, Model, Training

CORPUS = Path(__file__).parents[4] / "shared" / "data" / "tinyshakespeare.txt"
DATA = Data(file=ExternalFile(sha256="0" * 64), passage=100, held_out=0.2)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Tiny Shakespeare; skips if there is no copy of it beside the project."""
    if not CORPUS.exists():
        pytest.skip("no copy of Tiny Shakespeare")
    return CORPUS


@pytest.fixture(scope="session")
def passages(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """A text of syllables, in which a character predicts something of the next one."""
    rng = np.random.default_rng(0)
    text = "".join(rng.choice(["la ", "so ", "mi", "re", "do"], 2500))
    file = tmp_path_factory.mktemp("corpus") / "text"
    file.write_text(text, encoding="utf-8")
    return generate(DATA, data_streams("exp4", "corpus", 1000), file)


@pytest.fixture(scope="session")
def make_problem(passages: pd.DataFrame) -> Callable[..., RecoveryProblem]:
    def make(
        variant: str = "near-identity",
        *,
        model: Model | None = None,
        seed: int = 1000,
        **of: object,
    ) -> RecoveryProblem:
        sizes = model or Model(d=4, length=16)
        budget = Training(steps=20, learning_rate=0.01, rows=8)
        job = Job(variant=variant, data=DATA, model=sizes, training=budget, **of)
        return RecoveryProblem(job, passages, Streams("exp4", seed))

    return make
