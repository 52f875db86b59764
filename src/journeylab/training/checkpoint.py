"""Checkpoints: everything a run needs to go on as if it had never stopped.

One sealed safetensors file holds the model, the optimiser's moments, and the states of the random
streams; its notes hold the step, the curve so far, the processors that took part and the identity
of the run, as JSON. A file that is damaged anywhere is not resumed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from journeylab.config import UserError
from journeylab.records.files import read_noted_tensors, write_tensors

log = logging.getLogger(__name__)
SUFFIX = ".checkpoint"

Curve = list[tuple[int, str, float]]


class Place(NamedTuple):
    """Where a run is: steps done, every seed's curve so far, and the processors that took part."""

    step: int
    curves: list[Curve]
    processors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tallies:
    """What is counted of every seed while it trains, ``(seeds,)`` each, in float64.

    `total` and `steps`: Σ loss and steps since the last point of the curve. `failed_at`: the step
    at which the seed failed, 0 if it did not; `loss` and `norm`: the loss and the gradient's norm
    of that step.
    """

    total: Tensor
    steps: Tensor
    failed_at: Tensor
    loss: Tensor
    norm: Tensor

    @classmethod
    def zeros(cls, seeds: int, device: torch.device | str = "cpu") -> Tallies:
        """Nothing counted yet."""
        return cls(*(torch.zeros(seeds, dtype=torch.float64, device=device) for _ in fields(cls)))

    def named(self) -> dict[str, Tensor]:
        """The counts by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def mean_loss(self) -> float:
        """Mean loss per step since the last point of the curve, over all seeds."""
        total, steps = float(self.total.sum()), float(self.steps.sum())
        return total / steps if steps else float("nan")

    @property
    def all_failed(self) -> bool:
        """Whether no seed is left that learns."""
        return bool(self.failed_at.all())


class State(NamedTuple):
    """The parts of a run that change while it trains, and the identity that must not."""

    identity: str
    model: nn.Module
    optimizer: torch.optim.Optimizer
    generators: Mapping[str, torch.Generator]
    tallies: Tallies


def save_checkpoint(path: Path, run: State, place: Place) -> None:
    """Write the run's state, atomically and sealed."""
    write_tensors(
        path, _tensors(run), {"run": json.dumps({"identity": run.identity} | place._asdict())}
    )


def load_checkpoint(path: Path, run: State, start: Place) -> Place:
    """Put the run into the saved state, and return where it was.

    The processors of `start` join those of the checkpoint. A missing, damaged or foreign checkpoint
    (other settings, other code, other model) leaves the run as it is and returns `start`; except
    for a missing one, a warning says so.
    """
    if not path.exists():
        return start
    try:
        tensors, notes = read_noted_tensors(path)
        saved = json.loads(notes["run"])
        if saved["identity"] != run.identity:
            log.warning("%s belongs to a run with other settings; training restarts", path)
            return start
        curves = [[(s, m, v) for s, m, v in curve] for curve in saved["curves"]]
        processors = tuple(dict.fromkeys((*saved["processors"], *start.processors)))
        place = Place(saved["step"], curves, processors)
        _restore(run, tensors)
    except (UserError, KeyError, ValueError, OSError) as error:
        log.warning("%s cannot be resumed (%s); training restarts", path, error)
        return start
    if len(place.processors) > 1:
        log.warning(
            "%s was begun on another processor (%s): the result need not equal that of one alone",
            *(path, place.processors[0]),
        )
    return place


def discard_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of finished runs from `folder`."""
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
    names = {id(parameter): name for name, parameter in run.model.named_parameters()}
    parameters = [p for group in run.optimizer.param_groups for p in group["params"]]
    return {names[id(parameter)]: place for place, parameter in enumerate(parameters)}


def _restore(run: State, tensors: dict[str, Tensor]) -> None:
    model = {_below(name): value for name, value in tensors.items() if name.startswith("model/")}
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
        # loading copies a rate that is a tensor: a captured step would go on reading the copy
        for group, rate in zip(run.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
    run.model.load_state_dict(model)
    for name, generator in run.generators.items():
        generator.set_state(streams[name])
    for name, value in run.tallies.named().items():
        value.copy_(tallies[name])


def _below(name: str) -> str:
    return name.split("/", 1)[1]
