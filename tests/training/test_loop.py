"""Training is reproducible, resumes after any kill, and records failures."""

import contextlib
import io
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from journeylab.records import live
from journeylab.records.cost import start_counting
from journeylab.records.files import read_noted_tensors
from journeylab.streams import Streams
from journeylab.training import (
    Trained,
    count_steps,
    discard_checkpoints,
    learning_rate,
    prepare_process,
    report_progress,
    train,
)
from journeylab.training.loop import SingleSeed
from journeylab.training.parameters import Stack, build_optimizer, split_decayed

from ..made import flip, wait_for
from .problems import Interrupting, Reader, Repeating, StoppedError, assert_identical, run, settings

pytestmark = pytest.mark.usefixtures("unchecked")  # test_ensemble.py checks the types


def test_training_lowers_the_loss_and_records_the_run(tmp_path: Path) -> None:
    trained = run(tmp_path / "a.checkpoint", steps=150)
    curve = trained.curve.pivot(index="step", columns="metric", values="value")
    assert list(curve.index) == [*range(15, 150, 15), 150]
    assert curve["fixed_loss"].iloc[-1] < 0.8 * curve["fixed_loss"].iloc[0]
    assert trained.status == "finished"
    assert trained.reason is None
    assert trained.tokens == 150 * 32 * 9
    assert trained.flops > 0
    assert trained.parameters == sum(value.numel() for value in trained.state.values())


def test_killed_process_resumes_to_the_same_bits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, script = tmp_path / "a.checkpoint", Path(__file__).parent / "problems.py"
    command = [sys.executable, str(script), str(path), "25"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    wait_for(lambda: path.exists() or process.poll() is not None, 60.0)
    process.send_signal(signal.SIGKILL)  # it waits at step 25
    _, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert json.loads(read_noted_tensors(path)[1]["run"])["step"] < 40
    run(path)
    assert "resumed after step" in capsys.readouterr().err
    run(tmp_path / "b.checkpoint")
    assert path.read_bytes() == (tmp_path / "b.checkpoint").read_bytes()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return run(tmp_path_factory.mktemp("uninterrupted") / "a.checkpoint")


def fit_wider(path: Path) -> None:
    """Replace the checkpoint by that of a model with one more parameter."""

    class Wider(Repeating):
        def build(self, generator):
            model = super().build(generator)
            model.added = torch.nn.Parameter(torch.zeros(1))
            return model

    path.unlink()
    run(path, Wider())


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda path: path.write_bytes(b""), "is damaged"),
        (lambda path: path.write_bytes(b"not a checkpoint"), "is damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "is damaged"),
        (flip, "is damaged"),
        (fit_wider, "does not fit this run (its tensors fit another model)"),
    ],
)
def test_useless_checkpoint_warns_and_training_starts_over(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    uninterrupted: Trained,
    spoil: Callable[[Path], object],
    problem: str,
) -> None:
    path = tmp_path / "a.checkpoint"
    with pytest.raises(StoppedError):
        run(path, Interrupting(), processor="one")
    spoil(path)
    again = Repeating()
    restarted = run(path, again, processor="other")
    assert caplog.messages == [f"checkpoint {path} {problem}; training starts over"]
    assert again.batches == 40
    assert restarted.processors == ("other",)
    assert_identical(restarted, uninterrupted)


def test_unreadable_checkpoint_warns_and_training_starts_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "a.checkpoint"
    first = run(path)
    monkeypatch.setattr("journeylab.training.checkpoint.read_noted_tensors", refuse)
    assert_identical(first, run(path))
    expected = "cannot be read (Permission denied); training starts over"
    assert caplog.messages == [f"checkpoint {path} {expected}"]


def test_no_result_depends_on_progress_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent:
        def advance(self, step: int, loss: Callable[[], float]) -> None:
            pass

    first = run(tmp_path / "a.checkpoint")
    silent = contextlib.nullcontext(Silent())
    monkeypatch.setattr("journeylab.training.loop.report_progress", lambda *_, **__: silent)
    assert_identical(first, run(tmp_path / "b.checkpoint"))


