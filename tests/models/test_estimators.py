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

PATHS = [
    StraightThrough(),
    SampledStraightThrough(),
    GumbelSoftmax(0.5),
    GumbelSoftmax(0.1, 0.0),
    ReinMax(),
    Soft(),
]
DRAWN = [SampledStraightThrough(), GumbelSoftmax(0.3), ReinMax(), Reinforce(), LeaveOneOut()]


def drawn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def every(k, tokens):
    """All assignments `[K^tokens, tokens, K]`."""
    return torch.eye(k, dtype=torch.float64)[torch.tensor(list(product(range(k), repeat=tokens)))]


def exact(logits, losses):
    """∇ Σ_z p(z) L(z) by autograd, for the losses of `every`."""
    logits = logits.clone().requires_grad_()
    z = every(logits.shape[-1], len(logits))
    chances = (z * logits.log_softmax(-1)).sum((-2, -1)).exp()
    return torch.autograd.grad((chances * losses).sum(), logits)[0], chances.detach()


def test_every_estimator_has_one_signature_and_draws_what_it_says():
    logits = drawn(5, 3)
    for estimator in (*PATHS, *DRAWN):
        choice = estimator(logits, torch.Generator().manual_seed(1))
        assert choice.sample.shape == (estimator.draws, 5, 3)
        again = estimator(logits, torch.Generator().manual_seed(1))
        assert torch.equal(choice.sample, again.sample)
        if not isinstance(estimator, Soft):
            torch.testing.assert_close(choice.sample, harden(choice.sample), rtol=0, atol=1e-15)


def test_the_same_noise_is_the_same_draw_for_all_that_draw():
    logits = drawn(4, 6, 3)
    noise = draw_gumbel(logits, 1, torch.Generator().manual_seed(0))
    samples = [harden(each.choose(logits, noise).sample) for each in DRAWN]
    assert all(torch.equal(samples[0], each) for each in samples[1:])
    assert not torch.equal(samples[0][0], harden(logits))
    fixed = [StraightThrough(), GumbelSoftmax(0.5, 0.0)]
    for each in fixed:
        assert torch.equal(harden(each.choose(logits, noise).sample[0]), harden(logits))


def test_draws_have_the_frequencies_of_the_softmax():
    logits = torch.tensor([0.5, -1.0, 1.2], dtype=torch.float64)
    many = logits.expand(40_000, 3)
    choice = Reinforce()(many, torch.Generator().manual_seed(0))
    frequencies = choice.sample[0].mean(0)
    torch.testing.assert_close(frequencies, logits.softmax(-1), atol=0.01, rtol=0)


@pytest.mark.parametrize("tau", [1.0, 0.5, 0.1])
def test_gradients_are_those_of_the_soft_sample(tau):
    """By differences of what is told to be differentiated."""
    logits, asked = drawn(4, 3), drawn(4, 3, seed=1)
    noise = draw_gumbel(logits, 1, torch.Generator().manual_seed(0))
    for estimator, soft in (
        (StraightThrough(), lambda x: x.softmax(-1)),
        (SampledStraightThrough(), lambda x: x.softmax(-1)),
        (GumbelSoftmax(tau), lambda x: ((x + noise[0]) / tau).softmax(-1)),
        (GumbelSoftmax(tau, 0.0), lambda x: (x / tau).softmax(-1)),
    ):
        moving = logits.clone().requires_grad_()
        choice = estimator.choose(moving, noise)
        found = torch.autograd.grad((choice.sample[0] * asked).sum(), moving)[0]
        for place in ((0, 0), (3, 2)):
            moved = torch.zeros_like(logits)
            moved[place] = 1e-6
            up, down = ((soft(logits + sign * moved) * asked).sum() for sign in (1, -1))
            assert found[place].item() == pytest.approx(float(up - down) / 2e-6, rel=1e-5, abs=1e-9)


def test_reinmax_is_exact_in_expectation_where_the_loss_is_quadratic_and_others_are_not():
    """The trapezoidal rule is; half of what straight-through ignores is the second derivative."""
    matrix, logits = drawn(3, 3), drawn(1, 3, seed=1)
    z = every(3, 1)
    losses = torch.einsum("zni,ij,znj->z", z, matrix, z)
    slopes = z @ (matrix + matrix.mT)
    truth, chances = exact(logits, losses)
    found = {}
    for name, follow in (
        ("reinmax", ReinMax.follow),
        ("straight-through", lambda drawn, x: pass_through(drawn, x.softmax(-1))),
    ):
        moving = logits.expand(3, 1, 3).clone().requires_grad_()
        each = torch.autograd.grad(follow(z, moving), moving, slopes)[0]
        found[name] = torch.einsum("z,znk->nk", chances, each)
    torch.testing.assert_close(found["reinmax"], truth)
    assert (found["straight-through"] - truth).norm() > 0.1 * truth.norm()


