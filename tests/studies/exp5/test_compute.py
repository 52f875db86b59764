import math
from fractions import Fraction
from operator import mul

import numpy as np
import pandas as pd
import pytest
import torch
from mpmath import mp

from journeylab.catalogue import printed_names
from journeylab.operators import ssm
from journeylab.studies.exp5_ssm_bridge import compute
from journeylab.studies.exp5_ssm_bridge.settings import (
    OPERATORS,
    PRECISIONS,
    BridgeCases,
    Computation,
)

from ..gathering import values_of

METRICS = printed_names("exp5").metrics

TINY = BridgeCases(draws=2, first_draw=1000, lengths=(20, 200))
GENTLE = [operator for operator in OPERATORS if operator != "growing"]


def compute_operator(variant, cases):
    job = Computation(computed="bridge", variant=variant, **cases.model_dump())
    return compute.compute(job, None)


def compute_all(cases):
    tables = [compute_operator(operator, cases) for operator in OPERATORS]
    return pd.concat(tables, ignore_index=True)


@pytest.fixture(scope="module")
def table():
    return compute_all(TINY)


def test_every_case_has_every_metric(table):
    cases = len(OPERATORS) * len(PRECISIONS) * len(TINY.lengths) * TINY.draws
    counts = table.groupby("metric").size().to_dict()
    bounded = int((values_of(table, "bound") < 1).sum())
    assert counts == dict.fromkeys(METRICS, cases) | {"error_over_bound": bounded}
    assert 0 < bounded < cases


def test_both_forms_agree_in_arbitrary_precision(table):
    assert values_of(table, "identity_error").max() < 1e-40


def test_errors_stay_below_their_rounding_bounds(table):
    assert (values_of(table, "error_over_bound") <= 1).all()
    gentle = table[table["operator"].isin(GENTLE)]
    assert (values_of(gentle, "error_over_rounding") <= 1).all()
    errors = values_of(gentle, "relative_error", precision="float64").tolist()
    assert max(errors) < 1e-9
    assert values_of(gentle, "state_lost", precision="float64").tolist() == errors
    double = values_of(gentle, "relative_error", precision="float64").median()
    assert values_of(gentle, "relative_error", precision="float32").median() > 1e6 * double


def test_growing_powers_destroy_only_the_journey_form():
    operator = torch.tensor([[1.2, 1.0], [0.0, 0.3]], dtype=torch.float64)
    metrics = compute.compare(operator, torch.ones(200, 2, dtype=torch.float64))
    assert metrics["relative_error"] > 1
    assert metrics["state_lost"] == 1
    assert max(metrics["recurrence_error"], metrics["scan_error"]) < 1e-10
    assert metrics["bound"] > 1
    assert "error_over_bound" not in metrics


def exact_state(operator, inputs):
    """h_N in rational arithmetic."""
    rows = [[Fraction(x) for x in row] for row in operator.tolist()]
    state = [Fraction(0)] * len(rows)
    for step in inputs.tolist():
        carried = [sum(map(mul, row, state)) for row in rows]
        state = [a + Fraction(b) for a, b in zip(carried, step, strict=True)]
    return state


def distance(first, second, over):
    square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(first, second, strict=True))
    return math.sqrt(square / sum(x * x for x in over))


def test_errors_equal_those_in_rational_arithmetic():
    """The case is chosen so that no two of the four errors are equal."""
    rng = np.random.default_rng(0)
    operator = compute.draw_operator(BridgeCases(), "nonnormal", rng).float()
    inputs = torch.from_numpy(rng.standard_normal((30, 4))).float()
    truth, metrics = exact_state(operator, inputs), compute.compare(operator, inputs)
    j, r, s = (
        form(operator, inputs)[-1].tolist() for form in (ssm.parallel, ssm.recurrent, ssm.scan)
    )
    errors = {
        "relative_error": distance(j, truth, truth),
        "recurrence_error": distance(r, truth, truth),
        "disagreement": distance(j, r, truth),
        "scan_error": distance(s, truth, truth),
    }
    assert len(set(errors.values())) == 4
    assert {name: metrics[name] for name in errors} == pytest.approx(errors, rel=1e-9, abs=0)
    # With angle θ between the forms, 1 − cos θ = sin²θ / (1 + cos θ), and sin² by exact products.
    j, r = ([Fraction(x) for x in state] for state in (j, r))
    jj, jr, rr = (sum(map(mul, a, b)) for a, b in ((j, j), (j, r), (r, r)))
    sine = 1 - jr**2 / (jj * rr)
    assert metrics["one_minus_cosine"] == pytest.approx(float(sine) / 2, rel=1e-6, abs=0)
    largest = max(errors[name] for name in ("relative_error", "recurrence_error", "disagreement"))
    unit = 2.0**-24
    assert metrics["error_over_rounding"] == pytest.approx(largest / (4 * 4 * 30 * unit))
    bound = 100 * unit * 30 * metrics["growth"] ** 2
    assert metrics["error_over_bound"] == pytest.approx(largest / bound)
    assert metrics["state_lost"] == 0  # in single precision the recurrence is not accurate to 1e-10
    once_more = exact_state(operator, torch.cat((inputs, torch.zeros(1, 4))))
    assert metrics["negative_control_error"] == pytest.approx(distance(once_more, truth, truth))
    lengths = [math.sqrt(sum(x * x for x in state)) for state in (once_more, truth)]
    cosine = float(sum(map(mul, once_more, truth))) / math.prod(lengths)
    assert metrics["negative_control_cosine"] == pytest.approx(cosine)


