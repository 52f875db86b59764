"""Rotary position operators: rotations of d/2 planes, applied as complex products.

Plane k of a vector consists of the coordinates (2k, 2k + 1), read as the complex number
x[2k] + i·x[2k + 1]. A rotation of the plane by the angle φ multiplies it by e^{iφ}. The numbers
e^{iφ} are computed once per forward pass and shared by all layers.

Source: Su et al., RoFormer (2021), section 3.2.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Complex, Float, Real
from torch import Tensor


@runtime_checkable
class Turn(Protocol):
    """A toral operator R: one rotation per position and plane, fixed during one forward pass."""

    @classmethod
    def by(cls, angles: Float[Tensor, "*batch planes"]) -> Turn:
        """Build R from the angles of its planes, in radians."""
        ...

    def scaled(self, factor: float) -> Turn:
        """Return factor · R; its `undo` still applies R⁻¹, without the factor."""
        ...

    def apply(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Return R x."""
        ...

    def undo(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Return R⁻¹ x."""
        ...


def count_planes(width: int) -> int:
    """Return the number of planes d/2; raise ValueError for an odd or empty width."""
    if width < 2 or width % 2:
        raise ValueError(f"a rotation needs an even width of at least 2, got {width}")
    return width // 2


def standard_frequencies(width: int, base: float = 10000.0) -> Float[Tensor, " planes"]:
    """Return ω_k = base^(−2k/d) for k = 0 … d/2 − 1, in radians per position, in float32.

    Raises ValueError for an odd or empty width.
    """
    planes = count_planes(width)
    exponents = torch.arange(planes, dtype=torch.float64) * (-2.0 / width)
    return torch.pow(torch.tensor(base, dtype=torch.float64), exponents).float()


def integer_frequencies(width: int) -> Float[Tensor, " planes"]:
    """Return ω_k = k for k = 0 … d/2 − 1, in radians per position: plane 0 never rotates.

    An ablation of `standard_frequencies`, as found in shipped code. In float32. Raises ValueError
    for an odd or empty width.
    """
    return torch.arange(count_planes(width), dtype=torch.float32)


def rotary_angles(
    positions: Real[Tensor, "*batch length"], frequencies: Float[Tensor, " planes"]
) -> Float[Tensor, "*batch length planes"]:
    """Return φ[i, k] = i·ω_k in radians: rotary embedding is the journey with constant steps ω."""
    return positions.to(frequencies.dtype)[..., None] * frequencies


def unit_circle(angles: Float[Tensor, "*shape"]) -> Complex[Tensor, "*shape"]:
    """Return e^{iφ} = cos φ + i sin φ, elementwise."""
    return torch.view_as_complex(torch.stack((angles.cos(), angles.sin()), dim=-1))


def rotate(
    x: Float[Tensor, "*batch width"], unit: Complex[Tensor, "*#batch planes"]
) -> Float[Tensor, "*batch width"]:
    """Return R x, with (R x)_k = unit_k · x_k for every plane k as a complex number.

    `unit` holds e^{iφ}. The result has the wider precision of x and `unit`, whose leading
    dimensions broadcast against those of x.
    """
    planes = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(planes * unit).flatten(-2)


class Rotation(NamedTuple):
    """The fast implementation of `Turn`: e^{iφ} and its conjugate, shared by all layers.

    >>> turn = Rotation.by(rotary_angles(torch.arange(5), standard_frequencies(8)))
    >>> turn.undo(turn.apply(torch.ones(5, 8))).round(decimals=4).eq(1).all()
    tensor(True)
    """

    angles: Float[Tensor, "*batch planes"]
    unit: Complex[Tensor, "*batch planes"]
    inverse: Complex[Tensor, "*batch planes"]

    @classmethod
    def by(cls, angles: Float[Tensor, "*batch planes"]) -> Rotation:
        """Build R from the angles of its planes, in radians."""
        unit = unit_circle(angles)
        return cls(angles, unit, unit.conj().resolve_conj())

    def scaled(self, factor: float) -> Rotation:
        """Return factor · R: scaling the operator costs less than scaling the vectors."""

        return self._replace(unit=self.unit * factor)

    def apply(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Return R x."""
        return rotate(x, self.unit)

    def undo(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Return R⁻¹ x = Rᵀ x."""
        return rotate(x, self.inverse)