def test_reinforce_is_unbiased_with_any_baseline_and_its_bonus_is_the_entropys():
    logits, losses = drawn(2, 3), drawn(9, seed=1)
    z = every(3, 2)
    truth, chances = exact(logits, losses)
    for baseline in (0.0, 7.0, torch.tensor(-2.0)):
        moving = logits.expand(9, 2, 3).clone().requires_grad_()
        told = Reinforce(baseline).objective(losses[None], Choice(z[None], moving))
        assert torch.equal(told, losses)
        each = torch.autograd.grad(told.sum(), moving)[0]
        torch.testing.assert_close(torch.einsum("z,znk->nk", chances, each), truth)
    moving = logits.clone().requires_grad_()
    logs = moving.log_softmax(-1)
    entropy = torch.autograd.grad(-(logs.exp() * logs).sum(), moving)[0]
    moving = logits.expand(9, 2, 3).clone().requires_grad_()
    told = Reinforce(0.0, 0.3).objective(losses[None], Choice(z[None], moving))
    each = torch.autograd.grad(told.sum(), moving)[0]
    torch.testing.assert_close(torch.einsum("z,znk->nk", chances, each), truth - 0.3 * entropy)


def test_leave_one_out_is_unbiased_over_all_tuples_of_draws():
    """All (2²)³ triples of draws of two tokens."""
    logits, losses = drawn(2, 2), drawn(4, seed=1)
    z = every(2, 2)
    truth, chances = exact(logits, losses)
    tuples = torch.tensor(list(product(range(4), repeat=3))).T
    moving = logits.expand(64, 2, 2).clone().requires_grad_()
    told = LeaveOneOut(3).objective(losses[tuples], Choice(z[tuples], moving))
    each = torch.autograd.grad(told.sum(), moving)[0]
    weights = chances[tuples].prod(0)
    torch.testing.assert_close(torch.einsum("z,znk->nk", weights, each), truth)


def test_leave_one_out_does_not_see_a_constant():
    logits, losses = drawn(2, 2).requires_grad_(), drawn(3, seed=1)
    choice = LeaveOneOut(3)(logits, torch.Generator().manual_seed(0))
    found = [
        torch.autograd.grad(LeaveOneOut(3).objective(losses + level, choice), logits)[0]
        for level in (0.0, 5.0)
    ]
    torch.testing.assert_close(*found)
    assert found[0].abs().max() > 0


def test_score_functions_keep_what_the_loss_has_of_gradients():
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    logits = drawn(3, 2).requires_grad_()
    for estimator in (Reinforce(1.0), LeaveOneOut()):
        choice = estimator(logits, torch.Generator().manual_seed(0))
        losses = scale * choice.sample[..., 0]
        estimator.objective(losses, choice).sum().backward()
        assert scale.grad.item() == pytest.approx(choice.sample[..., 0].mean(0).sum().item())
        scale.grad = None


@pytest.mark.parametrize("estimator", [*PATHS, *DRAWN], ids=lambda each: type(each).__name__)
def test_choosing_can_be_vectorised(estimator):
    logits = drawn(3, 4, 2)
    noise = draw_gumbel(logits, estimator.draws, torch.Generator().manual_seed(0)).transpose(0, 1)
    at_once = vmap(lambda x, g: estimator.choose(x, g).sample)(logits, noise)
    for one, x, g in zip(at_once, logits, noise, strict=True):
        assert torch.equal(one, estimator.choose(x, g).sample)


def test_temperatures_fall_on_straight_lines_and_the_noise_ends():
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


def test_the_average_follows_each_row_of_losses():
    losses = torch.tensor([[1.0, 3.0], [0.0, 0.0]])
    after = follow_average(torch.tensor([1.0, 1.0]), losses, 0.9)
    torch.testing.assert_close(after, torch.tensor([1.1, 0.9]))


def test_the_balance_loss_is_one_if_spread_evenly_and_pulls_from_the_crowded():
    even = torch.eye(3).repeat(4, 1)
    assert balance_loss(even, torch.zeros(12, 3)).item() == pytest.approx(1.0)
    crowded = torch.zeros(12, 3).index_fill(1, torch.tensor([1]), 1.0)
    logits = torch.zeros(12, 3, requires_grad=True)
    loss = balance_loss(crowded, logits + 0.5 * crowded)
    loss.backward()
    assert loss.item() > 1.0
    assert (logits.grad[:, 1] > 0).all()
    assert (logits.grad[:, 0] < 0).all()
