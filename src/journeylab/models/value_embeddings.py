"""Vectors for numbers: embeddings of a cost, a count or any other scalar value.

    from journeylab.models.value_embeddings import Hybrid, UnitRms

    hybrid = Hybrid(48, sinusoidal=0.5, size=101, generator=generator)
    embedding = UnitRms(hybrid, torch.arange(1, 101))
    embedding(torch.tensor([3, 50, 98]))  # (3, 48)

Every embedding is a module that maps values ``(*batch)`` to vectors ``(*batch, width)``. Its
initial parameters are drawn only from the given generator. All but
`Discrete`, `Hybrid` (which has a table) and `Thermometer` (constant between thresholds) can
interpolate and extrapolate; x = (v − low) / (high − low) is a value relative to its range.
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
    """The values that are scaled to x = 0 and to x = 1."""

    low: float = 0.0
    high: float = 100.0

    def scale(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Return x = (v − low) / (high − low); integers become the default floating-point dtype."""
        if not values.is_floating_point():
            values = values.to(torch.get_default_dtype())
        return (values - self.low) / (self.high - self.low)


COSTS = Range()


class Discrete(nn.Module):
    """A table whose row v is the vector of the integer v, 0 ≤ v < size; drawn from N(0, 1).

    The rows are independent: training on one value does not affect any other. Fractions of a value
    are cut off; a value outside the table raises IndexError on a CPU.
    """

    def __init__(self, width: int, *, size: int, generator: Generator) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(size, width, generator=generator))

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return row v of the table for every value v."""
        return look_up(values.long(), self.table)


class Waves(nn.Module):
    """sin(ω_i x) and cos(ω_i x), interleaved, for given ω in radians per range of the values.

    The parent of :class:`Sinusoidal` and :class:`Fourier`; it has no parameters. Raises ValueError
    for an odd width.
    """

    frequencies: Float[Tensor, " waves"]

    def __init__(self, width: int, frequencies: Float[Tensor, " waves"], scale: Range) -> None:
        super().__init__()
        if width % 2 or width < 2:
            raise ValueError(f"width {width} is odd or 0; sines and cosines need an even width")
        self.scale = scale
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return (sin ω_0 x, cos ω_0 x, sin ω_1 x, …)."""
        x = self.scale.scale(values)
        angles = x[..., None] * self.frequencies.to(x.dtype)
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)


