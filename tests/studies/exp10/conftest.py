import pandas as pd
import pytest

from . import results


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    return results.draw_circuits()


@pytest.fixture(scope="session")
def make_problem():
    return results.make_problem


@pytest.fixture(scope="session")
def build():
    return results.build
