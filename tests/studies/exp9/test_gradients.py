import math
from itertools import product

import pytest
import torch

from journeylab.models.estimators import (
    GumbelSoftmax,
    LeaveOneOut,
    Reinforce,
    ReinMax,
    SampledStraightThrough,
    draw_gumbel,
)
from journeylab.studies.exp9_router_gradients.gradients import (
    MOMENTUM,
    Laboratory,
    Moments,
    average_of,
    disagreement,
    of_reinforce,
)
from journeylab.studies.exp9_router_gradients.settings import ESTIMATED


@pytest.fixture(scope="module")
def lab() -> Laboratory:
    return Laboratory.draw(4, torch.Generator().manual_seed(0))


def estimated(lab, name, draws=2000):
    moments = lab.estimate(name, draws, torch.Generator().manual_seed(1))
    return moments, lab.compare(moments)


def by_hand(lab, router):
    """J in plain loops over assignments and tokens, without the laboratory."""
    total = 0.0
    x, v, y = (each.tolist() for each in lab.data[1:])
    for inputs, values, targets in zip(x, v, y, strict=True):
        chances = []
        for token in inputs:
            logits = [sum(a * router[i][k] for i, a in enumerate(token)) for k in range(3)]
            size = sum(map(math.exp, logits))
            chances.append([math.exp(logit) / size for logit in logits])
        for z in product(range(3), repeat=len(values)):
            chance, loss = 1.0, 0.0
            for i, k in enumerate(z):
                chance *= chances[i][k]
                seen = [values[j] for j in range(i + 1) if z[j] == k]
                loss += (sum(seen) / len(seen) - targets[i]) ** 2 / len(values)
            total += chance * loss
    return total / len(v)


def test_the_exact_gradient_equals_an_enumeration_in_loops(lab):
    router = lab.router.tolist()
    assert float(lab.objective(lab.router)) == pytest.approx(by_hand(lab, router), rel=1e-12)
    for i, k in ((0, 0), (2, 1)):
        values = []
        for step in (1e-5, -1e-5):
            moved = [list(row) for row in router]
            moved[i][k] += step
            values.append(by_hand(lab, moved))
        assert lab.exact[i, k].item() == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "estimator"),
    [
        ("straight-through-sampled", SampledStraightThrough()),
        ("reinmax", ReinMax()),
        ("reinforce", Reinforce()),
        ("rloo", LeaveOneOut()),
        ("gumbel-0.5", GumbelSoftmax(0.5)),
    ],
)
def test_moments_equal_those_of_simulated_estimates(lab, name, estimator):
    draws = 6000
    generator = torch.Generator().manual_seed(2)
    noise = draw_gumbel(lab.logits.expand(draws, -1, -1, -1), estimator.draws, generator)
    estimates = lab.gradients_of(estimator, noise).mean(1)
    moments, _ = estimated(lab, name, 6000)
    variance = float((estimates - estimates.mean(0)).square().sum((-2, -1)).mean())
    assert variance == pytest.approx(moments.variance, rel=0.15)
    off = float((estimates.mean(0) - moments.mean).norm())
    assert off < 4.0 * math.sqrt((variance + moments.error * draws) / draws)


def test_straight_through_is_the_slope_at_the_argmax(lab):
    """The slope at the argmax, passed through the softmax by the chain rule, token by token."""
    p = lab.logits.softmax(-1)
    index = (lab.logits.argmax(-1) * 3 ** torch.arange(5, -1, -1)).sum(-1)
    slopes = lab.slopes[index, torch.arange(4)]
    through = p * (slopes - (p * slopes).sum(-1, keepdim=True))
    expected = torch.einsum("rni,rnk->ik", lab.data.inputs, through) / 4
    moments, compared = estimated(lab, "straight-through")
    torch.testing.assert_close(moments.mean, expected)
    assert moments.variance == 0.0
    bias = float((expected - lab.exact).norm() / lab.exact.norm())
    assert compared["relative_bias"] == pytest.approx(bias)


def test_reinforce_is_unbiased_and_the_printed_form_is_biased(lab):
    for name in ("reinforce", "reinforce-ema", "rloo"):
        assert estimated(lab, name)[1]["relative_bias"] < 1e-12
    baseline, _ = average_of(lab)
    updated = lab.compare(of_reinforce(lab, baseline=baseline, updated=True))
    assert updated["relative_bias"] == pytest.approx((1 - MOMENTUM) / 4, rel=1e-6)
    assert updated["cosine"] == pytest.approx(1.0)
    assert estimated(lab, "reinforce-literal")[1]["relative_bias"] > 0.05
    assert estimated(lab, "reinforce-ema")[0].variance < estimated(lab, "reinforce")[0].variance


def test_the_stationary_average_equals_a_simulation(lab):
    generator = torch.Generator().manual_seed(3)
    mean, spread = average_of(lab)
    steps = torch.multinomial(lab.chances.T, 6000, replacement=True, generator=generator)
    rewards = lab.losses.T.gather(1, steps).mean(0)
    averages, average = [], mean
    for reward in rewards.tolist():
        average = MOMENTUM * average + (1 - MOMENTUM) * reward
        averages.append(average)
    assert sum(averages) / len(averages) == pytest.approx(mean, rel=0.02)
    of_step = float(rewards.var())
    assert of_step * (1 - MOMENTUM) / (1 + MOMENTUM) == pytest.approx(spread, rel=0.1)


def test_only_gumbel_has_a_monte_carlo_error_that_falls_with_draws(lab):
    for name in ESTIMATED:
        _, compared = estimated(lab, name, 400)
        assert (compared["monte_carlo_error"] > 0) == name.startswith("gumbel")
    few, many = (estimated(lab, "gumbel-1", draws)[1]["monte_carlo_error"] for draws in (400, 6400))
    assert few / many == pytest.approx(4.0, rel=0.15)


def test_the_monte_carlo_error_is_subtracted_from_the_bias(lab):
    off = torch.full((3, 3), 0.1, dtype=torch.float64)
    noisy = Moments(lab.exact + off, 1.0, float(off.square().sum()))
    assert lab.compare(noisy)["relative_bias"] < 1e-6
    sure = noisy._replace(error=0.0)
    bias = float(off.norm() / lab.exact.norm())
    assert lab.compare(sure)["relative_bias"] == pytest.approx(bias)


def test_noise_reroutes_as_many_tokens_at_every_temperature(lab):
    shares = [
        disagreement(lab, 500, torch.Generator().manual_seed(0), tau) for tau in (1.0, 0.5, 0.1)
    ]
    assert shares[0] == shares[1] == shares[2]
    p = lab.logits.softmax(-1).amax(-1)
    assert shares[0] == pytest.approx(float(1 - p.mean()), abs=0.02)


def test_a_scale_multiplies_the_router_and_keeps_the_sequences(lab):
    other = lab.at(3.0)
    assert torch.equal(other.data.inputs, lab.data.inputs)
    torch.testing.assert_close(other.logits, 3.0 * lab.logits)
