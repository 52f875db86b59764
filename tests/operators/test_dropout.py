"""Dropout masks have the given rate, and depend only on their key."""

import pytest
import torch

from journeylab.operators.dropout import GOLDEN, _finalise, draw_key, draw_masks


def key(number: int) -> torch.Tensor:
    return draw_key(torch.Generator().manual_seed(number))


@pytest.mark.parametrize("rate", [0.001, 0.05, 0.2, 0.5, 0.9])
def test_masks_have_the_given_rate_and_two_values(rate: float) -> None:
    masks = draw_masks((10, 1000, 101), rate, key(0))
    assert masks.shape == (10, 1000, 101)
    assert (masks == 0).float().mean().item() == pytest.approx(rate, abs=0.002)
    assert masks.unique().numel() == 2
    assert masks.max().item() == pytest.approx(1 / (1 - rate), rel=1e-3)


def test_words_equal_published_splitmix64_outputs() -> None:
    # The first outputs of the published generator for seed 1234567.
    words = torch.arange(1, 6).mul_(GOLDEN).add_(1234567)
    unsigned = [word % (1 << 64) for word in _finalise(words).tolist()]
    assert unsigned == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("number", range(3))
def test_masks_of_neighbours_and_keys_are_uncorrelated(number: int) -> None:
    # The correlation of n signs is N(0, 1/n), and exceeds 5 standard deviations with chance 1e-6.
    count = 1 << 18
    first = draw_masks((count,), 0.5, key(number)) - 1.0
    others = [draw_masks((count,), 0.5, key(number) + step) - 1.0 for step in (1, 2, 1 << 40)]
    shifted = [first.roll(step) for step in (1, 2, 3, 4, 8, 64)]
    for other in others + shifted:
        assert abs((first * other).mean().item()) < 5 / count**0.5


def test_every_lane_has_the_given_rate() -> None:
    count = 1 << 18
    dropped = (draw_masks((count,), 0.25, key(3)) == 0).float().view(-1, 4).mean(0)
    deviation = (0.25 * 0.75 / (count / 4)) ** 0.5
    assert (dropped - 0.25).abs().max().item() < 5 * deviation


def test_short_masks_have_the_given_rate_at_every_position() -> None:
    keys, width = torch.arange(20_000), 6
    masks = torch.func.vmap(lambda key: draw_masks((width,), 0.3, key))(keys)
    deviation = (0.3 * 0.7 / len(keys)) ** 0.5
    assert ((masks == 0).double().mean(0) - 0.3).abs().max().item() < 5 * deviation


def test_gaps_between_dropped_elements_are_geometric() -> None:
    rate, count = 0.05, 1 << 20
    dropped = (draw_masks((count,), rate, key(4)) == 0).nonzero().flatten()
    distances = dropped.diff()
    for least in (2, 5, 20, 60, 200):
        share, expected = (distances >= least).double().mean().item(), (1 - rate) ** (least - 1)
        deviation = (expected * (1 - expected) / len(distances)) ** 0.5
        assert abs(share - expected) < 5 * deviation


def test_no_element_is_kept_because_too_few_gaps_were_drawn() -> None:
    """Whatever their gaps, a mask's last elements are dropped at the given rate."""
    keys, width, last = torch.arange(2_000), 4096, 64
    masks = torch.func.vmap(lambda key: draw_masks((width,), 0.5, key)[-last:])(keys)
    deviation = (0.5 * 0.5 / masks.numel()) ** 0.5
    assert abs((masks == 0).double().mean().item() - 0.5) < 5 * deviation


def test_rate_zero_gives_ones() -> None:
    assert torch.equal(draw_masks((3, 4), 0.0, key(0)), torch.ones(3, 4))


def test_same_key_same_masks() -> None:
    masks = draw_masks((5, 64), 0.3, key(1))
    assert torch.equal(masks, draw_masks((5, 64), 0.3, key(1)))
    assert not torch.equal(masks, draw_masks((5, 64), 0.3, key(2)))
    stream = torch.Generator().manual_seed(1)
    assert draw_key(stream) != draw_key(stream)


def test_vmap_over_keys_equals_each_key() -> None:
    keys = torch.stack([key(number) for number in range(3)])
    batched = torch.func.vmap(lambda key: draw_masks((5, 7), 0.3, key))(keys)
    one_by_one = torch.stack([draw_masks((5, 7), 0.3, key) for key in keys])
    assert torch.equal(batched, one_by_one)


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_rate_outside_its_range_raises_value_error(rate: float) -> None:
    with pytest.raises(ValueError, match="outside"):
        draw_masks((2,), rate, key(0))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_draws_the_same_bits() -> None:
    masks = draw_masks((5, 64), 0.3, key(1).cuda())
    assert torch.equal(masks.cpu(), draw_masks((5, 64), 0.3, key(1)))
