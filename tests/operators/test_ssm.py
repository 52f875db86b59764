import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from journeylab.operators import ssm

FORMS = [ssm.recurrent, ssm.parallel, ssm.scan]


def case(seed, length, width=4, batch=()):
    generator = torch.Generator().manual_seed(seed)
    square = torch.randn(*batch, width, width, generator=generator, dtype=torch.float64)
    operator, _ = torch.linalg.qr(square)
    inputs = torch.randn(*batch, length, width, generator=generator, dtype=torch.float64)
    return operator.requires_grad_(), inputs.requires_grad_()


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), length=st.integers(1, 17), width=st.sampled_from([1, 2, 4]))
def test_every_form_is_the_definition_in_values_and_gradients(form, seed, length, width):
    operator, inputs = case(seed, length, width)
    weights = torch.randn(
        length, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    expected, found = ssm.naive(operator, inputs), form(operator, inputs)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-10)
    slopes = [
        torch.autograd.grad((states * weights).sum(), (operator, inputs), allow_unused=True)
        for states in (expected, found)
    ]
    for fast, slow in zip(*slopes, strict=True):
        zero = torch.zeros(())
        fast, slow = (zero if x is None or length == 1 else x for x in (fast, slow))
        torch.testing.assert_close(fast, slow, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_is_its_members(form):
    operator, inputs = case(0, 9, batch=(3,))
    alone = [form(o, x) for o, x in zip(operator, inputs, strict=True)]
    torch.testing.assert_close(form(operator, inputs), torch.stack(alone))


@pytest.mark.parametrize("form", FORMS)
def test_states_are_causal(form):
    operator, inputs = case(1, 12)
    changed = inputs.detach().clone()
    changed[7:] = 5.0
    torch.testing.assert_close(form(operator, inputs)[:7], form(operator, changed)[:7])


@settings(max_examples=20, deadline=None)
@given(count=st.integers(1, 20))
def test_powers_are_repeated_products(count):
    operator, _ = case(2, 1)
    power = torch.eye(4, dtype=torch.float64)
    for found in ssm.powers(operator, count):
        torch.testing.assert_close(found, power)
        power = power @ operator


@pytest.mark.parametrize("form", [*FORMS, ssm.naive])
def test_sizes_that_do_not_fit_are_told(form):
    with pytest.raises(ValueError, match="width 4, the inputs 3"):
        form(torch.eye(4), torch.zeros(5, 3))
    with pytest.raises(ValueError, match="2 rows, 3 columns"):
        form(torch.zeros(2, 3), torch.zeros(5, 3))
