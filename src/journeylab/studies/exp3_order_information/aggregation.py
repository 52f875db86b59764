"""The aggregate s = Σ_t R^{−(t−1)} v_{x_t} of a string x, and strings as numbers.

R turns plane k of a value by ω_k, so s_k = Σ_t e^{−iω_k(t−1)} v_{x_t,k} for the coordinates
(2k, 2k + 1) read as one complex number. All these rotations commute; s depends on the order because
every position turns by a different angle. A string of C colours is stored as the number whose
base-C digits are its colours, with x_1 as the last digit.

    N = 4, C = 2:   x = (1, 0, 1, 1)  ↔  1 + 0·2 + 1·4 + 1·8 = 13
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from journeylab.operators.rotary import count_planes, rotary_angles, rotate, unit_circle
from journeylab.studies.exp3_order_information.settings import SETS, SLOWEST, Variant


def frequencies(variant: Variant, width: int) -> Float[Tensor, " planes"]:
    """ω of every plane in float64: a geometric grid between the set's two frequencies.

    A grid from 0 keeps its first plane at 0 and spreads the others from SLOWEST to the set's second
    frequency. Raises ValueError for an odd or empty width.
    """
    chosen, planes = SETS[variant], count_planes(width)
    if chosen.last == 0.0:
        return torch.zeros(planes, dtype=torch.float64)
    if chosen.first == 0.0:
        turning = _geometric(SLOWEST, chosen.last, planes - 1) if planes > 2 else [chosen.last]
        return torch.tensor([0.0, *turning], dtype=torch.float64)
    return torch.tensor(_geometric(chosen.first, chosen.last, planes), dtype=torch.float64)


def terms(
    variant: Variant, values: Float[Tensor, "colours d"], length: int
) -> Float[Tensor, "length colours d"]:
    """The term R^{−(t−1)} v_c of s for colour c at position t; divided by N for mean pooling."""
    steps = -torch.arange(length, dtype=values.dtype)
    turns = unit_circle(rotary_angles(steps, frequencies(variant, values.shape[1])))
    added = rotate(values.expand(length, -1, -1), turns[:, None])
    return added / length if SETS[variant].pooling == "mean" else added


def standardise(added: Float[Tensor, "length colours d"]) -> Float[Tensor, "length colours d"]:
    """Shift and scale terms so that every coordinate of s has mean 0 and variance 1.

    Mean and variance are exact over uniform strings: colours are independent, so both are sums
    over the positions.
    """
    means = added.mean(1, keepdim=True)
    variance = (added - means).square().mean(1).sum(0)
    return (added - means) / variance.sqrt()


def spell(strings: Int[Tensor, "..."], length: int, colours: int) -> Int[Tensor, "... length"]:
    """The colours of strings given as numbers."""
    digits = colours ** torch.arange(length, device=strings.device)
    return strings[..., None].div(digits, rounding_mode="floor") % colours


def _geometric(first: float, last: float, count: int) -> list[float]:
    ratio = (last / first) ** (1.0 / (count - 1))
    return [first * ratio**k for k in range(count - 1)] + [last]
