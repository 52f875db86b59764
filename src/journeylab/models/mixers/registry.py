"""The mechanisms by name. A new one is a file beside this one that defines `MECHANISMS`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import torch
from torch import nn

from journeylab.models.mixers.mixer import Build, check_heads
from journeylab.models.mixers.names import ATTRIBUTE, mechanism_modules


def _discover() -> dict[str, Build]:
    defined: dict[str, Build] = {}
    for module in mechanism_modules():
        defined |= getattr(import_module(f"{__package__}.{module}"), ATTRIBUTE)
    return defined


MECHANISMS: Mapping[str, Build] = _discover()
"""Mechanism → constructor; the name is what a configuration writes."""
COMMUTING = frozenset(
    {
        *("rope", "liere", "selective-rope", "mamba3", "mamba3-real"),
        *("toral-product", "toral-aggregation", "toral-attention", "toral-transport"),
    }
)
"""Mechanisms whose operators commute with each other; others have none, or do not commute."""


def build_mixer(
    mechanism: str, width: int, heads: int, *, scale: float = 1.0, generator: torch.Generator
) -> nn.Module:
    """Return a new mixer whose `operator_weights` are multiplied by `scale`.

    Raises ValueError for an unknown mechanism, a width that is not a multiple of `heads`, and
    what the mechanism itself refuses.
    """
    if mechanism not in MECHANISMS:
        known = ", ".join(MECHANISMS)
        raise ValueError(f"unknown mechanism {mechanism!r}; write one of {known}")
    check_heads(width, heads)
    mixer = MECHANISMS[mechanism](width, heads, generator=generator)
    state = mixer.state_dict()  # parameters and buffers, which it shares
    for name in operator_weights(mixer):
        state[name].mul_(scale)
    return mixer


def operator_weights(mixer: nn.Module) -> tuple[str, ...]:
    """What a mixer computes the size of operators, angles or gates from; () without any."""
    named: tuple[str, ...] = getattr(mixer, "operator_weights", ())
    return named
