"""What tests of several studies share."""

from collections.abc import Callable

import pandas as pd
import pytest

from journeylab.records.plans import Plan
from journeylab.stages.tables import labelled

Label = Callable[[str, str, str, pd.DataFrame], pd.DataFrame]


@pytest.fixture(scope="session")
def computed() -> Label:
    """The rows of a computed run as its stage hands them on: labelled, and without a seed."""

    def label(study: str, arm: str, variant: str, table: pd.DataFrame) -> pd.DataFrame:
        plan = Plan(stage="compute", study=study, arm=arm, variant=variant)
        return labelled(table, plan, None)

    return label
