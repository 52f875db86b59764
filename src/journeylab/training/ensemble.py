"""Several seeds trained at once: one model definition, parameters stacked along a seed axis.

`torch.func.vmap` over stacked parameters and batches computes the loss of every seed. One backward
pass differentiates the sum of the losses, so every seed gets its own gradient. Each gradient is
clipped by its own norm, and one fused AdamW updates all seeds. Order and dropout come from the
streams of each seed, so a seed gets the same batches as when it is trained alone.

A seed's result equals that of `train` up to rounding. Batched products add in another order, a
relative difference of about 1e-7. AdamW can amplify it where a gradient is nearly zero, because its
step g/√v does not depend on the scale of g. Loss curves of both agree to 1e-4 over 40 steps.

On a GPU the step is captured as a CUDA graph, one for every batch shape: the time of a tiny model
goes into launching kernels, and a graph launches all of them together. No operation of a captured
step waits for the GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from journeylab.config import TrainingSettings
from journeylab.streams import Streams
from journeylab.training.checkpoint import State, Tallies
from journeylab.training.loop import (
    STREAMS,
    Problem,
    Trained,
    identify,
    learn,
)
from journeylab.training.parameters import NORM_EPSILON, Stack, build_optimizer, norms_of

EAGER_STEPS = 3
"""Steps of every batch shape before its step is captured; they warm the libraries up."""

Batch = dict[str, Tensor]


def train_ensemble(
    problems: Sequence[Problem],
    settings: TrainingSettings,
    streams: Sequence[Streams],
    checkpoint: Path,
    *,
    label: str = "training",
    identity: str = "",
    device: str = "cpu",
    processor: str = "",
) -> list[Trained]:
    """Train several seeds of one variant at once; arguments and results as in `train`.

    A seed that fails keeps its parameters and does not affect the others. All seeds share one
    checkpoint. Raises ValueError if trained parameters of the seeds differ in names or shapes.
    Batches must have equal names and shapes, which is not checked: other shapes raise RuntimeError.
    """
    began = time.monotonic()
    ensemble = Ensemble(problems, settings, streams, identity, torch.device(device))
    return learn(ensemble, settings, checkpoint, label, began, processor)


class Ensemble:
    """Several seeds of one variant, advanced together."""

    def __init__(
        self,
        problems: Sequence[Problem],
        settings: TrainingSettings,
        streams: Sequence[Streams],
        identity: str,
        device: torch.device,
        rate: Tensor | None = None,
    ) -> None:
        """`rate`: the tensor of the rate that a captured step reads; on a GPU, None makes one."""
        models = [
            problem.build(stream.generator("init")).to(device)
            for problem, stream in zip(problems, streams, strict=True)
        ]
        self.problems, self.device, self.clip = problems, device, settings.clip
        self.stack = Stack(models)
        self.fixed = [
            {name: value.clone() for name, value in _fixed(model).items()} for model in models
        ]
        self.model, self.objective = models[0], _Objective(problems[0], models[0])
        self.varying = _stack_differing(self.fixed)
        self.generators = [[stream.generator(name) for name in STREAMS] for stream in streams]
        self.clock = torch.zeros((), dtype=torch.float64, device=device)
        if rate is None and device.type != "cpu":
            rate = torch.zeros((), device=device)
        self.rate = rate
        self.captured: dict[object, _Captured] = {}
        self.run = State(
            identity=identify(settings, streams, identity),
            model=self.stack,
            optimizer=build_optimizer(self.stack, settings, 0.0 if rate is None else rate),
            generators={
                f"{stream.replicate}/{name}": generator
                for stream, generators in zip(streams, self.generators, strict=True)
                for name, generator in zip(STREAMS, generators, strict=True)
            },
            tallies=Tallies.zeros(len(problems), device),
        )

    def advance(self, step: int, rate: float) -> None:
        """Take one step of every seed that has not failed."""
        batch = self._draw(step)
        self.clock.fill_(step)
        if self.rate is None:
            for group in self.run.optimizer.param_groups:
                group["lr"] = rate
        else:
            self.rate.fill_(rate)
        if self.device.type == "cpu":
            self._step(batch)
            return
        shapes = tuple((name, value.shape, value.dtype) for name, value in batch.items())
        self.captured.setdefault(shapes, _Captured(self._step)).run(batch)

    def model_of(self, index: int) -> nn.Module:
        """Return the module with the parameters and buffers of the seed at `index`."""
        views = self.stack.views()
        with torch.no_grad():
            for name, value in _trainable(self.model).items():
                value.copy_(views[name][index])
            for name, value in _fixed(self.model).items():
                value.copy_(self.fixed[index][name])
        return self.model

    def _draw(self, step: int) -> Batch:
        batches = [
            problem.batch(step, *generators)
            for problem, generators in zip(self.problems, self.generators, strict=True)
        ]
        stacked = {name: torch.stack([batch[name] for batch in batches]) for name in batches[0]}
        if self.device.type == "cpu":
            return stacked
        return {
            name: value.pin_memory().to(self.device, non_blocking=True)
            for name, value in stacked.items()
        }

    def _step(self, batch: Batch) -> None:
        losses = vmap(self._loss)(self.stack.views() | self.varying, batch)
        matrices = self.stack.matrices
        gradients = torch.autograd.grad(losses.sum(), matrices)
        losses, tallies = losses.detach(), self.run.tallies
        norms = norms_of(gradients)
        learning = tallies.failed_at == 0
        healthy = losses.isfinite() & norms.isfinite() & learning
        scale = (self.clip / (norms + NORM_EPSILON)).clamp(max=1.0)[:, None]
        for matrix, gradient in zip(matrices, gradients, strict=True):
            matrix.grad = gradient.mul_(scale)
        if self.device.type == "cpu" and bool(healthy.all()):
            self.run.optimizer.step()
        else:
            self._step_healthy(matrices, healthy)
        fresh = ~healthy & learning
        tallies.total.add_(losses.double().where(healthy, 0.0))
        tallies.steps.add_(healthy)
        for counts, value in (
            (tallies.failed_at, self.clock),
            (tallies.loss, losses.double()),
            (tallies.norm, norms.double()),
        ):
            counts.copy_(counts.where(~fresh, value))

    def _step_healthy(self, matrices: Sequence[nn.Parameter], healthy: Tensor) -> None:
        """Step all seeds, then restore the failed ones: a captured step cannot branch on values."""
        chosen = healthy[:, None]
        before = [matrix.detach().clone() for matrix in matrices]
        for matrix in matrices:
            assert matrix.grad is not None
            matrix.grad = matrix.grad.where(chosen, 0.0)
        self.run.optimizer.step()
        with torch.no_grad():
            for matrix, old in zip(matrices, before, strict=True):
                matrix.copy_(matrix.where(chosen, old))

    def _loss(self, tensors: Mapping[str, Tensor], batch: Batch) -> Tensor:
        named = {f"model.{name}": value for name, value in tensors.items()}
        loss: Tensor = functional_call(self.objective, named, (batch,))
        return loss


class _Objective(nn.Module):
    """The loss as a module, so that `functional_call` can replace its parameters."""

    def __init__(self, problem: Problem, model: nn.Module) -> None:
        super().__init__()
        self.problem, self.model = problem, model

    def forward(self, batch: Batch) -> Tensor:
        return self.problem.loss(self.model, batch)


class _Captured:
    """A step for batches of one shape: the first few run normally, then a CUDA graph replays it.

    The graph reads its batch from fixed memory; every later batch is copied there.
    """

    def __init__(self, step: Callable[[Batch], None]) -> None:
        self.step, self.eager_steps = step, 0
        self.batch: Batch = {}
        self.graph: torch.cuda.CUDAGraph | None = None

    def run(self, batch: Batch) -> None:
        if self.eager_steps < EAGER_STEPS:
            self.eager_steps += 1
            self._run_on_side_stream(batch)
            return
        if self.graph is None:
            self.batch, self.graph = batch, torch.cuda.CUDAGraph()
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.step(batch)
        for name, value in batch.items():
            self.batch[name].copy_(value)
        self.graph.replay()

    def _run_on_side_stream(self, batch: Batch) -> None:
        # PyTorch requires warm-up on another stream before a graph is captured
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.step(batch)
        torch.cuda.current_stream().wait_stream(side)


def _trainable(model: nn.Module) -> dict[str, Tensor]:
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def _fixed(model: nn.Module) -> dict[str, Tensor]:
    """Buffers and parameters that are not trained."""
    frozen = {name: p for name, p in model.named_parameters() if not p.requires_grad}
    return frozen | dict(model.named_buffers())


def _stack_differing(fixed: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The tensors that differ between seeds, stacked; equal ones need no copies."""
    first, *others = fixed
    return {
        name: torch.stack([tensors[name] for tensors in fixed])
        for name, value in first.items()
        if any(not torch.equal(value, tensors[name]) for tensors in others)
    }
