from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[4] / "shared" / "data" / "tinyshakespeare.txt"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Tiny Shakespeare; skips if there is no copy of it beside the project."""
    if not CORPUS.exists():
        pytest.skip("no copy of Tiny Shakespeare")
    return CORPUS
