"""Chain states equal the loop over letters, with and without `vmap`."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from journeylab.operators import naive
from journeylab.operators.chain import chain_states

from ..tensors import assert_batched_equal, assert_equal, draw, generator


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
def test_vmap_over_chains_equals_each_chain(with_inputs, dimension):
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


def test_mismatched_sizes_raise_value_error():
    words = draw_words(0, 2, 3, 1)
    with pytest.raises(ValueError, match="2 rows, 3 columns"):
        chain_states(torch.zeros(2, 2, 3), torch.zeros(3), words)
    with pytest.raises(ValueError, match="width 3, the state 2"):
        chain_states(torch.zeros(2, 3, 3), torch.zeros(2), words)
    with pytest.raises(ValueError, match="2 letters of width 3"):
        chain_states(torch.zeros(2, 3, 3), torch.zeros(3), words, torch.zeros(3, 3))