class Sinusoidal(Waves):
    """sin(x ω_i) and cos(x ω_i) with ω_i = 10000^(−exponent·i/width), i = 0 … width/2 − 1.

    With ``exponent`` 2, the frequencies are those of Vaswani et al., Attention is all you need,
    2017, §3.5, for positions 0, 1, 2, …; with 1, their logarithms span half of that range. For x in
    [0, 1] no feature runs through more than 1/2π of a cycle, so each one is nearly linear in x.
    """

    def __init__(self, width: int, *, exponent: float = 1.0, scale: Range = COSTS) -> None:
        shares = torch.arange(width // 2, dtype=torch.float64) / width
        super().__init__(width, BASE ** (-exponent * shares), scale)


class Fourier(Waves):
    """sin and cos with frequencies in geometric progression from ``slowest`` to ``fastest``.

    Frequencies are in cycles per range of the values. Source: Tancik et al., Fourier features let
    networks learn high frequency functions in low dimensional domains, 2020, which uses other
    progressions.
    """

    def __init__(self, width: int, *, slowest: float, fastest: float, scale: Range = COSTS) -> None:
        ends = math.log2(slowest), math.log2(fastest)
        octaves = torch.linspace(*ends, width // 2, dtype=torch.float64)
        super().__init__(width, 2.0 * math.pi * 2.0**octaves, scale)


class Standardised(nn.Module):
    """Another embedding minus its initial mean over the ``reference`` values.

    The mean is not in the `state_dict`: before weights are loaded, build the module from the same
    generator and reference values.
    """

    mean: Float[Tensor, " width"]

    def __init__(self, inner: nn.Module, reference: Real[Tensor, " values"]) -> None:
        super().__init__()
        self.inner = inner
        with torch.no_grad():
            self.register_buffer("mean", inner(reference).mean(0), persistent=False)

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return e(v) − mean(e)."""
        centred: Tensor = self.inner(values) - self.mean
        return centred


class Hybrid(nn.Module):
    """The concatenation of sinusoids and a learned table; ``sinusoidal`` is the sinusoids' share.

    The width of the sinusoids is the largest even number up to that share of ``width``; the table
    has the rest. The sinusoids are multiplied by √2, so that both parts have an RMS of 1, and then
    by ``amplitude``, which is 1 unless it is set. Raises ValueError if a part had width 0.
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
        self.amplitude = 1.0

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return the concatenation, sinusoids first."""
        waves = math.sqrt(2.0) * self.amplitude * self.waves(values)
        return torch.cat((waves, self.learned(values)), -1)


class Periodic(nn.Module):
    """W [sin 2πcx, cos 2πcx] + b with learned frequencies c, initially c ~ N(0, spread²).

    There are ⌊width/2⌋ frequencies. Source: Gorishniy, Rubachev and Babenko, On embeddings for
    numerical features in tabular deep learning, 2022, §3.3 (periodic, then linear).
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
        """Return W [sin 2πcx, cos 2πcx] + b."""
        angles = 2.0 * math.pi * self.scale.scale(values)[..., None] * self.cycles
        waves = torch.cat((angles.sin(), angles.cos()), -1)
        return waves @ self.weight.mT + self.bias


class Scalar(nn.Module):
    """(2x − 1) u with a learned vector u, initially u ~ N(0, 1).

    Source: Golkar et al., xVal: a continuous numerical tokenization for scientific language models,
    2023, where u is the embedding of a number token.
    """

    def __init__(self, width: int, *, generator: Generator, scale: Range = COSTS) -> None:
        super().__init__()
        self.scale = scale
        self.direction = nn.Parameter(torch.randn(width, generator=generator))

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return (2x − 1) u."""
        return (2.0 * self.scale.scale(values) - 1.0)[..., None] * self.direction


class Thermometer(nn.Module):
    """A learned vector per threshold, added if the value reaches the threshold, else subtracted.

    e(v) = Σ_k s_k(v) w_k / √levels, s_k(v) = 1 if v ≥ k, else −1, for k = 1 … levels, initially
    w_k ~ N(0, 1). On average, the inner product of two vectors falls linearly with the distance of
    their values. Source of the code s: Buckman et al., Thermometer encoding: one hot way to resist
    adversarial examples, 2018.
    """

    def __init__(self, width: int, *, levels: int, generator: Generator) -> None:
        super().__init__()
        self.steps = nn.Parameter(torch.randn(levels, width, generator=generator))

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return Σ_k s_k(v) w_k / √levels."""
        levels = len(self.steps)
        thresholds = torch.arange(1, levels + 1, device=self.steps.device)
        reached = (values[..., None] >= thresholds).to(self.steps.dtype)
        return (2.0 * reached - 1.0) @ self.steps / math.sqrt(levels)


class UnitRms(nn.Module):
    """Another embedding, scaled so that its initial RMS over the ``reference`` values is 1.

    The factor is not in the `state_dict`: before weights are loaded, build the module from the same
    generator and reference values.
    """

    factor: Float[Tensor, ""]

    def __init__(self, inner: nn.Module, reference: Real[Tensor, " values"]) -> None:
        super().__init__()
        self.inner = inner
        with torch.no_grad():
            self.register_buffer("factor", 1.0 / rms(inner(reference)), persistent=False)

    def forward(self, values: Real[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """Return e(v) / initial RMS."""
        scaled: Tensor = self.factor * self.inner(values)
        return scaled


def split_width(width: int, sinusoidal: float) -> tuple[int, int]:
    """Return the widths of the sinusoids and of the table of a `Hybrid`; their sum is ``width``.

    Raises ValueError if either would be 0.
    """
    waves = 2 * int(width * sinusoidal / 2)
    if not 0 < waves < width:
        raise ValueError(
            f"a share of {sinusoidal} of width {width} gives sinusoids a width of {waves}; "
            f"it must be between 0 and {width}"
        )
    return waves, width - waves


def rms(vectors: Float[Tensor, "*batch width"]) -> Float[Tensor, ""]:
    """Return the square root of the mean square of all entries."""
    return vectors.square().mean().sqrt()
