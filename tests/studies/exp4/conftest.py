from pathlib import Path

import pandas as pd
import pytest

from . import results

CORPUS = Path(__file__).parents[4] / "shared" / "data" / "tinyshakespeare.txt"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Tiny Shakespeare; skips if there is no copy of it beside the project."""
    if not CORPUS.exists():
        pytest.skip("no copy of Tiny Shakespeare")
    return CORPUS


@pytest.fixture(scope="session")
def passages() -> pd.DataFrame:
    return results.draw_passages()


@pytest.fixture(scope="session")
def make_problem():
    return results.make_problem
