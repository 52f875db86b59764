"""The training loop, and the learner that trains one seed."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from journeylab.config import TrainingSettings
from journeylab.streams import Streams
from journeylab.training.checkpoint import (
    Curve,
    RunHistory,
    State,
    Tallies,
    load_checkpoint,
    save_checkpoint,
)
from journeylab.training.parameters import (
    NORM_EPSILON,
    Stack,
    build_optimizer,
    flat_gradients,
    norms_of,
)
from journeylab.training.process import flush_denormals
from journeylab.training.progress import report_progress
from journeylab.training.schedule import learning_rate

if TYPE_CHECKING:
    import pandas as pd

STREAMS = ("order", "dropout")


@runtime_checkable
class Problem(Protocol):
    """The training problem of one seed. Its methods change nothing but the generators.

    If seeds are trained at once, the first seed's problem computes `loss` for all of them, under
    `torch.func.vmap` over models and batches. This requires:

    - At the same step, the batches of all seeds have the same names, shapes and types.
    - `loss` reads nothing from the problem that differs between seeds.
    - `loss` has no Python branch on a tensor's value.
    - All tensors of a model are parameters or buffers, and training changes no buffer.
    """

    @property
    def tokens_per_step(self) -> int:
        """Supervised tokens of one step."""
        ...

    def build(self, generator: torch.Generator) -> nn.Module:
        """Return a fresh model whose parameters depend on `generator` only."""
        ...

    def batch(
        self, step: int, order: torch.Generator, dropout: torch.Generator
    ) -> dict[str, Tensor]:
        """Draw the rows and the dropout key of step 1, 2, …, on the CPU."""
        ...

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Return the training loss, on the batch's device."""
        ...

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Return one point of the training curve: metric → value."""
        ...

    def flops_per_step(self, model: nn.Module) -> float:
        """Return the floating-point operations of one step, backward pass included."""
        ...


@runtime_checkable
class Compacting(Problem, Protocol):
    """A problem whose batches have parts without influence on the loss, such as padding."""

    def compact(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return a smaller batch with the same loss, up to rounding.

        Called only if a seed is trained alone: the shapes may differ from step to step.
        """
        ...


@dataclass(frozen=True)
class Trained:
    """The result of one seed. A failed seed has the parameters before the failing step."""

    state: dict[str, Tensor]
    curve: pd.DataFrame
    """Columns step, metric, value. Metrics: `train_loss` (mean since the last point) and those of
    `Problem.evaluate`."""
    status: Literal["finished", "failed"]
    reason: str | None
    seconds: float
    """Wall time in this process, divided evenly among seeds that were trained at once. Steps before
    a resumed checkpoint do not count."""
    parameters: int
    flops: float
    tokens: int
    processors: tuple[str, ...] = ()
    """The processors that trained the run, in order; several if a resumed run moved."""


@runtime_checkable
class Learner(Protocol):
    """The interface of the loop: one seed, or several at once."""

    @property
    def problems(self) -> Sequence[Problem]:
        """The problem of every seed."""
        ...

    @property
    def run(self) -> State:
        """The state that training changes."""
        ...

    def advance(self, step: int, rate: float) -> None:
        """Take step 1, 2, …; a seed whose loss or gradient is not finite fails and stops."""
        ...

    def model_of(self, index: int) -> nn.Module:
        """Return the model of the seed at `index`; valid until the next call."""
        ...


def train(
    problem: Problem,
    settings: TrainingSettings,
    streams: Streams,
    checkpoint: Path,
    *,
    label: str = "training",
    identity: str = "",
    device: str = "cpu",
    processor: str = "",
) -> Trained:
    """Train one seed to the end of its budget; resume its checkpoint if there is one.

    AdamW on gradients clipped by their global norm, with linear warm-up and a cosine. A loss or
    gradient that is not finite ends the run as failed; nothing is raised. A run that was killed and
    resumed has the same bits as an uninterrupted run (same machine, threads and versions).

    `identity` stands for all that determines the result besides settings and seed (data, code): a
    checkpoint with another identity is not resumed. A checkpoint of another `processor` is resumed
    with a warning.
    """
    began = time.monotonic()
    learner = SingleSeed(problem, settings, streams, identity, torch.device(device))
    [trained] = learn(learner, settings, checkpoint, label, began, processor)
    return trained


def learn(
    learner: Learner,
    settings: TrainingSettings,
    checkpoint: Path,
    label: str,
    began: float,
    processor: str = "",
) -> list[Trained]:
    """Advance a learner from its checkpoint to the end of the budget; one result per seed.

    `began`: the value of `time.monotonic()` when the run began.
    """
    run, seeds = learner.run, len(learner.problems)
    start = RunHistory(0, [[] for _ in range(seeds)], (processor,))
    step, curves, processors = load_checkpoint(checkpoint, run, start)
    failed = run.tallies.all_failed
    reporting = report_progress(label, settings.steps, step, seeds=seeds)
    with flush_denormals(), reporting as progress:
        while step < settings.steps and not failed:
            step += 1
            rate = learning_rate(
                step, peak=settings.learning_rate, warmup=settings.warmup, steps=settings.steps
            )
            learner.advance(step, rate)
            progress.advance(step, lambda: run.tallies.mean_loss)
            last = step == settings.steps
            due = last or step % settings.evaluate_every == 0
            # on a GPU, reading the tallies waits for all queued steps
            if due or run.tallies.failed_at.device.type == "cpu":
                failed = run.tallies.all_failed
            if due:
                for curve, point in zip(curves, _points(learner, step), strict=True):
                    curve += point
            if failed or last or step % settings.checkpoint_every == 0:
                save_checkpoint(checkpoint, run, RunHistory(step, curves, processors))
    seconds = (time.monotonic() - began) / seeds
    return [
        _result(learner, settings, index, curve, seconds, processors)
        for index, curve in enumerate(curves)
    ]


