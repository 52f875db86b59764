"""Gradient estimators have the stated samples, gradients, and bias."""

from itertools import product

import pytest
import torch
from torch.func import vmap

from journeylab.models.estimators import (
    THREE_PHASES,
    Annealing,
    Choice,
    GumbelSoftmax,
    LeaveOneOut,
    Reinforce,
    ReinMax,
    SampledStraightThrough,
    Soft,
    StraightThrough,
    balance_loss,
    draw_gumbel,
    follow_average,
    harden,
    pass_through,
)

from ..tensors import draw

PATHS = [
    StraightThrough(),
    SampledStraightThrough(),
    GumbelSoftmax(0.5),
    GumbelSoftmax(0.1, 0.0),
    ReinMax(),
    Soft(),
]
DRAWN = [SampledStraightThrough(), GumbelSoftmax(0.3), ReinMax(), Reinforce(), LeaveOneOut()]


def assignments(k, tokens):
    """All assignments `[K^tokens, tokens, K]` of tokens to K options."""
    return torch.eye(k, dtype=torch.float64)[torch.tensor(list(product(range(k), repeat=tokens)))]


def exact(logits, losses):
    """∇ Σ_z p(z) L(z) by autograd, for the losses of all assignments; and all p(z)."""
    logits = logits.clone().requires_grad_()
    z = assignments(logits.shape[-1], len(logits))
    chances = (z * logits.log_softmax(-1)).sum((-2, -1)).exp()
    return torch.autograd.grad((chances * losses).sum(), logits)[0], chances.detach()


def test_every_estimator_returns_reproducible_hard_samples():
    logits = draw(0, 5, 3)
    for estimator in (*PATHS, *DRAWN):
        choice = estimator(logits, torch.Generator().manual_seed(1))
        assert choice.sample.shape == (estimator.draws, 5, 3)
        again = estimator(logits, torch.Generator().manual_seed(1))
        assert torch.equal(choice.sample, again.sample)
        if not isinstance(estimator, Soft):
            torch.testing.assert_close(choice.sample, harden(choice.sample), rtol=0, atol=1e-15)


def test_same_noise_gives_the_same_draw_for_all_estimators():
    logits = draw(0, 4, 6, 3)
    noise = draw_gumbel(logits, 1, torch.Generator().manual_seed(0))
    samples = [harden(estimator.choose(logits, noise).sample) for estimator in DRAWN]
    assert all(torch.equal(samples[0], sample) for sample in samples[1:])
    assert not torch.equal(samples[0][0], harden(logits))
    fixed = [StraightThrough(), GumbelSoftmax(0.5, 0.0)]
    for estimator in fixed:
        assert torch.equal(harden(estimator.choose(logits, noise).sample[0]), harden(logits))


def test_draws_have_softmax_frequencies():
    logits = torch.tensor([0.5, -1.0, 1.2], dtype=torch.float64)
    many = logits.expand(40_000, 3)
    choice = Reinforce()(many, torch.Generator().manual_seed(0))
    frequencies = choice.sample[0].mean(0)
    torch.testing.assert_close(frequencies, logits.softmax(-1), atol=0.01, rtol=0)


@pytest.mark.parametrize("tau", [1.0, 0.5, 0.1])
def test_gradients_equal_finite_differences_of_the_soft_sample(tau):
    logits, weights = draw(0, 4, 3), draw(1, 4, 3)
    noise = draw_gumbel(logits, 1, torch.Generator().manual_seed(0))
    for estimator, soft in (
        (StraightThrough(), lambda x: x.softmax(-1)),
        (SampledStraightThrough(), lambda x: x.softmax(-1)),
        (GumbelSoftmax(tau), lambda x: ((x + noise[0]) / tau).softmax(-1)),
        (GumbelSoftmax(tau, 0.0), lambda x: (x / tau).softmax(-1)),
    ):
        moving = logits.clone().requires_grad_()
        choice = estimator.choose(moving, noise)
        gradient = torch.autograd.grad((choice.sample[0] * weights).sum(), moving)[0]
        for index in ((0, 0), (3, 2)):
            moved = torch.zeros_like(logits)
            moved[index] = 1e-6
            up, down = ((soft(logits + sign * moved) * weights).sum() for sign in (1, -1))
            difference = float(up - down) / 2e-6
            assert gradient[index].item() == pytest.approx(difference, rel=1e-5, abs=1e-9)


def test_only_reinmax_is_exact_in_expectation_for_quadratic_losses():
    """ReinMax is a trapezoidal rule, hence of second order; straight-through is of first order."""
    matrix, logits = draw(0, 3, 3), draw(1, 1, 3)
    z = assignments(3, 1)
    losses = torch.einsum("zni,ij,znj->z", z, matrix, z)
    slopes = z @ (matrix + matrix.mT)
    truth, chances = exact(logits, losses)
    means = {}
    for name, follow in (
        ("reinmax", ReinMax.follow),
        ("straight-through", lambda sample, x: pass_through(sample, x.softmax(-1))),
    ):
        moving = logits.expand(3, 1, 3).clone().requires_grad_()
        estimates = torch.autograd.grad(follow(z, moving), moving, slopes)[0]
        means[name] = torch.einsum("z,znk->nk", chances, estimates)
    torch.testing.assert_close(means["reinmax"], truth)
    assert (means["straight-through"] - truth).norm() > 0.1 * truth.norm()


