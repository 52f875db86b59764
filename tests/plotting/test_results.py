"""What figures are drawn from."""

import pandas as pd
import pytest

from journeylab.config import StudySettings
from journeylab.plotting import StudyResults

ROWS = [
    ("few", "linear", 0, "accuracy", 0.75),
    ("many", "linear", 0, "accuracy", 0.95),
    ("corners", "all", None, "share", 0.5),
]


def results() -> StudyResults:
    columns = ["arm", "variant", "seed", "metric", "value"]
    return StudyResults("exp1", StudySettings(), pd.DataFrame(ROWS, columns=columns))


def test_rows_of_several_arms_are_not_pooled_unless_asked() -> None:
    with pytest.raises(ValueError, match="accuracy is measured in arms few, many"):
        results().select("accuracy", variant="linear")
    assert results().select("accuracy", arm="many")["value"].tolist() == [0.95]
    assert results().pool("accuracy", variant="linear")["value"].tolist() == [0.75, 0.95]


def test_one_arm_needs_no_name() -> None:
    assert results().select("share")["value"].tolist() == [0.5]
    assert results().select("nothing").empty
