"""The mechanisms by name. A new mechanism is one file beside this one and one entry here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Protocol

import torch
from torch import nn

from journeylab.models.mixers.cope import ContextualAttention
from journeylab.models.mixers.delta import DeltaProduct
from journeylab.models.mixers.gru import GatedRecurrence
from journeylab.models.mixers.journey import JourneyAttention, JourneyState
from journeylab.models.mixers.mamba3 import ComplexStateSpace
from journeylab.models.mixers.path import PathAttention
from journeylab.models.mixers.selective_rope import SelectiveRotaryAttention
from journeylab.models.mixers.softmax import (
    ForgettingAttention,
    LieAttention,
    LinearBiasAttention,
    RotaryAttention,
    SoftmaxAttention,
)


class Build(Protocol):
    """A constructor of mixers: `nn.Module`s that satisfy `mixer.Mixer`."""

    def __call__(self, width: int, heads: int, *, generator: torch.Generator) -> nn.Module:
        """Return a mixer whose parameters come from `generator` only."""
        ...


MECHANISMS: Mapping[str, Build] = {
    "none": SoftmaxAttention,
    "rope": RotaryAttention,
    "alibi": LinearBiasAttention,
    "cope": ContextualAttention,
    "liere": LieAttention,
    "selective-rope": SelectiveRotaryAttention,
    "fox": ForgettingAttention,
    "path": PathAttention,
    "path-fox": partial(PathAttention, forget=True),
    "delta": DeltaProduct,
    "delta-signed": partial(DeltaProduct, eigenvalues="signed"),
    "delta-gated": partial(DeltaProduct, gated=True),
    "delta-product": partial(DeltaProduct, steps=2),
    "delta-product-signed": partial(DeltaProduct, steps=2, eigenvalues="signed"),
    "mamba3": ComplexStateSpace,
    "gru": GatedRecurrence,
    "orthogonal-product": JourneyState,
    "linear-product": partial(JourneyState, family="linear", scale=0.3),
    "toral-product": partial(JourneyState, family="toral"),
    "orthogonal-aggregation": partial(JourneyState, aggregate=True),
    "linear-aggregation": partial(JourneyState, family="linear", aggregate=True, scale=0.3),
    "toral-aggregation": partial(JourneyState, family="toral", aggregate=True),
    "orthogonal-attention": JourneyAttention,
    "orthogonal-transport": partial(JourneyAttention, transport=True),
    "toral-attention": partial(JourneyAttention, family="toral"),
    "toral-transport": partial(JourneyAttention, family="toral", transport=True),
}
"""Mechanism → constructor; the name is what a configuration writes."""
COMMUTING = frozenset(
    {
        *("rope", "liere", "selective-rope", "mamba3", "toral-product", "toral-aggregation"),
        *("toral-attention", "toral-transport"),
    }
)
"""Mechanisms whose operators commute with each other; others have none, or do not commute."""


def build_mixer(mechanism: str, width: int, heads: int, *, generator: torch.Generator) -> nn.Module:
    """Return a new mixer; raise ValueError for an unknown mechanism or an unsuitable width."""
    if mechanism not in MECHANISMS:
        known = ", ".join(MECHANISMS)
        raise ValueError(f"unknown mechanism {mechanism!r}; write one of {known}")
    return MECHANISMS[mechanism](width, heads, generator=generator)
