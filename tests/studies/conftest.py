"""What tests of several studies share."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import Tensor

from journeylab.chunks.tables import labelled
from journeylab.records.plans import Plan
from journeylab.streams import Streams
from journeylab.training import Problem
from journeylab.training.engine import Execution, train_seeds

Label = Callable[[str, str, str, pd.DataFrame], pd.DataFrame]


@pytest.fixture(scope="session")
def computed() -> Label:
    """The rows of a computed run as its stage hands them on: labelled, and without a seed."""

    def label(study: str, arm: str, variant: str, table: pd.DataFrame) -> pd.DataFrame:
        plan = Plan(stage="compute", study=study, arm=arm, variant=variant)
        return labelled(table, plan.run, None)

    return label


@pytest.fixture
def train_both_ways(tmp_path: Path) -> Callable[[Sequence[Problem], Sequence[Streams]], None]:
    """Train seeds at once and one after the other, and find the same parameters."""

    def compare(problems: Sequence[Problem], streams: Sequence[Streams]) -> None:
        settings, states = problems[0].job.training, []
        for engine in ("batched", "sequential"):
            way, folder = Execution(engine, "cpu"), tmp_path / engine
            results = train_seeds(problems, settings, streams, folder, way, label="x", identity="")
            assert all(result.status == "finished" for result in results)
            states.append([_felt(result.state) for result in results])
        torch.testing.assert_close(*states, atol=1e-4, rtol=1e-4)

    return compare


def _felt(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Without biases of keys: no logit depends on them, and AdamW follows what rounding leaves."""
    return {
        name: torch.cat((value.chunk(3)[0], value.chunk(3)[2]))
        if name.endswith("project.bias")
        else value
        for name, value in state.items()
    }