@pytest.mark.parametrize("later", ["one", "other"])
def test_a_run_resumed_on_another_processor_warns_and_has_the_same_bits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, uninterrupted: Trained, later: str
) -> None:
    path = tmp_path / "a.checkpoint"
    with pytest.raises(StoppedError):
        run(path, Interrupting(), processor="one")
    again = Repeating()
    resumed = run(path, again, processor=later)
    assert again.batches == 20
    assert ("was written on another processor (one)" in caplog.text) == (later == "other")
    assert bool(caplog.records) == (later == "other")
    assert resumed.processors == tuple(dict.fromkeys(("one", later)))
    assert run(path, processor="one").processors == resumed.processors
    assert_identical(resumed, uninterrupted)


@pytest.mark.parametrize(
    "other",
    [
        {"identity": "other code or data"},
        {"streams": Streams("exp0", 6)},
        {"budget": settings(learning_rate=1e-3)},
    ],
)
def test_checkpoint_of_other_settings_code_data_or_seed_warns_and_training_starts_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, other: dict[str, Any]
) -> None:
    given = {"streams": Streams("exp0", 5), "identity": "code and data", "budget": settings()}

    def trained(path: Path, **changed: Any) -> tuple[Trained, int]:
        problem, chosen = Repeating(), given | changed
        streams, budget = chosen["streams"], chosen["budget"]
        done = train(problem, budget, streams, path, identity=chosen["identity"])
        return done, problem.batches

    path = tmp_path / "a.checkpoint"
    assert [trained(path)[1], trained(path)[1]] == [40, 0]
    again, batches = trained(path, **other)
    assert batches == 40
    assert "other settings, data or code" in caplog.text
    assert caplog.text.rstrip().endswith("training starts over")
    assert_identical(again, trained(tmp_path / "b.checkpoint", **other)[0])


def test_seed_with_nan_loss_is_recorded_as_failed(tmp_path: Path) -> None:
    path = tmp_path / "a.checkpoint"
    failed = run(path, Repeating(broken_after=20))
    assert failed.status == "failed"
    assert failed.reason == "the loss was nan at step 21"
    assert all(value.isfinite().all() for value in failed.state.values())
    assert failed.curve["step"].max() == 15
    again = Repeating()
    assert_identical(failed, run(path, again))
    assert again.batches == 0


def test_seed_with_nan_gradient_is_recorded_as_failed(tmp_path: Path) -> None:
    class Steep(Repeating):
        def loss(self, model, batch):
            zero = super().loss(model, batch) * 0
            return zero + torch.sqrt(model.angles - model.angles.detach()).sum()

    failed = run(tmp_path / "a.checkpoint", Steep())
    assert failed.status == "failed"
    assert "gradient's norm" in failed.reason


def test_discarding_deletes_checkpoints_only(tmp_path: Path) -> None:
    run(tmp_path / "seed-00.checkpoint", steps=1, warmup=0)
    (tmp_path / "run.json").write_text("{}")
    discard_checkpoints(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_weight_decay_acts_on_affine_maps_only() -> None:
    model = Reader(torch.Generator())
    decayed, free = split_decayed(model)
    assert sum(p.numel() for p in decayed.values()) == 12 * 16 * 16 + 16 * 7
    assert free["angles"] is model.angles
    stack = Stack([model])
    first, second = build_optimizer(stack, settings()).param_groups
    assert (first["weight_decay"], second["weight_decay"]) == (0.1, 0.0)
    assert [group["params"] for group in (first, second)] == [[stack.decayed], [stack.free]]


@pytest.mark.parametrize("clip", [0.05, 100.0])
def test_step_equals_clip_grad_norm_and_adamw_on_the_module(clip: float) -> None:
    class Double(Repeating):
        def build(self, generator):
            return super().build(generator).double()

    problem, budget, streams = Double(), settings(clip=clip), Streams("exp0", 5)
    learner = SingleSeed(problem, budget, streams, "", torch.device("cpu"))
    model = problem.build(streams.generator("init"))
    decayed, free = (list(part.values()) for part in split_decayed(model))
    groups = [
        {"params": decayed, "weight_decay": budget.weight_decay},
        {"params": free, "weight_decay": 0.0},
    ]
    plain = torch.optim.AdamW(groups, fused=True)
    order, dropout = (streams.generator(name) for name in ("order", "dropout"))
    for step in range(1, 41):
        rate = learning_rate(step, peak=3e-3, warmup=5, steps=40)
        learner.advance(step, rate)
        for group in plain.param_groups:
            group["lr"] = rate
        plain.zero_grad()
        loss = problem.loss(model, problem.batch(step, order, dropout))
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*decayed, *free], clip)
        plain.step()
        assert learner.run.tallies.total.item() == pytest.approx(loss.item(), rel=1e-9)
        learner.run.tallies.total.zero_()


