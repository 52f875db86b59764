"""Stored keys and values equal recomputed ones: in caches, in decoded text, in a repository."""

import pytest
import torch

from journeylab.models.attention import causal_mask
from journeylab.models.decoding import bake, decode_greedily
from journeylab.models.repository import Repository, read_beside, store
from journeylab.models.transformer import Rows, Transformer
from journeylab.operators.dropout import Dropout, draw_masks
from journeylab.operators.journey import accumulate
from journeylab.operators.rotary import rotary_angles, standard_frequencies

VOCABULARY, WIDTH = 11, 16
TABLE = torch.randn(VOCABULARY, WIDTH // 2, generator=torch.Generator().manual_seed(5))


def rope(tokens: torch.Tensor) -> torch.Tensor:
    return rotary_angles(torch.arange(tokens.shape[1]), standard_frequencies(WIDTH))[None]


def journey(tokens: torch.Tensor) -> torch.Tensor:
    return accumulate(TABLE[tokens])


@pytest.fixture(params=["softmax", "softplus"])
def model(request: pytest.FixtureRequest) -> Transformer:
    generator = torch.Generator().manual_seed(0)
    model = Transformer(
        VOCABULARY, width=WIDTH, transport=True, weighting=request.param, generator=generator
    )
    with torch.no_grad():
        model.head.weight.mul_(50)
    return model.eval()


def draw(rows: int, length: int) -> torch.Tensor:
    return torch.randint(VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("angles", [rope, journey])
def test_baked_keys_equal_recomputed_keys(model: Transformer, angles) -> None:
    tokens = draw(3, 12)
    whole = angles(tokens)
    hidden, recomputed = bake(model, Rows(tokens, whole))
    cache = None
    parts = []
    for start, stop in ((0, 5), (5, 6), (6, 12)):
        part, cache = bake(model, Rows(tokens[:, start:stop], whole[:, start:stop]), cache)
        parts.append(part)
    torch.testing.assert_close(torch.cat(parts, 1), hidden, rtol=1e-4, atol=1e-5)
    kept, fresh = (*cache.keys, *cache.values), (*recomputed.keys, *recomputed.values)
    torch.testing.assert_close(kept, fresh, rtol=1e-4, atol=1e-5)
    plain = model.hidden([Rows(tokens, whole, causal_mask(12))]).view(3, 12, -1)
    torch.testing.assert_close(hidden, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("angles", [rope, journey])
def test_cached_decoding_equals_uncached_decoding(model: Transformer, angles) -> None:
    prompts = draw(4, 6)
    cached = decode_greedily(model, prompts, 8, angles)
    assert torch.equal(cached, decode_greedily(model, prompts, 8, angles, cached=False))
    assert cached.shape == (4, 8)


def test_invalid_rows_raise_value_error(model: Transformer) -> None:
    tokens = draw(3, 4)
    with pytest.raises(ValueError, match="takes no mask"):
        bake(model, Rows(tokens, rope(tokens), causal_mask(4)))
    _, cache = bake(model, Rows(tokens[:2], rope(tokens)))
    with pytest.raises(ValueError, match="3 rows is not a multiple of 2"):
        bake(model, Rows(tokens, rope(tokens)), cache)


LENGTH, ENTRY, ENTRIES, ROWS = 6, 3, 5, 2


@pytest.fixture
def double(model):
    return model.double()


def rows(count, length, start=0, mask=None):
    generator = torch.Generator().manual_seed(start)
    tokens = torch.randint(VOCABULARY, (count, length), generator=generator)
    positions = torch.arange(start, start + length)
    angles = rotary_angles(positions, standard_frequencies(WIDTH).double())[None]
    return Rows(tokens, angles, mask)


def read_in_one_pass(model, entries, text, present):
    """Hidden states of one pass over rows of all entries, then the text, with a mask."""
    stored, length = entries.tokens.numel(), text.tokens.shape[1]
    tokens = torch.cat((entries.tokens.view(1, -1).expand(len(text.tokens), -1), text.tokens), 1)
    angles = torch.cat((entries.angles.repeat(1, ENTRIES, 1), text.angles), 1)
    mask = torch.zeros(1, stored + length, stored + length, dtype=torch.bool)
    for first in range(0, stored, ENTRY):
        mask[:, first : first + ENTRY, first : first + ENTRY] = True
    mask[:, stored:, :stored] = present.flatten()
    mask[:, stored:, stored:] = causal_mask(length)
    hidden = model.hidden([Rows(tokens, angles, mask)])
    return hidden.view(len(text.tokens), stored + length, -1)[:, stored:]


def test_reading_beside_a_repository_equals_one_masked_pass(double):
    entries, text = rows(ENTRIES, ENTRY, 7), rows(ROWS, LENGTH, mask=causal_mask(LENGTH))
    present = torch.ones(ENTRIES, ENTRY, dtype=torch.bool)
    present[1, 2] = present[3, 2] = False
    beside = read_beside(double, text, store(double, entries, present=present))
    torch.testing.assert_close(beside, read_in_one_pass(double, entries, text, present))


def test_rows_without_a_mask_attend_to_all_their_tokens(double):
    text = rows(ROWS, LENGTH)
    everything = text._replace(mask=torch.ones(1, LENGTH, LENGTH, dtype=torch.bool))
    stored = store(double, rows(ENTRIES, ENTRY, 7))
    torch.testing.assert_close(
        read_beside(double, text, stored), read_beside(double, everything, stored)
    )


def test_dropout_equals_that_of_the_transformer(double):
    text = rows(ROWS, LENGTH, mask=causal_mask(LENGTH))
    empty = (torch.zeros(0, WIDTH, dtype=torch.float64),) * 2
    masks = draw_masks((5, ROWS * LENGTH, WIDTH), 0.3, torch.tensor(5), torch.float64)
    beside = read_beside(double, text, Repository(empty, empty), masks)
    expected = double.hidden([text], Dropout(0.3, torch.tensor(5)))
    torch.testing.assert_close(beside.flatten(0, 1), expected)


def test_gradient_reaches_stored_values(double):
    entries = rows(ENTRIES, ENTRY, 7)
    stored = store(double, entries)
    text = rows(ROWS, LENGTH, mask=causal_mask(LENGTH))
    [gradient] = torch.autograd.grad(read_beside(double, text, stored).sum(), [stored.values[1]])
    assert gradient.abs().max() > 0
    assert stored.numbers == 2 * 2 * ENTRIES * ENTRY * WIDTH
