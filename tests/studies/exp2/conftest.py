import pandas as pd
import pytest

from . import results


@pytest.fixture(scope="session")
def lookups() -> pd.DataFrame:
    return results.draw(results.LOOKUPS, 1000)


@pytest.fixture(scope="session")
def relations() -> pd.DataFrame:
    return results.draw(results.RELATIONS, 1000)
