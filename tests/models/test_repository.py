"""Reading beside a repository equals one pass over entries and text under a mask."""

import pytest
import torch

from journeylab.models.attention import causal_mask
from journeylab.models.repository import Repository, read_beside, store
from journeylab.models.transformer import Rows, Transformer
from journeylab.operators.dropout import Dropout, draw_masks
from journeylab.operators.rotary import rotary_angles, standard_frequencies

WIDTH, LENGTH, ENTRY, ENTRIES, ROWS = 16, 6, 3, 5, 2


@pytest.fixture(params=["softmax", "softplus"])
def model(request):
    generator = torch.Generator().manual_seed(0)
    transformer = Transformer(
        30, width=WIDTH, transport=True, weighting=request.param, generator=generator
    )
    return transformer.double()


def rows(count, length, start=0, mask=None):
    generator = torch.Generator().manual_seed(start)
    tokens = torch.randint(30, (count, length), generator=generator)
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


def test_reading_beside_a_repository_equals_one_masked_pass(model):
    entries, text = rows(ENTRIES, ENTRY, 7), rows(ROWS, LENGTH, mask=causal_mask(LENGTH))
    present = torch.ones(ENTRIES, ENTRY, dtype=torch.bool)
    present[1, 2] = present[3, 2] = False
    beside = read_beside(model, text, store(model, entries, present=present))
    torch.testing.assert_close(beside, read_in_one_pass(model, entries, text, present))


def test_rows_without_a_mask_attend_to_all_their_tokens(model):
    text = rows(ROWS, LENGTH)
    everything = text._replace(mask=torch.ones(1, LENGTH, LENGTH, dtype=torch.bool))
    stored = store(model, rows(ENTRIES, ENTRY, 7))
    torch.testing.assert_close(
        read_beside(model, text, stored), read_beside(model, everything, stored)
    )


def test_dropout_equals_that_of_the_transformer(model):
    text = rows(ROWS, LENGTH, mask=causal_mask(LENGTH))
    empty = (torch.zeros(0, WIDTH, dtype=torch.float64),) * 2
    masks = draw_masks((5, ROWS * LENGTH, WIDTH), 0.3, torch.tensor(5), torch.float64)
    beside = read_beside(model, text, Repository(empty, empty), masks)
    expected = model.hidden([text], Dropout(0.3, torch.tensor(5)))
    torch.testing.assert_close(beside.flatten(0, 1), expected)


def test_gradient_reaches_stored_values(model):
    entries = rows(ENTRIES, ENTRY, 7)
    stored = store(model, entries)
    text = rows(ROWS, LENGTH, mask=causal_mask(LENGTH))
    [gradient] = torch.autograd.grad(read_beside(model, text, stored).sum(), [stored.values[1]])
    assert gradient.abs().max() > 0
    assert stored.numbers == 2 * 2 * ENTRIES * ENTRY * WIDTH