class SingleSeed:
    """One seed, trained as an ordinary module whose parameters share the memory of a `Stack`."""

    def __init__(
        self,
        problem: Problem,
        settings: TrainingSettings,
        streams: Streams,
        identity: str,
        device: torch.device,
    ) -> None:
        self.model = problem.build(streams.generator("init")).to(device)
        self.problems, self.device, self.clip = (problem,), device, settings.clip
        # asking takes longer than some steps, because it evaluates the properties of the problem
        self.compact = problem.compact if isinstance(problem, Compacting) else None
        self.stack = Stack([self.model])
        self.parts = self.stack.attach(self.model)
        self.run = State(
            identity=identify(settings, [streams], identity),
            model=self.stack,
            optimizer=build_optimizer(self.stack, settings),
            generators={name: streams.generator(name) for name in STREAMS},
            tallies=Tallies.zeros(1),
        )

    def advance(self, step: int, rate: float) -> None:
        """Take one step; if its loss or gradient is not finite, record the failure instead."""
        [problem], run, tallies = self.problems, self.run, self.run.tallies
        for group in run.optimizer.param_groups:
            group["lr"] = rate
        batch = problem.batch(step, *(run.generators[name] for name in STREAMS))
        if self.compact is not None:
            batch = self.compact(batch)
        if self.device.type != "cpu":
            batch = {name: value.to(self.device) for name, value in batch.items()}
        loss = problem.loss(self.model, batch)
        value, norm = loss.item(), math.nan
        if math.isfinite(value):
            gradients = flat_gradients(loss, self.parts)
            norm = norms_of(gradients).item()
        if math.isfinite(norm):
            for matrix, gradient in zip(self.stack.matrices, gradients, strict=True):
                if norm > self.clip:
                    gradient.mul_(self.clip / (norm + NORM_EPSILON))
                matrix.grad = gradient
            run.optimizer.step()
            tallies.total.add_(value)
            tallies.steps.add_(1.0)
        else:
            tallies.failed_at.fill_(step)
            tallies.loss.fill_(value)
            tallies.norm.fill_(norm)

    def model_of(self, index: int) -> nn.Module:
        """Return the model."""
        return self.model


def identify(settings: TrainingSettings, streams: Sequence[Streams], identity: str) -> str:
    """Return the identity string of a run; it must match for a checkpoint to be resumed."""
    seeds = ",".join(stream.replicate for stream in streams)
    return " | ".join((settings.model_dump_json(), f"seed {seeds}", identity))


def _points(learner: Learner, step: int) -> list[Curve]:
    """The next point of every curve, empty for failed seeds; resets the running means."""
    tallies = learner.run.tallies
    losses, failed_at = (tallies.total / tallies.steps).tolist(), tallies.failed_at.tolist()
    tallies.total.zero_()
    tallies.steps.zero_()
    points: list[Curve] = []
    for index, (problem, failed) in enumerate(zip(learner.problems, failed_at, strict=True)):
        if failed:
            points.append([])
            continue
        with torch.no_grad():
            model = learner.model_of(index).eval()
            measured = problem.evaluate(model)
            model.train()
        values = {"train_loss": losses[index], **measured}
        points.append([(step, name, value) for name, value in values.items()])
    return points


def _result(
    learner: Learner,
    settings: TrainingSettings,
    index: int,
    curve: Curve,
    seconds: float,
    processors: tuple[str, ...],
) -> Trained:
    import pandas as pd

    problem, model = learner.problems[index], learner.model_of(index)
    table = pd.DataFrame(curve, columns=["step", "metric", "value"])
    reason = _reason(learner.run.tallies, index)
    return Trained(
        state={name: value.detach().cpu().clone() for name, value in model.state_dict().items()},
        curve=table.astype({"step": "int64", "metric": "object", "value": "float64"}),
        status="finished" if reason is None else "failed",
        reason=reason,
        seconds=seconds,
        parameters=sum(p.numel() for p in model.parameters() if p.requires_grad),
        flops=problem.flops_per_step(model) * settings.steps,
        tokens=problem.tokens_per_step * settings.steps,
        processors=processors,
    )


def _reason(tallies: Tallies, index: int) -> str | None:
    failed_at, loss, norm = (
        float(counts[index]) for counts in (tallies.failed_at, tallies.loss, tallies.norm)
    )
    if not failed_at:
        return None
    if math.isfinite(loss):
        return f"the gradient's norm was {norm} at step {failed_at:.0f}"
    return f"the loss was {loss} at step {failed_at:.0f}"
