"""Chains, scans and state spaces equal their loops: values, gradients, batched, under `vmap`."""

from functools import partial

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from journeylab.operators import naive, ssm
from journeylab.operators.chain import chain_states
from journeylab.operators.orthogonal import cayley, exponential
from journeylab.operators.scan import affine_states, prefix_products

from ..tensors import assert_batched_equal, assert_equal, draw, generator

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


def draw_words(seed, letters, length, strings, dtype=torch.uint8):
    return torch.randint(letters, (length, strings), generator=generator(seed)).to(dtype)


@pytest.mark.parametrize("with_inputs", [False, True])
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    letters=st.integers(1, 4),
    length=st.integers(1, 12),
    strings=st.integers(1, 5),
    width=st.integers(1, 6),
)
def test_values_and_gradients_equal_the_loop(with_inputs, seed, letters, length, strings, width):
    # Letter number `letters` is beyond the alphabet and therefore padding.
    words = draw_words(seed, letters + 1, length, strings)
    chain = [draw(seed, letters, width, width), draw(seed + 1, width), words]
    chain += [draw(seed + 2, letters, width)] if with_inputs else []
    assert_equal(chain_states, naive.chain_states, chain)


@pytest.mark.parametrize("with_inputs", [False, True])
@pytest.mark.parametrize("dimension", [0, 1])
def test_vmap_over_letters_equals_each_chain(with_inputs, dimension):
    operators, start, inputs = draw(0, 3, 2, 4, 4), draw(1, 4), draw(2, 3, 2, 4)
    words = torch.stack([draw_words(seed, 2, 7, 5) for seed in range(3)])
    chains = [operators.movedim(0, dimension), start, words, inputs][: 3 + with_inputs]
    dimensions = [dimension, None, 0, 0][: 3 + with_inputs]
    assert_batched_equal(chain_states, naive.chain_states, chains, dimensions)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_letters_may_have_any_integer_dtype(dtype):
    words = draw_words(0, 3, 6, 4)
    operators, start = draw(0, 3, 2, 2), draw(1, 2)
    expected = chain_states(operators, start, words)
    torch.testing.assert_close(chain_states(operators, start, words.to(dtype)), expected)


def test_mismatched_letters_raise_value_error():
    words = draw_words(0, 2, 3, 1)
    with pytest.raises(ValueError, match="2 rows, 3 columns"):
        chain_states(torch.zeros(2, 2, 3), torch.zeros(3), words)
    with pytest.raises(ValueError, match="width 3, the state 2"):
        chain_states(torch.zeros(2, 3, 3), torch.zeros(2), words)
    with pytest.raises(ValueError, match="2 letters of width 3"):
        chain_states(torch.zeros(2, 3, 3), torch.zeros(3), words, torch.zeros(3, 3))


METHODS = [ssm.recurrent, ssm.parallel, ssm.scan]


def case(seed, length, width=4, batch=()):
    operator, _ = torch.linalg.qr(draw(seed, *batch, width, width))
    return operator.requires_grad_(), draw(seed + 1, *batch, length, width).requires_grad_()


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), length=st.integers(1, 17), width=st.sampled_from([1, 2, 4]))
def test_methods_equal_the_definition_in_values_and_gradients(method, seed, length, width):
    # with length 1 no state depends on the operator, whose gradient is then 0
    assert_equal(method, ssm.naive, case(seed, length, width))


@pytest.mark.parametrize("method", METHODS)
def test_batch_equals_each_sequence(method):
    operator, inputs = case(0, 9, batch=(3,))
    one_by_one = [method(o, x) for o, x in zip(operator, inputs, strict=True)]
    torch.testing.assert_close(method(operator, inputs), torch.stack(one_by_one))


@settings(max_examples=20)
@given(count=st.integers(1, 20))
def test_powers_equal_repeated_products(count):
    operator, _ = case(2, 1)
    power = torch.eye(4, dtype=torch.float64)
    for actual in ssm.powers(operator, count):
        torch.testing.assert_close(actual, power)
        power = power @ operator


@pytest.mark.parametrize("method", [*METHODS, ssm.naive])
def test_mismatched_inputs_raise_value_error(method):
    with pytest.raises(ValueError, match="width 4, the inputs 3"):
        method(torch.eye(4), torch.zeros(5, 3))
    with pytest.raises(ValueError, match="2 rows, 3 columns"):
        method(torch.zeros(2, 3), torch.zeros(5, 3))
