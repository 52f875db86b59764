"""Dropout masks keep their rate and belong to their stream."""

import pytest
import torch

from journeylab.operators.dropout import draw_masks


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("rate", [0.001, 0.05, 0.2, 0.5, 0.9])
def test_rate_and_mean(rate: float) -> None:
    masks = draw_masks((10, 1000, 101), rate, generator(0))
    assert masks.shape == (10, 1000, 101)
    assert (masks == 0).float().mean().item() == pytest.approx(rate, abs=0.002)
    assert masks.unique().numel() == 2
    assert masks.max().item() == pytest.approx(1 / (1 - rate), rel=1e-3)


def test_no_dropout_draws_nothing() -> None:
    stream = generator(0)
    before = stream.get_state()
    assert torch.equal(draw_masks((3, 4), 0.0, stream), torch.ones(3, 4))
    assert torch.equal(stream.get_state(), before)


def test_masks_are_reproducible_and_move_on() -> None:
    first, again = generator(1), generator(1)
    masks = draw_masks((5, 64), 0.3, first)
    assert torch.equal(masks, draw_masks((5, 64), 0.3, again))
    assert not torch.equal(masks, draw_masks((5, 64), 0.3, first))
    assert not torch.equal(masks, draw_masks((5, 64), 0.3, generator(2)))


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_rate_outside_its_range_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="lies in"):
        draw_masks((2,), rate, generator(0))
