"""The training loop of one seed."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from journeylab.config import TrainingSettings
from journeylab.training.checkpoint import Curve, Place, Run, load_checkpoint, save_checkpoint
from journeylab.training.progress import report_progress
from journeylab.training.schedule import learning_rate
from journeylab.training.streams import Streams

if TYPE_CHECKING:
    import pandas as pd


@runtime_checkable
class Problem(Protocol):
    """What a study hands to the engine for one seed. All methods are pure but for generators."""

    @property
    def tokens_per_step(self) -> int:
        """Supervised tokens of one step."""
        ...

    def build(self, generator: torch.Generator) -> nn.Module:
        """Return a fresh model whose parameters depend on `generator` only."""
        ...

    def batch(self, order: torch.Generator, dropout: torch.Generator) -> dict[str, Tensor]:
        """Draw one step's rows and its dropout masks."""
        ...

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Return the scalar that a step lowers."""
        ...

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Return one point of the training curve, by metric."""
        ...

    def flops_per_step(self, model: nn.Module) -> float:
        """Return the floating-point operations of one step, backward pass included."""
        ...


@dataclass(frozen=True)
class Trained:
    """One seed's result. A failed seed keeps its last finite parameters and says why."""

    state: dict[str, Tensor]
    curve: pd.DataFrame
    """Columns step, metric, value: `train_loss` (mean since the last point) and the problem's."""
    status: Literal["finished", "failed"]
    reason: str | None
    seconds: float
    """Wall time of this process only: a resumed run does not count what it found done."""
    parameters: int
    flops: float
    tokens: int


def train(
    problem: Problem,
    settings: TrainingSettings,
    streams: Streams,
    checkpoint: Path,
    *,
    label: str = "training",
    identity: str = "",
) -> Trained:
    """Train one seed to the end of its budget, from its checkpoint if there is one.

    AdamW on gradients clipped by their global norm, warm-up and cosine. A loss or gradient that is
    not finite ends the run as failed; nothing is raised. A run that was killed and started again
    gives the bit-identical result of one that was not (same machine, threads and versions).
    `identity` names what determines the result beyond settings and seed (data, code): a checkpoint
    with another identity is not resumed.
    """
    began = time.monotonic()
    model = problem.build(streams.generator("init"))
    optimizer = build_optimizer(model, settings)
    generators = {name: streams.generator(name) for name in ("order", "dropout")}
    totals = torch.zeros(2, dtype=torch.float64)
    run = Run(_identify(settings, streams, identity), model, optimizer, generators, totals)
    step, curve, reason = load_checkpoint(checkpoint, run)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]

    with report_progress(label, settings.steps, step) as progress:
        while step < settings.steps and reason is None:
            step += 1
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(
                    step, peak=settings.learning_rate, warmup=settings.warmup, steps=settings.steps
                )
            model.train()
            loss = problem.loss(model, problem.batch(generators["order"], generators["dropout"]))
            value = loss.item()
            if not math.isfinite(value):
                reason = f"the loss was {value} at step {step}"
                break
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(trainable, settings.clip).item()
            if not math.isfinite(norm):
                reason = f"the gradient's norm was {norm} at step {step}"
                break
            optimizer.step()
            totals += torch.tensor([value, 1.0], dtype=torch.float64)
            last = step == settings.steps
            if last or step % settings.evaluate_every == 0:
                curve += _point(problem, model, step, totals)
            if last or step % settings.checkpoint_every == 0:
                save_checkpoint(checkpoint, run, Place(step, curve, None))
            progress.advance(step, value)
    if reason is not None:
        save_checkpoint(checkpoint, run, Place(step, curve, reason))
    return _result(problem, settings, model, curve, reason, time.monotonic() - began)


def build_optimizer(model: nn.Module, settings: TrainingSettings) -> torch.optim.AdamW:
    """Return AdamW (β = 0.9, 0.999) that decays the matrices of affine maps and nothing else.

    Embeddings, biases, norms and angle tables have a scale that means something; they are free.
    """
    decayed: list[nn.Parameter] = []
    free: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        of_affine_map = name.rpartition(".")[2] == "weight" and parameter.ndim == 2
        (decayed if of_affine_map else free).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": free, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=settings.learning_rate,
        fused=True,
    )


def _identify(settings: TrainingSettings, streams: Streams, identity: str) -> str:
    return " | ".join((settings.model_dump_json(), f"seed {streams.seed}", identity))


def _point(problem: Problem, model: nn.Module, step: int, totals: Tensor) -> Curve:
    total, count = totals.tolist()
    totals.zero_()
    model.eval()
    with torch.no_grad():
        measured = problem.evaluate(model)
    return [(step, name, x) for name, x in {"train_loss": total / count, **measured}.items()]


def _result(
    problem: Problem,
    settings: TrainingSettings,
    model: nn.Module,
    curve: Curve,
    reason: str | None,
    seconds: float,
) -> Trained:
    import pandas as pd

    table = pd.DataFrame(curve, columns=["step", "metric", "value"])
    return Trained(
        state={name: value.detach().clone() for name, value in model.state_dict().items()},
        curve=table.astype({"step": "int64", "metric": "object", "value": "float64"}),
        status="finished" if reason is None else "failed",
        reason=reason,
        seconds=seconds,
        parameters=sum(p.numel() for p in model.parameters() if p.requires_grad),
        flops=problem.flops_per_step(model) * settings.steps,
        tokens=problem.tokens_per_step * settings.steps,
    )
