"""Numbers that prose queries from the measurements."""

import re

import pandas as pd
import pytest

from journeylab.config import Metric, StudySettings, UserError
from journeylab.plotting import StudyResults
from journeylab.reports.queries import answer
from journeylab.wording.queries import cited
from journeylab.wording.typography import in_form

from ..made import named

METRICS = {
    "hits@1": Metric(
        label="hits", factors={"tier": ("T1", "T2", "T3"), "scale": ("0.1", "1"), "heads": (1, 8)}
    ),
    "size": Metric(label="size", factors={"of": ("text rows",)}),
    "loss": Metric(label="loss"),
}
NAMES = named(labels={"x": "X", "z": "Z"}, metrics=METRICS)
ROWS = [
    ("a", "x", 0, "hits@1", "T1", "0.1", 1.0, None, 0.5),
    ("a", "x", 1, "hits@1", "T1", "0.1", 8.0, None, 0.7),
    ("a", "y", 0, "hits@1", "T1", "1", 1.0, None, -0.9),
    ("b", "x", 0, "hits@1", "T2", "1", 8.0, None, 0.2),
    ("b", "x", 0, "size", None, None, None, "text rows", 6885.0),
]
COLUMNS = ["arm", "variant", "seed", "metric", "tier", "scale", "heads", "of", "value"]


@pytest.fixture
def results() -> StudyResults:
    table = pd.DataFrame(ROWS, columns=COLUMNS).assign(study="exp1")
    return StudyResults("exp1", StudySettings(), table, NAMES)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hits-1.a.x", 0.6),
        ("hits-1.T1.max", 0.7),
        ("hits-1.min", -0.9),
        ("hits-1.a.size", 0.7),
        ("hits-1.x.y.T1.count", 3),  # several levels of a factor are pooled
        ("hits-1.0.1.8", 0.7),  # a level with a dot
        ("hits-1.heads=1.scale=1", -0.9),
        ("hits-1.at-least-0.5", 2),
        ("hits-1.below-0.5", 2),
        ("hits-1.T1.above-0.7", 0),
        ("size.text-rows", 6885.0),
        ("hits-1.z", None),  # a variant in print without a run
        ("hits-1.T3", None),  # a level that was not measured
        ("hits-1.T3.1", None),  # of whatever factor
        ("loss.max", None),
        ("loss.count", 0),
    ],
)
def test_a_key_is_metric_levels_and_reduction(results, key, value):
    assert answer(results, [key]) == {key: pytest.approx(value)}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("hits-1.1", "can mean {'scale': ('1',)}; {'heads': ('1',)}; write factor=level"),
        ("hits-1.T9", "is no number, and no metric with levels of its factors"),
        ("hit-1.T1", "near: hits-1"),
    ],
)
def test_an_unknown_or_ambiguous_key_is_one_line(results, key, message):
    with pytest.raises(
        UserError, match=re.escape(f"report.typ of exp1: {key} ") + f".*{re.escape(message)}"
    ):
        answer(results, [key])


def test_keys_and_forms_are_read_from_prose():
    prose = '#n("a.b") #number(report, "a.b:2") #n("a.b:%") #n("c" + d) #fun("e")'
    assert cited(prose) == {"a.b": {"2", "%"}}


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (0.12345, "2", "0.12"),
        (1234.6, "d", "1\u202f235"),
        (0.00012345, "e", "1.2\u202f×\u202f10⁻⁴"),
        (0.5, "s", "0.5"),
        (0.125, "%", "12.5"),
        (0.12345, "~2", "0.12"),
        ("one world", "2", "one world"),
        (None, "2", "n/a"),
    ],
)
def test_a_form_prints_a_number(value, form, text):
    assert in_form(value, form) == text


def test_an_unknown_form_is_refused():
    with pytest.raises(UserError, match="form 'q' of a number is unknown; accepted: 2, ~2, d"):
        in_form(0.5, "q")
