"""Checkpoints: everything that a run needs to continue as if it had never stopped.

A checkpoint is a safetensors file with a checksum. Its tensors are the model, the optimiser's
moments and the states of the random streams. Its notes, as JSON, are the step, the curves so far,
the processors that took part and the identity of the run. A damaged file is not resumed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from journeylab.config import UserError
from journeylab.records.files import read_noted_tensors, write_tensors

log = logging.getLogger(__name__)
SUFFIX = ".checkpoint"

Curve = list[tuple[int, str, float]]
"""Step, metric and value of every point so far."""


class RunHistory(NamedTuple):
    """How far a run has come: steps done, the curve of every seed, and the processors so far."""

    step: int
    curves: list[Curve]
    processors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tallies:
    """Running counts of every seed, in float64.

    `total` and `steps`: Σ loss and number of steps since the last point of the curve. `failed_at`:
    the step at which the seed failed, 0 if it did not; `loss` and `norm`: the loss and the
    gradient's norm at that step.
    """

    total: Float[Tensor, " seeds"]
    steps: Float[Tensor, " seeds"]
    failed_at: Float[Tensor, " seeds"]
    loss: Float[Tensor, " seeds"]
    norm: Float[Tensor, " seeds"]

    @classmethod
    def zeros(cls, seeds: int, device: torch.device | str = "cpu") -> Tallies:
        """Return tallies of 0."""
        return cls(*(torch.zeros(seeds, dtype=torch.float64, device=device) for _ in fields(cls)))

    def named(self) -> dict[str, Float[Tensor, " seeds"]]:
        """Return the counts by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def mean_loss(self) -> float:
        """Mean loss per step since the last point of the curve, over all seeds."""
        total, steps = float(self.total.sum()), float(self.steps.sum())
        return total / steps if steps else float("nan")

    @property
    def all_failed(self) -> bool:
        """Whether every seed has failed."""
        return bool(self.failed_at.all())


class State(NamedTuple):
    """The parts of a run that change during training, and its identity, which does not."""

    identity: str
    model: nn.Module
    optimizer: torch.optim.Optimizer
    generators: Mapping[str, torch.Generator]
    tallies: Tallies


def save_checkpoint(path: Path, run: State, history: RunHistory) -> None:
    """Write the run's state atomically, with a checksum."""
    notes = json.dumps({"identity": run.identity} | history._asdict())
    write_tensors(path, _tensors(run), {"run": notes})


def load_checkpoint(path: Path, run: State, start: RunHistory) -> RunHistory:
    """Put the run into the saved state; return the saved history.

    The processors of `start` are appended to those of the checkpoint. A checkpoint that is missing,
    damaged or of another run (settings, code or model differ) changes nothing: `start` is returned
    and training starts over. Unless the checkpoint is missing, a warning says why.
    """
    if not path.exists():
        return start
    try:
        tensors, notes = read_noted_tensors(path)
    except OSError as error:
        log.warning("checkpoint %s cannot be read (%s); training starts over", path, error.strerror)
        return start
    except (UserError, KeyError, ValueError):
        # the error's own text names a command that remakes files; none remakes a checkpoint
        log.warning("checkpoint %s is damaged; training starts over", path)
        return start
    try:
        saved = json.loads(notes["run"])
        if saved["identity"] != run.identity:
            log.warning(
                "checkpoint %s belongs to a run with other settings, data or code; "
                "training starts over",
                path,
            )
            return start
        curves = [[(s, m, v) for s, m, v in curve] for curve in saved["curves"]]
        processors = tuple(dict.fromkeys((*saved["processors"], *start.processors)))
        history = RunHistory(saved["step"], curves, processors)
        _restore(run, tensors)
    except (KeyError, ValueError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        log.warning("checkpoint %s does not fit this run (%s); training starts over", path, reason)
        return start
    if len(history.processors) > 1:
        log.warning(
            "checkpoint %s was written on another processor (%s): the result may differ in "
            "rounding from a run on one processor",
            *(path, history.processors[0]),
        )
    return history


def discard_checkpoints(folder: Path) -> None:
    """Delete the checkpoints in `folder`, when its runs have finished."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        path.unlink()


def _tensors(run: State) -> dict[str, Tensor]:
    state = run.optimizer.state_dict()["state"]
    tensors = {f"model/{name}": value for name, value in run.model.state_dict().items()}
    for name, position in _positions(run).items():
        for key, value in state.get(position, {}).items():
            tensors[f"optimizer/{name}/{key}"] = value
    for name, generator in run.generators.items():
        tensors[f"generator/{name}"] = generator.get_state()
    tensors |= {f"tallies/{name}": value for name, value in run.tallies.named().items()}
    return {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}


def _positions(run: State) -> dict[str, int]:
    """The position of every parameter in the optimiser, by name."""
    names = {id(parameter): name for name, parameter in run.model.named_parameters()}
    parameters = [p for group in run.optimizer.param_groups for p in group["params"]]
    return {names[id(parameter)]: position for position, parameter in enumerate(parameters)}


def _restore(run: State, tensors: dict[str, Tensor]) -> None:
    """Load all tensors into the run. Raises before it changes anything if they do not fit."""
    model = {
        _without_prefix(name): value for name, value in tensors.items() if name.startswith("model/")
    }
    expected = {name: value.shape for name, value in run.model.state_dict().items()}
    if {name: value.shape for name, value in model.items()} != expected:
        raise ValueError("its tensors fit another model")
    streams = {name: tensors[f"generator/{name}"] for name in run.generators}
    tallies = {name: tensors[f"tallies/{name}"] for name in run.tallies.named()}
    if any(name.startswith("optimizer/") for name in tensors):
        moments = run.optimizer.state_dict()
        moments["state"] = {
            position: {
                key: tensors[f"optimizer/{name}/{key}"] for key in ("step", "exp_avg", "exp_avg_sq")
            }
            for name, position in _positions(run).items()
        }
        rates = [group["lr"] for group in run.optimizer.param_groups]
        run.optimizer.load_state_dict(moments)
        # loading copies a rate that is a tensor; a captured step would keep reading the copy
        for group, rate in zip(run.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
    run.model.load_state_dict(model)
    for name, generator in run.generators.items():
        generator.set_state(streams[name])
    for name, value in run.tallies.named().items():
        value.copy_(tallies[name])


def _without_prefix(name: str) -> str:
    return name.split("/", 1)[1]
