import torch

from journeylab.models.estimators import GumbelSoftmax, StraightThrough, harden
from journeylab.studies.exp9_router_gradients.operations import count, report


def overheads():
    rows = list(report(torch.Generator().manual_seed(0)))
    return {(row["estimator"], row["case"]): row["value"] for row in rows}


def test_products_elementwise_calls_and_views_are_counted():
    a, b = torch.ones(2, 3, 4), torch.ones(4, 5)
    assert count(lambda: a @ b) == 2 * 6 * 4 * 5
    assert count(lambda: a + 1.0) == count(lambda: a.sum()) == 24
    assert count(lambda: a.view(6, 4).T) == 0
    w = b.clone().requires_grad_()
    forward = 2 * 6 * 4 * 5
    assert count(lambda: (a @ w).backward(torch.ones(2, 3, 5))) >= 2 * forward


def test_straight_through_adds_less_than_noise_and_the_mixture_most():
    added = overheads()
    assert added == overheads()
    own = {name: value for (name, part), value in added.items() if part == "estimator"}
    assert 0.0 < own["straight-through"] < own["gumbel-0.5"] < 0.01
    steps = {name: value for (name, part), value in added.items() if part == "step"}
    assert min(steps.values()) > 0.0
    assert max(steps, key=lambda name: steps[name]) == "soft"


def test_the_count_sees_a_wasteful_estimator():
    logits = torch.randn(64, 3)
    noise = torch.zeros(1, 64, 3)
    plain = count(lambda: StraightThrough().choose(logits, noise))
    assert count(lambda: harden(logits)) < plain
    assert plain < count(lambda: GumbelSoftmax(0.5).choose(logits, noise))
