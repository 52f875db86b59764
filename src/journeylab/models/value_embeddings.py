"""Vectors for numbers: how a model is told a cost, a count or any other scalar value.

    from journeylab.models.value_embeddings import Hybrid, UnitRms

    hybrid = Hybrid(48, sinusoidal=0.5, size=101, generator=generator)
    embedding = UnitRms(hybrid, torch.arange(1, 101))
    embedding(torch.tensor([3, 50, 98]))  # (3, 48)

Every embedding is a module that maps values ``(*batch)`` to vectors ``(*batch, width)``, and draws
what it starts at from the given generator only. All but tables take values between those they
have seen, and beyond; x = (v − low) / (high − low) is a value in units of its range.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Real
from torch import Generator, Tensor, nn
from torch.nn.functional import embedding as look_up

BASE = 10_000.0


class Range(NamedTuple):
    """What counts as 0 and as 1."""

    low: float = 0.0
    high: float = 100.0

    def scale(self, values: Tensor) -> Tensor:
        """x = (v − low) / (high − low), of whole numbers in the default floating-point type."""
        if not values.is_floating_point():
            values = values.to(torch.get_default_dtype())
        return (values - self.low) / (self.high - self.low)


COSTS = Range()


class Discrete(nn.Module):
    """A table: row v, drawn from N(0, 1), is the vector of the whole number v in [0, size).

    It knows no order: what it learns of one value says nothing of another.
    """

    def __init__(self, width: int, *, size: int, generator: Generator) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(size, width, generator=generator))

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return the rows of these values."""
        return look_up(values.long(), self.table)


class Waves(nn.Module):
    """sin(ω_i x) and cos(ω_i x), interleaved, for given ω in radians over the range.

    The parent of :class:`Sinusoidal` and :class:`Fourier`; nothing is learned.
    Raises ValueError for an odd width.
    """

    frequencies: Tensor

    def __init__(self, width: int, frequencies: Tensor, scale: Range) -> None:
        super().__init__()
        if width % 2 or width < 2:
            raise ValueError(f"width {width}: sines and cosines come in pairs; write an even one")
        self.scale = scale
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return (sin ω_0 x, cos ω_0 x, sin ω_1 x, …)."""
        x = self.scale.scale(values)
        angles = x[..., None] * self.frequencies.to(x.dtype)
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)


class Sinusoidal(Waves):
    """sin(x ω_i) and cos(x ω_i) with ω_i = 10000^(−exponent·i/width), i = 0 … width/2 − 1.

    ``exponent`` 2 has the frequencies of Vaswani et al., Attention is all you need, 2017, §3.5,
    for positions 0, 1, 2, …; 1 has them run over half of that in the logarithm. With x in [0, 1] no
    feature goes through more than 1/2π of a cycle: the curve is all but a straight line.
    """

    def __init__(self, width: int, *, exponent: float = 1.0, scale: Range = COSTS) -> None:
        places = torch.arange(width // 2, dtype=torch.float64) / width
        super().__init__(width, BASE ** (-exponent * places), scale)


class Fourier(Waves):
    """sin and cos of frequencies in geometric progression, ``slowest`` to ``fastest`` cycles.

    Cycles are counted over the range. Source: Tancik et al., Fourier features let networks learn
    high frequency functions in low dimensional domains, 2020, there with other progressions.
    """

    def __init__(self, width: int, *, slowest: float, fastest: float, scale: Range = COSTS) -> None:
        ends = math.log2(slowest), math.log2(fastest)
        octaves = torch.linspace(*ends, width // 2, dtype=torch.float64)
        super().__init__(width, 2.0 * math.pi * 2.0**octaves, scale)


class Standardised(nn.Module):
    """Another embedding less its mean over the ``reference`` values; its shape stays as it is."""

    mean: Tensor

    def __init__(self, inner: nn.Module, reference: Real[Tensor, " values"]) -> None:
        super().__init__()
        self.inner = inner
        with torch.no_grad():
            self.register_buffer("mean", inner(reference).mean(0), persistent=False)

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return e(v) − mean e."""
        centred: Tensor = self.inner(values) - self.mean
        return centred


