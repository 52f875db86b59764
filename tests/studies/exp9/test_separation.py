import pytest
import torch

from journeylab.studies.exp9_router_gradients.separation import (
    attend,
    draw_sequences,
    losses,
    matched_accuracy,
    oracle,
    weights,
)

EYE = torch.eye(3, dtype=torch.float64)


def sequences(rows=5, n=7, dtype=torch.float64):
    return draw_sequences(rows, n, torch.Generator().manual_seed(0), dtype)


def test_targets_are_causal_means_of_the_same_type():
    data = sequences()
    for row in range(5):
        for i in range(7):
            same = data.types[row, : i + 1] == data.types[row, i]
            expected = data.values[row, : i + 1][same].mean()
            assert data.targets[row, i].item() == pytest.approx(expected.item())


def test_hard_attention_is_the_mean_within_a_timeline_whatever_its_name():
    data = sequences()
    for names in ([0, 1, 2], [2, 0, 1]):
        route = EYE[torch.tensor(names)[data.types]]
        assert losses(route, data).max() < 1e-20
    single = EYE[torch.zeros_like(data.types)]
    means = data.values.cumsum(-1) / torch.arange(1, 8)
    torch.testing.assert_close(attend(single, data.values), means)


def test_attention_is_its_weights_times_values():
    data = sequences()
    for route in (data.inputs.softmax(-1), oracle(data)):
        mixed = (weights(route) @ data.values[..., None])[..., 0]
        torch.testing.assert_close(mixed, attend(route, data.values))
        torch.testing.assert_close(weights(route).sum(-1), torch.ones(5, 7).double())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_empty_timeline_holds_zero_and_has_finite_gradients(dtype):
    data = sequences(dtype=dtype)
    route = torch.eye(3, dtype=dtype)[torch.zeros_like(data.types)].requires_grad_()
    [slopes] = torch.autograd.grad(losses(route, data).sum(), route)
    assert slopes.isfinite().all()
    assert (slopes[..., 1:] == 0).all()
    assert slopes[..., 0].abs().max() > 0


def test_sequences_are_the_same_in_both_precisions():
    single, double = sequences(dtype=torch.float32), sequences()
    assert torch.equal(single.inputs, double.inputs.float())
    assert torch.equal(single.types, double.types)


def test_accuracy_is_under_the_best_naming():
    types = torch.tensor([[0, 0, 1, 1, 2, 2]])
    route = EYE[torch.tensor([[2, 2, 0, 0, 1, 0]])]
    assert matched_accuracy(route, types) == pytest.approx(5 / 6)
