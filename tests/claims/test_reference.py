"""When a reproduction agrees with the reference results."""

import pytest

from journeylab.claims.reference import differences, refer

EFFECT = {"run": "a/x", "measure": "x"}
ROWS = [(EFFECT, {"above": 0.5})]
FIRST = [1.0 + i / 100 for i in range(12)]


def test_a_study_agrees_with_itself(judge):
    verdicts = judge({"a/x": FIRST}, ROWS)
    assert list(differences(verdicts, refer(verdicts))) == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([value + 0.01 for value in FIRST], None),
        ([value + 1.0 for value in FIRST], "outside the reference's interval"),
        ([value - 1.0 for value in FIRST], "refuted, the reference says supported"),
        (FIRST[:11], "11 seeds"),
    ],
)
def test_what_differs_is_told(judge, values, expected):
    reference = refer(judge({"a/x": FIRST}, ROWS))
    told = list(differences(judge({"a/x": values}, ROWS), reference))
    if expected is None:
        assert told == []
    else:
        [line] = told
        assert expected in line


def test_a_claim_that_left_the_register_is_told(judge):
    reference = refer(judge({"a/x": FIRST}, [*ROWS, *ROWS]))
    [line] = differences(judge({"a/x": FIRST}, ROWS), reference)
    assert line.startswith("exp1.2: ")
