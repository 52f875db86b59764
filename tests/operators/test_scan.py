"""Every method is the loop: values, gradients, batched or not, alone or under vmap."""

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from journeylab.operators.orthogonal import cayley, exponential
from journeylab.operators.scan import affine_states, prefix_products

FAST = ["scan", "orthogonal"]
LENGTHS = [1, 2, 3, 8, 15, 16, 17, 64, 129, 1000, 1024]


def draw(seed, *shape):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def turns(seed, *shape):
    operators, _ = torch.linalg.qr(draw(seed, *shape, shape[-1]))
    return operators.contiguous()


def slopes(function, inputs, weights):
    leaves = [x.detach().requires_grad_() for x in inputs]
    values = function(*leaves)
    loss = (values * weights).sum()
    return values, *torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)


def assert_equal(function, method, inputs, weights):
    found, expected = (
        slopes(lambda *x, m=m: function(*x, m), inputs, weights) for m in (method, "loop")
    )
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", FAST)
@settings(max_examples=40, deadline=None)
@example(seed=0, length=1024, width=16, batch=())
@example(seed=0, length=1, width=2, batch=(3,))
@given(
    seed=st.integers(0, 10_000),
    length=st.integers(1, 150) | st.sampled_from(LENGTHS),
    width=st.integers(2, 16),
    batch=st.sampled_from([(), (1,), (3,), (2, 2), (0,)]),
)
def test_orthogonal_operators_in_values_and_gradients(method, seed, length, width, batch):
    operators = turns(seed, *batch, length, width)
    vectors = draw(seed + 1, *batch, length, width)
    weights = draw(seed + 2, *operators.shape)
    assert_equal(prefix_products, method, [operators], weights)
    assert_equal(affine_states, method, [operators, vectors], weights[..., 0])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    length=st.integers(1, 70) | st.sampled_from(LENGTHS),
    width=st.integers(1, 16),
    batch=st.sampled_from([(), (3,), (2, 2)]),
)
def test_the_scan_takes_any_operators(seed, length, width, batch):
    # Singular and contracting, so that neither an inverse nor overflow can enter.
    operators = 0.7 * turns(seed, *batch, length, width)
    operators[..., 0] = 0.0
    vectors = draw(seed + 1, *batch, length, width)
    weights = draw(seed + 2, *operators.shape)
    assert_equal(prefix_products, "scan", [operators], weights)
    assert_equal(affine_states, "scan", [operators, vectors], weights[..., 0])


@pytest.mark.parametrize("length", [1, 2, 7, 20])
def test_the_loop_is_the_definition(length):
    operators, vectors = draw(0, length, 3, 3), draw(1, length, 3)
    products, states = prefix_products(operators, "loop"), affine_states(operators, vectors, "loop")
    product, state = torch.eye(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    for t in range(length):
        product, state = operators[t] @ product, operators[t] @ state + vectors[t]
        torch.testing.assert_close(products[t], product)
        torch.testing.assert_close(states[t], state)


@pytest.mark.parametrize("method", FAST)
@pytest.mark.parametrize("length", [1, 5, 20])
def test_derivatives_agree_with_finite_differences_to_second_order(method, length):
    squares, vectors = 0.5 * draw(0, length, 2, 2), draw(1, length, 2)

    def products(free):
        return prefix_products(exponential(free), method)

    def states(free, added):
        return affine_states(exponential(free), added, method)

    squares.requires_grad_()
    vectors.requires_grad_()
    torch.autograd.gradcheck(products, squares)
    torch.autograd.gradcheck(states, (squares, vectors))
    torch.autograd.gradgradcheck(products, squares)
    torch.autograd.gradgradcheck(states, (squares, vectors))


@pytest.mark.parametrize("method", FAST)
@pytest.mark.parametrize("dimension", [0, 1])
def test_chains_under_vmap_are_chains_alone(method, dimension):
    operators, vectors = turns(0, 3, 2, 21, 4), draw(1, 3, 2, 21, 4)
    moved = operators.movedim(0, dimension).detach().requires_grad_()
    batched = torch.func.vmap(prefix_products, in_dims=(dimension, None))(moved, method)
    torch.testing.assert_close(batched, prefix_products(operators, "loop"))

    shared = vectors[0].clone().requires_grad_()
    states = torch.func.vmap(affine_states, in_dims=(dimension, None, None))(moved, shared, method)
    torch.testing.assert_close(states, affine_states(operators, vectors[:1], "loop"))

    weights = draw(2, *states.shape)
    leaf = operators.clone().requires_grad_()
    alone = affine_states(leaf, shared, "loop")
    found = torch.autograd.grad((states * weights).sum(), (moved, shared))
    expected = torch.autograd.grad((alone * weights).sum(), (leaf, shared))
    torch.testing.assert_close(found[0].movedim(dimension, 0), expected[0])
    torch.testing.assert_close(found[1], expected[1])


@pytest.mark.parametrize("method", FAST)
def test_gradients_per_chain_by_vmap_of_grad(method):
    operators, vectors = turns(0, 3, 21, 4), draw(1, 3, 21, 4)

    def loss(operators, vectors, method):
        states = affine_states(operators, vectors, method)
        return prefix_products(operators, method).sin().sum() + states.square().sum()

    slope = torch.func.grad(loss, argnums=(0, 1))
    found = torch.func.vmap(slope, in_dims=(0, 0, None))(operators, vectors, method)
    for i in range(3):
        expected = slope(operators[i], vectors[i], "loop")
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours[i], theirs)


@pytest.mark.parametrize("method", FAST)
def test_operators_of_any_layout(method):
    operators = turns(0, 40, 5, 6).mT.transpose(0, 1)
    weights = torch.ones(()).double().expand(operators.shape)
    assert_equal(prefix_products, method, [operators], weights)


@pytest.mark.parametrize("method", FAST)
def test_single_precision_keeps_its_digits_over_long_chains(method):
    operators = turns(0, 1024, 8)
    products = prefix_products(operators.float(), method)
    torch.testing.assert_close(
        products.double(), prefix_products(operators, "loop"), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("method", [*FAST, "loop"])
def test_a_shared_operator_broadcasts(method):
    operators, vectors = cayley(draw(0, 9, 4, 4)), draw(1, 3, 9, 4)
    states = affine_states(operators, vectors, method)
    alone = [affine_states(operators, x, method) for x in vectors]
    torch.testing.assert_close(states, torch.stack(alone))


@pytest.mark.parametrize("method", [*FAST, "loop"])
def test_the_past_ignores_the_future(method):
    operators, vectors = turns(0, 50, 4), draw(1, 50, 4)
    changed = operators.clone()
    changed[37:] = torch.eye(4)
    torch.testing.assert_close(
        prefix_products(changed, method)[:37], prefix_products(operators, method)[:37]
    )
    torch.testing.assert_close(
        affine_states(changed, vectors, method)[:37], affine_states(operators, vectors, method)[:37]
    )


@pytest.mark.parametrize("method", [*FAST, "loop"])
def test_sizes_that_do_not_fit_are_told(method):
    with pytest.raises(ValueError, match="2 rows, 3 columns"):
        prefix_products(torch.zeros(5, 2, 3), method)
    with pytest.raises(ValueError, match="at least one operator"):
        prefix_products(torch.zeros(0, 3, 3), method)
    with pytest.raises(ValueError, match="2 rows, 3 columns"):
        affine_states(torch.zeros(5, 2, 3), torch.zeros(5, 3), method)
    with pytest.raises(ValueError, match="width 3, the inputs 4"):
        affine_states(torch.zeros(5, 3, 3), torch.zeros(5, 4), method)