@pytest.mark.parametrize(("length", "precision", "unit"), [(5, "64", 2**-53), (9, "32", 2**-24)])
def test_bound_of_a_diagonal_operator(length, precision, unit):
    dtype = getattr(torch, f"float{precision}")
    operator = torch.diag(torch.tensor([0.25, 2.0], dtype=dtype))
    metrics = compute.compare(operator, torch.ones(length, 2, dtype=dtype))
    assert metrics["growth"] == 4.0 ** (length - 1)
    assert metrics["bound"] == 100 * unit * length * 16.0 ** (length - 1)


def transposed(form):
    return lambda operator, inputs: form(operator.mT, inputs)


@pytest.mark.parametrize(
    ("form", "metric", "tolerance"),
    [
        ("parallel", "one_minus_cosine", 1e-6),
        ("parallel", "error_over_rounding", 1.0),
        ("recurrent", "error_over_rounding", 1.0),
        ("parallel", "error_over_bound", 1.0),
        ("recurrent", "error_over_bound", 1.0),
        ("scan", "scan_error", 1e-10),
    ],
)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_form_with_the_inverse_rotation_exceeds_every_tolerance(
    monkeypatch, form, metric, tolerance, precision
):
    job = Computation(variant="rotation", computed="bridge", lengths=(20,), first_draw=1000)
    case = compute._round(*compute._draw(job, 1000), 20, precision)
    if (form, precision) != ("scan", "float32"):
        assert compute.compare(*case)[metric] <= tolerance
    monkeypatch.setitem(compute.FORMS, form, transposed(compute.FORMS[form]))
    assert compute.compare(*case)[metric] > tolerance


def test_cosine_does_not_see_an_error_of_scale(monkeypatch):
    operator, inputs = torch.eye(2, dtype=torch.float64), torch.ones(3, 2, dtype=torch.float64)
    monkeypatch.setitem(compute.FORMS, "parallel", lambda R, x: 2 * ssm.parallel(R, x))
    metrics = compute.compare(operator, inputs)
    assert metrics["relative_error"] == 1.0
    assert metrics["one_minus_cosine"] < 1e-15


def test_identity_error_detects_a_wrong_journey_form(monkeypatch):
    truth = compute._truth
    monkeypatch.setattr(compute, "_truth", lambda R, x: (truth(R, x)[0], truth(2 * R, x)[1]))
    operator, inputs = torch.eye(2, dtype=torch.float64), torch.ones(3, 2, dtype=torch.float64)
    assert compute.compare(operator, inputs)["identity_error"] > 1e-12


def test_state_lost_is_zero_if_the_recurrence_is_inaccurate(monkeypatch):
    operator = torch.tensor([[1.2, 1.0], [0.0, 0.3]], dtype=torch.float64)
    monkeypatch.setitem(compute.FORMS, "recurrent", lambda R, x: ssm.recurrent(1.001 * R, x))
    metrics = compute.compare(operator, torch.ones(200, 2, dtype=torch.float64))
    assert metrics["relative_error"] > 1
    assert metrics["state_lost"] == 0


def test_every_form_is_timed_at_every_length():
    job = Computation(variant="rotation", computed="bridge", lengths=(2, 5))
    spent = compute.time_forms(job)
    assert set(spent) == {f"{form}.{n}" for form in compute.FORMS for n in (2, 5)}
    assert min(spent.values()) > 0


def test_a_case_does_not_depend_on_other_lengths_or_draws(table):
    alone = compute_operator("nonnormal", BridgeCases(draws=1, first_draw=1001, lengths=(200,)))
    before = values_of(table, "relative_error", operator="nonnormal", N=200, draw=1001)
    assert before.tolist() == values_of(alone, "relative_error").tolist()


def test_overflow_is_an_infinite_error():
    operator = 0.5 * torch.eye(4, dtype=torch.float32)
    inputs = torch.ones(200, 4, dtype=torch.float32)
    metrics = compute.compare(operator, inputs)
    errors = ("relative_error", "disagreement", "one_minus_cosine", "error_over_rounding")
    assert [metrics[metric] for metric in errors] == [math.inf] * 4
    assert metrics["recurrence_error"] < 1e-6
    assert metrics["identity_error"] < 1e-40


def test_truth_is_exact_for_powers_that_overflow():
    operator = 0.5 * torch.eye(4, dtype=torch.float64)
    inputs = torch.ones(400, 4, dtype=torch.float64)
    metrics = compute.compare(operator, inputs)
    assert metrics["growth"] == pytest.approx(2.0**399)
    assert metrics["identity_error"] < 1e-40
    beyond = compute.compare(1e-200 * torch.eye(2, dtype=torch.float64), inputs[:4, :2])
    assert beyond["growth"] == beyond["bound"] == math.inf
    assert beyond["identity_error"] < 1e-40
    assert (beyond["relative_error"], beyond["state_lost"]) == (math.inf, 1)
    with mp.workprec(53):
        truth, _ = compute._truth(operator, inputs)
    assert float(truth[0]) == pytest.approx(2.0)


@pytest.mark.parametrize("draw", range(3))
def test_operators_have_the_properties_of_their_names(draw):
    drawn = {
        name: compute.draw_operator(BridgeCases(), name, np.random.default_rng(draw))
        for name in OPERATORS
    }
    identity = torch.eye(4, dtype=torch.float64)
    for name, scale in (("rotation", 1.0), ("orthogonal", 1.0), ("contracted", 0.81)):
        torch.testing.assert_close(drawn[name] @ drawn[name].T, scale * identity)
    matrix = drawn["nonnormal"]
    torch.testing.assert_close(
        torch.linalg.eigvals(matrix).abs(), torch.ones(4, dtype=torch.float64)
    )
    growing = drawn["growing"]
    assert torch.linalg.eigvals(growing).abs().max().item() == pytest.approx(1.2)
    for other in (matrix, growing):
        assert (other @ other.T - other.T @ other).norm() > 0.1