def test_schedule_warms_up_and_decays() -> None:
    rates = [learning_rate(t, peak=2.0, warmup=10, steps=100) for t in range(1, 101)]
    assert rates[:10] == pytest.approx([0.2 * t for t in range(1, 11)])
    assert max(rates) == rates[9] == 2.0
    assert rates[9:] == sorted(rates[9:], reverse=True)
    assert 0 < rates[-1] < 0.01
    assert rates[10] == pytest.approx(1.0 + math.cos(math.pi / 91))
    middle = learning_rate(5, peak=2.0, warmup=0, steps=9)
    assert middle == pytest.approx(1.0 + math.cos(math.pi / 2))
    assert learning_rate(1, peak=1.0, warmup=0, steps=1) > 0
    with pytest.raises(ValueError, match="outside the budget"):
        learning_rate(0, peak=1.0, warmup=0, steps=10)


def test_log_gets_lines() -> None:
    stream = io.StringIO()
    with report_progress("seed 3", 5, 2, stream=stream) as progress:
        for step in (3, 4, 5):
            progress.advance(step, lambda: 1.25)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "seed 3: 5 steps, resumed after step 2"
    assert lines[1].startswith("seed 3: step 3/5, loss 1.2500, ")
    assert lines[-1].endswith("0:00:00 left")


def test_terminal_gets_a_bar() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with report_progress("seed 3", 2, stream=stream) as progress:
        progress.advance(1, lambda: 1.5)
        progress.advance(2, lambda: 0.5)
    assert "seed 3" in stream.getvalue()
    assert "2/2" in stream.getvalue()


def test_progress_is_read_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeylab.training.progress.SECONDS_BETWEEN_FILES", 0.0)
    plan = tmp_path / "train.json"
    assert live.read_progress(plan) is None
    with (
        count_steps(tmp_path / "train.progress.json", 400, start_counting()),
        report_progress("a", 100, 20, seeds=2, stream=io.StringIO()) as progress,
    ):
        progress.advance(30, lambda: 0.25)
        state = live.read_progress(plan)
        assert (state.done, state.before, state.total) == (60, 40, 400)
        assert (state.seeds, state.step, state.loss) == (2, 30, 0.25)
        assert state.cost.cpu_seconds > 0.0
        assert state.rate == pytest.approx(20 / state.seconds)
        assert state.written == plan.with_suffix(".progress.json").stat().st_mtime
        progress.advance(31, lambda: math.nan)
        assert live.read_progress(plan).loss is None


def test_progress_without_steps_has_no_rate() -> None:
    assert live.JobProgress(done=40, before=40, total=400, seconds=3.0).rate is None


@pytest.mark.parametrize("content", ["", "{", json.dumps({"done": 1})])
def test_damaged_progress_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "train.progress.json").write_text(content)
    assert live.read_progress(tmp_path / "train.json") is None


def test_prepared_process_has_one_thread(ordinary_algorithms: None) -> None:
    prepare_process(threads=1)
    assert torch.get_num_threads() == 1
    assert torch.are_deterministic_algorithms_enabled()


def test_prepared_process_does_not_import_the_compiler(imported: Callable[..., set[str]]) -> None:
    """Its import takes longer than that of PyTorch itself."""
    script = (
        "import torch\n"
        "from journeylab.training import prepare_process\n"
        "prepare_process()\n"
        "assert torch.are_deterministic_algorithms_enabled()"
    )
    assert not imported(script, "torch._inductor")


def test_denormal_numbers_are_zero_only_during_training(tmp_path: Path) -> None:
    def half_of_the_smallest() -> float:
        return float(torch.full((64,), torch.finfo().tiny).mul(0.5)[0])

    class Looking(Repeating):
        def evaluate(self, model: torch.nn.Module) -> dict[str, float]:
            return {"half": half_of_the_smallest()}

    curve = run(tmp_path / "checkpoint", Looking()).curve
    assert curve.loc[curve["metric"] == "half", "value"].eq(0.0).all()
    assert half_of_the_smallest() > 0.0
