"""Every method of the linear recurrence equals its definition."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from journeylab.operators import ssm

from ..tensors import assert_equal, draw

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
def test_mismatched_sizes_raise_value_error(method):
    with pytest.raises(ValueError, match="width 4, the inputs 3"):
        method(torch.eye(4), torch.zeros(5, 3))
    with pytest.raises(ValueError, match="2 rows, 3 columns"):
        method(torch.zeros(2, 3), torch.zeros(5, 3))