class Hybrid(nn.Module):
    """A sinusoidal part and a learned table, end to end; ``sinusoidal`` is the share of the former.

    The sinusoidal part has the even width nearest to that share of ``width`` from below, the table
    has the rest. Its waves count √2, so that both parts have an RMS of 1.
    """

    def __init__(
        self,
        width: int,
        *,
        sinusoidal: float,
        size: int,
        generator: Generator,
        scale: Range = COSTS,
    ) -> None:
        super().__init__()
        waves, learned = split_width(width, sinusoidal)
        self.waves = Sinusoidal(waves, scale=scale)
        self.learned = Discrete(learned, size=size, generator=generator)

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return both parts, the waves first."""
        return torch.cat((math.sqrt(2.0) * self.waves(values), self.learned(values)), -1)


class Periodic(nn.Module):
    """Waves of learned frequencies and a linear map: W [sin 2πcx, cos 2πcx] + b, c ~ N(0, spread²).

    Source: Gorishniy, Rubachev and Babenko, On embeddings for numerical features in tabular deep
    learning, 2022, §3.3 (periodic, then linear). As many frequencies as half the width.
    """

    def __init__(
        self, width: int, *, spread: float, generator: Generator, scale: Range = COSTS
    ) -> None:
        super().__init__()
        self.scale = scale
        self.cycles = nn.Parameter(spread * torch.randn(width // 2, generator=generator))
        drawn = torch.randn(width, 2 * (width // 2), generator=generator)
        self.weight = nn.Parameter(drawn / math.sqrt(width // 2))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return the mapped waves."""
        angles = 2.0 * math.pi * self.scale.scale(values)[..., None] * self.cycles
        waves = torch.cat((angles.sin(), angles.cos()), -1)
        return waves @ self.weight.mT + self.bias


class Scalar(nn.Module):
    """The value itself times one learned vector, (2x − 1) u, u ~ N(0, 1).

    Source: Golkar et al., xVal: a continuous numerical tokenization for scientific language models,
    2023; there the vector is that of a number token.
    """

    def __init__(self, width: int, *, generator: Generator, scale: Range = COSTS) -> None:
        super().__init__()
        self.scale = scale
        self.direction = nn.Parameter(torch.randn(width, generator=generator))

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return the multiples of the vector."""
        return (2.0 * self.scale.scale(values) - 1.0)[..., None] * self.direction


class Thermometer(nn.Module):
    """A learned vector for every threshold, added where the value reaches it, subtracted elsewhere.

    e(v) = Σ_k s_k(v) w_k / √levels, s_k(v) = 1 where v ≥ k and −1 elsewhere, k = 1 … levels, w_k ~
    N(0, 1): the inner product of two values falls linearly with their distance.
    Source of the code: Buckman et al., Thermometer encoding: one hot way to resist adversarial
    examples, 2018.
    """

    def __init__(self, width: int, *, levels: int, generator: Generator) -> None:
        super().__init__()
        self.steps = nn.Parameter(torch.randn(levels, width, generator=generator))

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return the sums over all thresholds."""
        levels = len(self.steps)
        thresholds = torch.arange(1, levels + 1, device=self.steps.device)
        reached = (values[..., None] >= thresholds).to(self.steps.dtype)
        return (2.0 * reached - 1.0) @ self.steps / math.sqrt(levels)


class UnitRms(nn.Module):
    """Another embedding, scaled to start with an RMS of 1 over the ``reference`` values."""

    factor: Tensor

    def __init__(self, inner: nn.Module, reference: Real[Tensor, " values"]) -> None:
        super().__init__()
        self.inner = inner
        with torch.no_grad():
            self.register_buffer("factor", 1.0 / rms(inner(reference)), persistent=False)

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return the scaled vectors."""
        scaled: Tensor = self.factor * self.inner(values)
        return scaled


def split_width(width: int, sinusoidal: float) -> tuple[int, int]:
    """Widths of the waves and of the table of a hybrid: they add up to ``width``.

    Raises ValueError where one of the two would be empty.
    """
    waves = 2 * int(width * sinusoidal / 2)
    if not 0 < waves < width:
        raise ValueError(
            f"a share of {sinusoidal} of width {width} has {waves} waves; both parts need some"
        )
    return waves, width - waves


def rms(vectors: Float[Tensor, "*batch width"]) -> Float[Tensor, ""]:
    """The root of the mean square over all numbers."""
    return vectors.square().mean().sqrt()