def test_reinforce_is_unbiased_with_any_baseline_and_adds_the_entropy_gradient():
    logits, losses = draw(0, 2, 3), draw(1, 9)
    z = assignments(3, 2)
    truth, chances = exact(logits, losses)
    for baseline in (0.0, 7.0, torch.tensor(-2.0)):
        moving = logits.expand(9, 2, 3).clone().requires_grad_()
        objective = Reinforce(baseline).objective(losses[None], Choice(z[None], moving))
        assert torch.equal(objective, losses)
        estimates = torch.autograd.grad(objective.sum(), moving)[0]
        torch.testing.assert_close(torch.einsum("z,znk->nk", chances, estimates), truth)
    moving = logits.clone().requires_grad_()
    logs = moving.log_softmax(-1)
    entropy = torch.autograd.grad(-(logs.exp() * logs).sum(), moving)[0]
    moving = logits.expand(9, 2, 3).clone().requires_grad_()
    objective = Reinforce(0.0, 0.3).objective(losses[None], Choice(z[None], moving))
    estimates = torch.autograd.grad(objective.sum(), moving)[0]
    torch.testing.assert_close(torch.einsum("z,znk->nk", chances, estimates), truth - 0.3 * entropy)


def test_leave_one_out_is_unbiased_over_all_tuples_of_draws():
    """All (2²)³ triples of draws of two tokens."""
    logits, losses = draw(0, 2, 2), draw(1, 4)
    z = assignments(2, 2)
    truth, chances = exact(logits, losses)
    tuples = torch.tensor(list(product(range(4), repeat=3))).T
    moving = logits.expand(64, 2, 2).clone().requires_grad_()
    objective = LeaveOneOut(3).objective(losses[tuples], Choice(z[tuples], moving))
    estimates = torch.autograd.grad(objective.sum(), moving)[0]
    weights = chances[tuples].prod(0)
    torch.testing.assert_close(torch.einsum("z,znk->nk", weights, estimates), truth)


def test_leave_one_out_ignores_a_constant_in_the_loss():
    logits, losses = draw(0, 2, 2).requires_grad_(), draw(1, 3)
    choice = LeaveOneOut(3)(logits, torch.Generator().manual_seed(0))
    gradients = [
        torch.autograd.grad(LeaveOneOut(3).objective(losses + level, choice), logits)[0]
        for level in (0.0, 5.0)
    ]
    torch.testing.assert_close(*gradients)
    assert gradients[0].abs().max() > 0


def test_score_functions_keep_the_gradient_of_the_loss():
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    logits = draw(0, 3, 2).requires_grad_()
    for estimator in (Reinforce(1.0), LeaveOneOut()):
        choice = estimator(logits, torch.Generator().manual_seed(0))
        losses = scale * choice.sample[..., 0]
        estimator.objective(losses, choice).sum().backward()
        assert scale.grad.item() == pytest.approx(choice.sample[..., 0].mean(0).sum().item())
        scale.grad = None


@pytest.mark.parametrize(
    "estimator", [*PATHS, *DRAWN], ids=lambda estimator: type(estimator).__name__
)
def test_vmap_over_choose_equals_each_choice(estimator):
    logits = draw(0, 3, 4, 2)
    noise = draw_gumbel(logits, estimator.draws, torch.Generator().manual_seed(0)).transpose(0, 1)
    at_once = vmap(lambda x, g: estimator.choose(x, g).sample)(logits, noise)
    for sample, x, g in zip(at_once, logits, noise, strict=True):
        assert torch.equal(sample, estimator.choose(x, g).sample)


def test_temperature_falls_linearly_and_noise_stops():
    code, printed = Annealing(100), Annealing(100, THREE_PHASES)
    assert [code.tau(step) for step in (0, 30, 70, 100, 500)] == pytest.approx(
        [1.0, 0.73, 0.37, 0.1, 0.1]
    )
    assert [printed.tau(step) for step in (0, 30, 50, 70, 100)] == pytest.approx(
        [1.0, 0.7, 0.5, 0.3, 0.1]
    )
    volumes = [code.at(step).volume for step in (0, 88, 89, 100)]
    assert volumes == [1.0, 1.0, 0.0, 0.0]
    assert Annealing(100, silent_below=0.0).at(100).volume == 1.0


def test_average_follows_each_row_of_losses():
    losses = torch.tensor([[1.0, 3.0], [0.0, 0.0]])
    after = follow_average(torch.tensor([1.0, 1.0]), losses, 0.9)
    torch.testing.assert_close(after, torch.tensor([1.1, 0.9]))


def test_balance_loss_is_1_if_even_and_lowers_logits_of_crowded_options():
    even = torch.eye(3).repeat(4, 1)
    assert balance_loss(even, torch.zeros(12, 3)).item() == pytest.approx(1.0)
    crowded = torch.zeros(12, 3).index_fill(1, torch.tensor([1]), 1.0)
    logits = torch.zeros(12, 3, requires_grad=True)
    loss = balance_loss(crowded, logits + 0.5 * crowded)
    loss.backward()
    assert loss.item() > 1.0
    assert (logits.grad[:, 1] > 0).all()
    assert (logits.grad[:, 0] < 0).all()
