"""Shapes and dtypes of the mathematics are checked while the tests run; one torch thread."""

import jaxtyping

jaxtyping.install_import_hook(
    ["journeylab.operators", "journeylab.models", "journeylab.training"], "beartype.beartype"
)

import pytest  # noqa: E402
import torch  # noqa: E402


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    torch.set_num_threads(1)
