import pandas as pd
import pytest

from . import results


@pytest.fixture(scope="session")
def make_job():
    return results.make_job


@pytest.fixture(scope="session")
def strings() -> pd.DataFrame:
    return results.draw_strings()


@pytest.fixture(scope="session")
def make_problem():
    return results.make_problem
