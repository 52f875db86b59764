import math

import numpy as np
import pandas as pd
import pytest
import torch
from mpmath import mp
from pydantic import ValidationError

from journeylab.studies.exp5_ssm_bridge import compute
from journeylab.studies.exp5_ssm_bridge.metrics import METRICS
from journeylab.studies.exp5_ssm_bridge.settings import OPERATORS, PRECISIONS, Cases, Computation

TINY = Cases(draws=2, lengths=(20, 200))


def compute_operator(variant, cases):
    job = Computation(computed="bridge", variant=variant, **cases.model_dump())
    return compute.compute(job, None)


def compute_all(cases):
    tables = [compute_operator(operator, cases) for operator in OPERATORS]
    return pd.concat(tables, ignore_index=True)


@pytest.fixture(scope="module")
def table():
    return compute_all(TINY)


def values(table, metric, **where):
    rows = table[table["metric"] == metric]
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows["value"]


def test_every_case_has_every_metric_once(table):
    keys = ["draw", "metric", "operator", "precision", "N"]
    assert list(table.columns) == [*keys, "value"]
    assert not table.duplicated(keys).any()
    cases = len(OPERATORS) * len(PRECISIONS) * len(TINY.lengths) * TINY.draws
    assert len(table) == cases * len(METRICS)
    assert set(table["metric"]) == set(METRICS)


def test_the_same_settings_give_the_same_table(table):
    again = compute_all(TINY)
    assert table.equals(again)


def test_the_identity_is_exact_where_arithmetic_is(table):
    assert values(table, "identity_error").max() < 1e-40


def test_the_error_is_rounding_below_its_bound(table):
    assert (values(table, "error_over_bound") <= 1).all()
    assert values(table, "relative_error", precision="float64").max() < 1e-9
    double = values(table, "relative_error", precision="float64").median()
    assert values(table, "relative_error", precision="float32").median() > 1e6 * double


def test_one_power_too_many_is_seen(table):
    assert values(table, "negative_control_error").min() > 1e-2


def test_a_length_does_not_depend_on_the_others(table):
    alone = compute_operator("nonnormal", Cases(draws=1, lengths=(200,)))
    before = values(table, "relative_error", operator="nonnormal", N=200, draw=0)
    assert before.tolist() == values(alone, "relative_error").tolist()


def test_overflow_is_an_infinite_error():
    operator = 0.5 * torch.eye(4, dtype=torch.float32)
    inputs = torch.ones(200, 4, dtype=torch.float32)
    found = compute.compare(operator, inputs)
    for metric in ("relative_error", "disagreement", "one_minus_cosine", "error_over_bound"):
        assert found[metric] == math.inf
    assert found["recurrence_error"] < 1e-6
    assert found["identity_error"] < 1e-40


def test_the_truth_survives_powers_that_blow_up():
    operator = 0.5 * torch.eye(4, dtype=torch.float64)
    inputs = torch.ones(400, 4, dtype=torch.float64)
    found = compute.compare(operator, inputs)
    assert found["growth"] == pytest.approx(2.0**399)
    assert found["identity_error"] < 1e-40
    with mp.workprec(53):
        truth, _ = compute._truth(operator, inputs)
    assert float(truth[0]) == pytest.approx(2.0)


@pytest.mark.parametrize("draw", range(3))
def test_operators_are_what_their_names_say(draw):
    drawn = {
        name: compute.draw_operator(name, 4, 0.9, np.random.default_rng(draw)) for name in OPERATORS
    }
    identity = torch.eye(4, dtype=torch.float64)
    for name, scale in (("rotation", 1.0), ("orthogonal", 1.0), ("contracted", 0.81)):
        torch.testing.assert_close(drawn[name] @ drawn[name].T, scale * identity)
    matrix = drawn["nonnormal"]
    torch.testing.assert_close(
        torch.linalg.eigvals(matrix).abs(), torch.ones(4, dtype=torch.float64)
    )
    assert (matrix @ matrix.T - matrix.T @ matrix).norm() > 0.1


def test_a_bound_that_overflows_is_refused():
    with pytest.raises(ValidationError, match="stay above 1e-150"):
        Cases(contraction=0.5)
