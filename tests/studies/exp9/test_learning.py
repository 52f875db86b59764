import pytest
import torch

from journeylab.streams import Streams
from journeylab.studies.exp9_router_gradients import learning
from journeylab.studies.exp9_router_gradients.learning import (
    anchors,
    describe,
    estimator_at,
    flip_rate,
    report,
    train,
)
from journeylab.studies.exp9_router_gradients.separation import (
    attend,
    draw_sequences,
    losses,
    matched_accuracy,
    oracle,
    weights,
)
from journeylab.studies.exp9_router_gradients.settings import TRAINED, Computation

STREAMS = Streams("exp9", 1000)


def job(variant, **sizes):
    chosen = {"steps": 10, "short": 5, "starts": 2, "rows": 16, "test": 100, "sequences": 4}
    return Computation(computed="training", variant=variant, **chosen | sizes)


def measured(variant, **sizes):
    rows = list(report(variant, job(variant, **sizes), STREAMS))
    values = {(row["metric"], row.get("budget", row.get("share"))): row["value"] for row in rows}
    assert len(values) == len(rows)
    return values


def test_routers_learn_to_separate_types():
    metrics = measured("rloo", steps=150, short=15, rate=0.05, scale=0.5, rows=64, test=300)
    assert metrics["accuracy", "long"] > 0.8
    assert metrics["hard_mse", "long"] < metrics["hard_mse", "short"] - 0.05
    assert metrics["hard_mse", "long"] < metrics["single_mse", None] - 0.05
    assert metrics["hard_mse", "long"] == pytest.approx(metrics["oracle_mse", None], abs=0.02)
    assert metrics["validation_mse", 100] < metrics["validation_mse", 0]


@pytest.mark.parametrize("variant", TRAINED)
def test_every_estimator_moves_the_router(variant):
    trajectory = train(variant, job(variant), STREAMS, 3)
    assert trajectory.routers[3].isfinite().all()
    assert (trajectory.routers[3] != trajectory.routers[0]).all()


def test_estimators_rates_and_scales_share_their_starts():
    cells = ((0.01, 0.1), (1.0, 2.0))
    first, other = (train(v, job(v), STREAMS, 2, cells).routers for v in ("soft", "gumbel-1"))
    assert torch.equal(first[0], other[0])
    assert torch.equal(first[0][0], first[0][1])
    assert torch.equal(2.0 * first[0][0, 0], first[0][0, 1])
    assert not torch.equal(first[2][0], first[2][1])
    assert not torch.equal(first[0][0, 0, 0], first[0][0, 0, 1])


@pytest.mark.parametrize("variant", ["gumbel-0.5", "reinforce", "rloo"])
def test_a_setting_trains_as_it_does_alone(variant):
    many = train(variant, job(variant), STREAMS, 5, ((0.01, 0.1), (1.0, 2.0))).routers[5]
    alone = train(variant, job(variant, rate=0.1, scale=2.0), STREAMS, 5).routers[5]
    torch.testing.assert_close(many[1, 1], alone[0, 0])


def test_a_short_training_without_a_schedule_is_the_beginning_of_the_long_one():
    for variant, same in (("gumbel-1", True), ("annealing", False)):
        short = train(variant, job(variant), STREAMS, 5).routers[5]
        long = train(variant, job(variant), STREAMS, 10).routers[5]
        assert torch.equal(short, long) == same


def test_schedules_end_at_their_share_of_the_steps():
    scheduled = ("annealing-10", "annealing", "annealing-100", "three-phase", "annealing-noisy")
    silent = {
        variant: next(
            (s for s in range(1, 1002) if estimator_at(variant, s, 1000, 0.0).volume == 0.0), None
        )
        for variant in scheduled
    }
    assert silent["annealing-noisy"] is None
    assert silent["annealing-10"] == pytest.approx(90, abs=1)
    assert silent["annealing"] == pytest.approx(357, abs=1)
    assert silent["annealing-100"] == pytest.approx(890, abs=1)
    assert silent["three-phase"] == pytest.approx(851, abs=1)


def test_the_printed_average_includes_the_current_step(monkeypatch):
    """Before the first step the average is 0; after it, a hundredth of the mean loss."""
    baselines = []
    kept = learning.estimator_at

    def spy(variant, step, steps, baseline):
        baselines.append(torch.as_tensor(baseline).clone())
        return kept(variant, step, steps, baseline)

    monkeypatch.setattr(learning, "estimator_at", spy)
    train("reinforce-literal", job("reinforce-literal"), STREAMS, 1)
    train("reinforce", job("reinforce"), STREAMS, 1)
    before, after, correct = baselines
    assert (before == 0).all()
    assert (correct == 0).all()
    assert (after > 0).all()


def test_flips_are_counted_on_the_same_tokens():
    trajectory = train("straight-through", job("straight-through", rate=0.5), STREAMS, 5)
    still = train("straight-through", job("straight-through", rate=1e-9), STREAMS, 5)
    assert trajectory.flips[5].min() > 0
    assert still.flips[5].max() == 0
    inputs = draw_sequences(10, 12, torch.Generator().manual_seed(0)).inputs
    one, other = torch.eye(3), torch.eye(3).roll(1, 1)
    assert float(flip_rate([one, other, other], inputs)) == 0.5


def test_a_router_with_an_empty_timeline_has_collapsed():
    test = draw_sequences(50, 12, torch.Generator().manual_seed(0))
    good = 20.0 * torch.eye(3)
    collapsed = torch.zeros(3, 3)
    collapsed[:, 0] = 5.0
    metrics = describe(torch.stack((good, collapsed)), test)
    assert metrics["collapse"] == 0.5
    apart = [describe(torch.stack((each, each)), test) for each in (good, collapsed)]
    assert apart[0]["accuracy"] == pytest.approx(0.87, abs=0.04)
    for name in ("hard_mse", "accuracy", "sparsity", "soft_hard_gap"):
        mean = (apart[0][name] + apart[1][name]) / 2
        assert metrics[name] == pytest.approx(mean, abs=1e-6)
    single = describe(torch.stack((collapsed, collapsed)), test)
    assert single["spread"] == 0.0


def test_errors_of_untrained_routers_are_ordered():
    test = draw_sequences(300, 12, torch.Generator().manual_seed(0))
    metrics = anchors(test, STREAMS)
    assert metrics["types_mse"] < 1e-12 < metrics["oracle_mse"] < metrics["single_mse"]
    assert metrics["types_sparsity"] == pytest.approx(1 / 3 + 2 / 3 / 12, abs=0.01)
    single = torch.zeros(300, 12, 3)
    single[..., 2] = 1.0
    assert metrics["single_mse"] == pytest.approx(float(losses(single, test).mean()))


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
