import pandas as pd
import pytest

from . import results


@pytest.fixture(scope="session")
def strings() -> pd.DataFrame:
    return results.draw_strings()
