"""Checkpoints: everything a run needs to go on as if it had never stopped.

One safetensors file holds the model, the optimiser's moments, and the states of the random
streams; its metadata hold the step, the curve so far and the identity of the run, as JSON.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from journeylab.records.files import write_atomic

log = logging.getLogger(__name__)
SUFFIX = ".checkpoint"

Curve = list[tuple[int, str, float]]


class Place(NamedTuple):
    """Where a run is: steps done, and every seed's curve so far."""

    step: int
    curves: list[Curve]


class Run(NamedTuple):
    """The parts of a run that change while it trains, and the identity that must not.

    `tallies` has one row per seed.
    """

    identity: str
    model: nn.Module
    optimizer: torch.optim.Optimizer
    generators: Mapping[str, torch.Generator]
    tallies: Tensor


def save_checkpoint(path: Path, run: Run, place: Place) -> None:
    """Write the run's state, atomically."""
    metadata = {"run": json.dumps({"identity": run.identity} | place._asdict())}
    with write_atomic(path) as partial:
        save_file(_tensors(run), partial, metadata=metadata)


def load_checkpoint(path: Path, run: Run, start: Place) -> Place:
    """Put the run into the saved state, and return where it was.

    A missing, damaged or foreign checkpoint (other settings, other code, other model) leaves the
    run as it is and returns `start`; except for a missing one, a warning says so.
    """
    if not path.exists():
        return start
    try:
        with safe_open(path, framework="pt") as file:
            saved = json.loads((file.metadata() or {})["run"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if saved["identity"] != run.identity:
            log.warning("%s belongs to a run with other settings; training restarts", path)
            return start
        curves = [[(s, m, v) for s, m, v in curve] for curve in saved["curves"]]
        place = Place(saved["step"], curves)
        _restore(run, tensors, place)
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        log.warning("%s cannot be read (%s); training restarts", path, error)
        return start
    return place


def discard_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of finished runs from `folder`."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        path.unlink()


def _tensors(run: Run) -> dict[str, Tensor]:
    state = run.optimizer.state_dict()["state"]
    tensors = {f"model/{name}": value for name, value in run.model.state_dict().items()}
    for name, position in _positions(run).items():
        for key, value in state.get(position, {}).items():
            tensors[f"optimizer/{name}/{key}"] = value
    for name, generator in run.generators.items():
        tensors[f"generator/{name}"] = generator.get_state()
    tensors["tallies"] = run.tallies
    return {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}


def _positions(run: Run) -> dict[str, int]:
    names = {id(parameter): name for name, parameter in run.model.named_parameters()}
    parameters = [p for group in run.optimizer.param_groups for p in group["params"]]
    return {names[id(parameter)]: place for place, parameter in enumerate(parameters)}


def _restore(run: Run, tensors: dict[str, Tensor], place: Place) -> None:
    model = {_below(name): value for name, value in tensors.items() if name.startswith("model/")}
    expected = {name: value.shape for name, value in run.model.state_dict().items()}
    if {name: value.shape for name, value in model.items()} != expected:
        raise ValueError("its tensors fit another model")
    streams = {name: tensors[f"generator/{name}"] for name in run.generators}
    tallies = tensors["tallies"]
    if any(name.startswith("optimizer/") for name in tensors):
        moments = run.optimizer.state_dict()
        moments["state"] = {
            position: {
                key: tensors[f"optimizer/{name}/{key}"] for key in ("step", "exp_avg", "exp_avg_sq")
            }
            for name, position in _positions(run).items()
        }
        run.optimizer.load_state_dict(moments)
    run.model.load_state_dict(model)
    for name, generator in run.generators.items():
        generator.set_state(streams[name])
    run.tallies.copy_(tallies)


def _below(name: str) -> str:
    return name.split("/", 1)[1]
