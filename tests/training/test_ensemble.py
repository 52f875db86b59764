"""Seeds trained at once equal seeds trained alone, and do not affect each other."""

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import nn

from journeylab.config import UserError
from journeylab.streams import Streams
from journeylab.training import (
    Execution,
    Trained,
    choose_execution,
    device_name,
    prepare_process,
    train,
    train_ensemble,
    train_seeds,
)
from journeylab.training.ensemble import Ensemble
from journeylab.training.loop import learn
from journeylab.training.parameters import Stack

from .problems import Interrupting, Reader, Repeating, StoppedError, settings
from .problems import assert_identical as assert_seed_identical

SEEDS = (5, 6, 11)
NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


class Shifted(Repeating):
    """A problem whose models have a buffer that differs between seeds."""

    def build(self, generator):
        model = super().build(generator)
        model.register_buffer("shift", torch.rand((), generator=generator))
        return model

    def loss(self, model, batch):
        return super().loss(model, batch) + (model.shift * model.angles).square().mean()


def together(
    checkpoint: Path, problems=None, seeds=SEEDS, device="cpu", processor="", **changes
) -> list[Trained]:
    problems = problems or [Repeating() for _ in seeds]
    streams = [Streams("exp0", seed) for seed in seeds]
    budget = settings(**changes)
    return train_ensemble(problems, budget, streams, checkpoint, device=device, processor=processor)


def alone(folder: Path, problem=Repeating, seeds=SEEDS, device="cpu", **changes) -> list[Trained]:
    return [
        train(
            problem(),
            settings(**changes),
            Streams("exp0", s),
            folder / f"{s}.checkpoint",
            device=device,
        )
        for s in seeds
    ]


def assert_agree(first: list[Trained], second: list[Trained], tolerance: float = 1e-4) -> None:
    for left, right in zip(first, second, strict=True):
        keys = ["step", "metric"]
        pd.testing.assert_frame_equal(left.curve[keys], right.curve[keys])
        assert (left.curve["value"] - right.curve["value"]).abs().max() < tolerance
        assert left.state.keys() == right.state.keys()
        for name in ("parameters", "tokens", "flops", "status", "reason"):
            assert getattr(left, name) == getattr(right, name)


def assert_identical(first: list[Trained], second: list[Trained]) -> None:
    for left, right in zip(first, second, strict=True):
        assert_seed_identical(left, right)


@pytest.mark.parametrize("problem", [Repeating, Shifted])
def test_seed_in_ensemble_equals_seed_trained_alone(tmp_path: Path, problem) -> None:
    batched = together(tmp_path / "a.checkpoint", [problem() for _ in SEEDS], evaluate_every=1)
    assert_agree(batched, alone(tmp_path, problem, evaluate_every=1))
    assert len({float(trained.curve["value"].iloc[-1]) for trained in batched}) == len(SEEDS)


def test_every_seed_is_clipped_by_its_own_norm(tmp_path: Path) -> None:
    batched = together(tmp_path / "a.checkpoint", clip=0.05, evaluate_every=1)
    assert_agree(batched, alone(tmp_path, clip=0.05, evaluate_every=1))
    loose = together(tmp_path / "b.checkpoint", clip=5.0, evaluate_every=1)
    assert (loose[0].curve["value"] - batched[0].curve["value"]).abs().max() > 1e-3


def test_resumed_run_has_the_bits_of_an_uninterrupted_run(tmp_path: Path) -> None:
    path = tmp_path / "a.checkpoint"
    with pytest.raises(StoppedError):
        together(path, [Interrupting() for _ in SEEDS])
    again = [Repeating() for _ in SEEDS]
    resumed = together(path, again)
    assert [problem.batches for problem in again] == [20, 20, 20]
    assert_identical(resumed, together(tmp_path / "b.checkpoint"))
    finished = [Repeating() for _ in SEEDS]
    assert_identical(resumed, together(path, finished))
    assert [problem.batches for problem in finished] == [0, 0, 0]


def test_optimizer_reads_the_rate_tensor_before_and_after_resuming(tmp_path: Path) -> None:
    """A captured step reads this tensor; with a copy, its rate would stay constant."""

    def learned(path: Path, problem=Repeating) -> tuple[Ensemble, list[Trained]]:
        problems, streams = [problem() for _ in SEEDS], [Streams("exp0", seed) for seed in SEEDS]
        rate = torch.zeros(())
        ensemble = Ensemble(problems, settings(), streams, "", torch.device("cpu"), rate)
        return ensemble, learn(ensemble, settings(), path, "a", 0.0)

    path = tmp_path / "a.checkpoint"
    with pytest.raises(StoppedError):
        learned(path, Interrupting)
    resumed, results = learned(path)
    groups = resumed.run.optimizer.param_groups
    assert len(groups) == 2
    assert all(group["lr"] is resumed.rate for group in groups)
    assert_identical(results, learned(tmp_path / "b.checkpoint")[1])
    assert_agree(results, together(tmp_path / "c.checkpoint"))


def test_failed_seed_keeps_its_parameters_and_affects_no_other_seed(tmp_path: Path) -> None:
    problems = [Repeating(), Repeating(broken_after=20), Repeating()]
    first, failed, third = together(tmp_path / "a.checkpoint", problems)
    assert_identical(
        [first, third],
        [r for r in together(tmp_path / "b.checkpoint") if r.status == "finished"][::2],
    )
    assert failed.status == "failed"
    assert failed.reason == "the loss was nan at step 21"
    assert failed.curve["step"].max() == 15
    single = train(
        Repeating(broken_after=20), settings(), Streams("exp0", 6), tmp_path / "single.checkpoint"
    )
    torch.testing.assert_close(failed.state, single.state, atol=1e-4, rtol=1e-3)


