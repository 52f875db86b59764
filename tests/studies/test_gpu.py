"""Models of every study train on a CUDA GPU as on a CPU."""

from pathlib import Path

import numpy as np
import pytest
import torch

from journeylab import catalogue
from journeylab.chunks.generate import generate
from journeylab.config import RunSettings

from .gathering import PILOTS, first_of_each_arm_and_variant, train_chunk

if not torch.cuda.is_available():
    pytest.skip("needs a CUDA GPU", allow_module_level=True)

STEPS = 5
"""More than the steps before one is captured."""


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For studies that read a text: random letters and spaces."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    letters = torch.randint(27, (300_000,), generator=torch.Generator().manual_seed(0))
    path.write_text("".join(" abcdefghijklmnopqrstuvwxyz"[i] for i in letters.tolist()))
    return path


@pytest.mark.parametrize(
    ("study", "run"),
    list(first_of_each_arm_and_variant()),
    ids=lambda value: value if isinstance(value, str) else f"{value.arm}-{value.variant}",
)
def test_first_steps_on_a_gpu_are_those_of_a_cpu(
    study: str, run: RunSettings, text: Path, tmp_path: Path
) -> None:
    budget = {"steps": STEPS, "warmup": 0, "evaluate_every": 1}
    settings = run.settings | {"training": run.settings["training"] | budget}
    job, data = catalogue.trained_job(study, settings), catalogue.data_part(study)
    file = text if "file" in run.data else None
    rows = generate(data, catalogue.dataset_settings(study, run.data), study, "x", PILOTS, file)
    curves = []
    for device in ("cpu", "cuda"):
        trained = train_chunk(study, job, rows, tmp_path / device, device=device)
        curve = trained.curves((study, run.arm, run.variant))
        curves.append(curve[curve["metric"] == "train_loss"]["value"].to_numpy())
    assert len(curves[0]) >= STEPS * len(PILOTS)
    np.testing.assert_allclose(*curves, rtol=1e-3, atol=1e-3)
