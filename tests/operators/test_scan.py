"""Every method equals the loop in values and gradients, batched or not, and under `vmap`."""

from functools import partial

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from journeylab.operators.orthogonal import cayley, exponential
from journeylab.operators.scan import affine_states, prefix_products

from ..tensors import assert_batched_equal, assert_equal, draw

FAST = ["scan", "orthogonal"]
LENGTHS = [1, 2, 3, 8, 15, 16, 17, 64, 129, 1000, 1024]


def random_orthogonal(seed, *shape):
    operators, _ = torch.linalg.qr(draw(seed, *shape, shape[-1]))
    return operators.contiguous()


def assert_equals_the_loop(function, method, inputs, weights=None):
    ways = (lambda *x, by=by: function(*x, by) for by in (method, "loop"))
    assert_equal(*ways, inputs, weights=weights)


@pytest.mark.parametrize("method", FAST)
@settings(max_examples=40)
@example(seed=0, length=1024, width=16, batch=())
@example(seed=0, length=1, width=2, batch=(3,))
@given(
    seed=st.integers(0, 10_000),
    length=st.integers(1, 150) | st.sampled_from(LENGTHS),
    width=st.integers(2, 16),
    batch=st.sampled_from([(), (1,), (3,), (2, 2), (0,)]),
)
def test_methods_equal_the_loop_for_orthogonal_operators(method, seed, length, width, batch):
    operators = random_orthogonal(seed, *batch, length, width)
    vectors = draw(seed + 1, *batch, length, width)
    assert_equals_the_loop(prefix_products, method, [operators])
    assert_equals_the_loop(affine_states, method, [operators, vectors])


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    length=st.integers(1, 70) | st.sampled_from(LENGTHS),
    width=st.integers(1, 16),
    batch=st.sampled_from([(), (3,), (2, 2)]),
)
def test_scan_equals_the_loop_for_any_operators(seed, length, width, batch):
    # Singular, so that no method can use an inverse; contracting, so that nothing overflows.
    operators = 0.7 * random_orthogonal(seed, *batch, length, width)
    operators[..., 0] = 0.0
    vectors = draw(seed + 1, *batch, length, width)
    assert_equals_the_loop(prefix_products, "scan", [operators])
    assert_equals_the_loop(affine_states, "scan", [operators, vectors])


@pytest.mark.parametrize("length", [1, 2, 7, 20])
def test_loop_equals_the_definition(length):
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
def test_vmap_over_chains_equals_each_chain(method, dimension):
    operators = random_orthogonal(0, 3, 2, 21, 4).movedim(0, dimension)
    products, loop = (partial(prefix_products, method=name) for name in (method, "loop"))
    assert_batched_equal(products, loop, [operators], [dimension])
    states, loop = (partial(affine_states, method=name) for name in (method, "loop"))
    assert_batched_equal(states, loop, [operators, draw(1, 2, 21, 4)], [dimension, None])


@pytest.mark.parametrize("method", FAST)
def test_vmap_of_grad_equals_the_gradient_of_each_chain(method):
    operators, vectors = random_orthogonal(0, 3, 21, 4), draw(1, 3, 21, 4)

    def loss(operators, vectors, method):
        states = affine_states(operators, vectors, method)
        return prefix_products(operators, method).sin().sum() + states.square().sum()

    gradient = torch.func.grad(loss, argnums=(0, 1))
    batched = torch.func.vmap(gradient, in_dims=(0, 0, None))(operators, vectors, method)
    for i, found in enumerate(zip(*batched, strict=True)):
        torch.testing.assert_close(found, gradient(operators[i], vectors[i], "loop"))


@pytest.mark.parametrize("method", FAST)
def test_memory_layout_does_not_change_results(method):
    operators = random_orthogonal(0, 40, 5, 6).mT.transpose(0, 1)
    weights = torch.ones(()).double().expand(operators.shape)
    assert_equals_the_loop(prefix_products, method, [operators], weights)


@pytest.mark.parametrize("method", FAST)
def test_float32_stays_accurate_over_long_chains(method):
    operators = random_orthogonal(0, 1024, 8)
    products = prefix_products(operators.float(), method)
    torch.testing.assert_close(
        products.double(), prefix_products(operators, "loop"), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("method", [*FAST, "loop"])
def test_operators_broadcast_over_the_inputs_batch(method):
    operators, vectors = cayley(draw(0, 9, 4, 4)), draw(1, 3, 9, 4)
    states = affine_states(operators, vectors, method)
    one_by_one = [affine_states(operators, x, method) for x in vectors]
    torch.testing.assert_close(states, torch.stack(one_by_one))


@pytest.mark.parametrize("method", [*FAST, "loop"])
def test_mismatched_sizes_raise_value_error(method):
    with pytest.raises(ValueError, match="2 rows, 3 columns"):
        prefix_products(torch.zeros(5, 2, 3), method)
    with pytest.raises(ValueError, match="at least one operator"):
        prefix_products(torch.zeros(0, 3, 3), method)
    with pytest.raises(ValueError, match="2 rows, 3 columns"):
        affine_states(torch.zeros(5, 2, 3), torch.zeros(5, 3), method)
    with pytest.raises(ValueError, match="width 3, the inputs 4"):
        affine_states(torch.zeros(5, 3, 3), torch.zeros(5, 4), method)