def test_training_stops_when_all_seeds_have_failed(tmp_path: Path) -> None:
    problems = [Repeating(broken_after=3) for _ in SEEDS]
    results = together(tmp_path / "a.checkpoint", problems)
    assert {trained.status for trained in results} == {"failed"}
    assert problems[0].batches < 40
    again = [Repeating() for _ in SEEDS]
    assert_identical(results, together(tmp_path / "a.checkpoint", again))
    assert again[0].batches == 0


def test_model_may_have_only_decayed_or_only_free_parameters(tmp_path: Path) -> None:
    class Fit(Repeating):
        def __init__(self, bias: bool) -> None:
            super().__init__()
            self.bias = bias

        def build(self, generator):
            line = nn.Linear(2, 1, bias=self.bias)
            if self.bias:
                line.weight.requires_grad_(False)
            nn.init.zeros_(line.weight)
            return line

        def batch(self, step, order, dropout):
            return {"x": torch.rand(4, 2, generator=order)}

        def loss(self, model, batch):
            return (model(batch["x"]) - 1.0).square().mean()

        def evaluate(self, model):
            return {}

    for bias in (False, True):
        path = tmp_path / f"{bias}.checkpoint"
        trained = together(path, [Fit(bias) for _ in SEEDS])
        assert_identical(trained, together(path, [Fit(bias) for _ in SEEDS]))


def test_models_of_different_shapes_are_rejected() -> None:
    with pytest.raises(ValueError, match="same shapes"):
        Stack([nn.Linear(2, 3), nn.Linear(3, 3)])


def test_stack_views_equal_the_parameters_of_its_models() -> None:
    models = [Reader(torch.Generator().manual_seed(seed)) for seed in range(3)]
    views = Stack(models).views()
    for index, model in enumerate(models):
        for name, value in model.named_parameters():
            assert torch.equal(views[name][index], value)


@pytest.mark.parametrize("engine", ["sequential", "batched"])
def test_chunk_is_resumed_only_by_the_engine_that_began_it(
    tmp_path: Path, engine, caplog: pytest.LogCaptureFixture
) -> None:
    def chunk(kind):
        problems = [Repeating() for _ in SEEDS]
        streams = [Streams("exp0", seed) for seed in SEEDS]
        execution = Execution(kind, "cpu")
        budget = settings(steps=10)
        results = train_seeds(
            problems, budget, streams, tmp_path, execution, label="a", identity="b"
        )
        return results, [problem.batches for problem in problems]

    first, batches = chunk(engine)
    assert batches == [10, 10, 10]
    again, batches = chunk(engine)
    assert batches == [0, 0, 0]
    assert_identical(first, again)
    other, batches = chunk("batched" if engine == "sequential" else "sequential")
    assert batches == [10, 10, 10]
    assert_agree(first, other)


def test_cpu_batches_small_steps_and_not_large_ones() -> None:
    assert choose_execution("auto", "cpu", seeds=12, flops=6e7) == ("batched", "cpu")
    assert choose_execution("auto", "cpu", seeds=12, flops=1.5e9) == ("sequential", "cpu")
    assert choose_execution("auto", "cpu", seeds=1, flops=6e7) == ("sequential", "cpu")
    assert choose_execution("sequential", "cpu", seeds=12, flops=6e7) == ("sequential", "cpu")
    assert choose_execution("batched", "cpu", seeds=12, flops=1.5e9) == ("batched", "cpu")


@pytest.mark.parametrize(("wins", "expected"), [(False, "batched"), (True, "sequential")])
def test_fast_maps_of_one_seed_lower_the_limit(monkeypatch, wins: bool, expected: str) -> None:
    monkeypatch.setattr("journeylab.training.engine.onednn_wins", lambda: wins)
    assert choose_execution("auto", "cpu", seeds=4, flops=5e8) == (expected, "cpu")
    assert choose_execution("auto", "cpu", seeds=4, flops=3e8) == ("batched", "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_missing_gpu_is_a_one_line_error() -> None:
    assert choose_execution("auto", "auto", seeds=12, flops=1.5e9).device == "cpu"
    with pytest.raises(UserError, match=r"no usable CUDA GPU here; write auto or cpu"):
        choose_execution("auto", "cuda", seeds=12, flops=1.0)


@NEEDS_GPU
@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_gpu_agrees_with_cpu(tmp_path: Path, rate: float) -> None:
    prepare_process()
    problems = [Repeating(rate=rate) for _ in SEEDS]
    on_gpu = together(tmp_path / "a.checkpoint", problems, device="cuda", evaluate_every=1)
    on_cpu = [Repeating(rate=rate) for _ in SEEDS]
    assert_agree(on_gpu, together(tmp_path / "b.checkpoint", on_cpu, evaluate_every=1), 1e-3)
    single = alone(tmp_path, device="cuda", evaluate_every=1)
    if rate:
        assert_agree(on_gpu, single, 1e-3)


@NEEDS_GPU
def test_resumed_captured_run_has_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_process()
    monkeypatch.setattr(torch.compiler.config, "force_cudagraph_gc", True)  # as in a training job
    path = tmp_path / "a.checkpoint"
    with pytest.raises(StoppedError):
        together(path, [Interrupting() for _ in SEEDS], device="cuda")
    resumed = together(path, device="cuda")
    assert_identical(resumed, together(tmp_path / "b.checkpoint", device="cuda"))


@NEEDS_GPU
def test_gpu_always_batches_and_its_model_is_recorded() -> None:
    assert choose_execution("auto", "auto", seeds=12, flops=1.5e9) == ("batched", "cuda")
    assert choose_execution("auto", "cpu", seeds=12, flops=1.5e9) == ("sequential", "cpu")
    assert device_name("cuda").startswith("cuda (")
