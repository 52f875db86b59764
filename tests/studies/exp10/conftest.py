import pandas as pd
import pytest

from . import results


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    return results.draw_circuits()
