"""A pre-norm stack of blocks around any mixer, its size, and its operations per token."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding, gelu

from journeylab.models.mixers.mixer import Mixer
from journeylab.models.mixers.registry import build_mixer
from journeylab.models.transformer import Affine

TOLERANCE = 0.05
"""Largest relative difference of parameters that counts as equal size."""
OPERATIONS = 2
"""Floating-point operations of a multiply-add."""


class Size(NamedTuple):
    """The width d of a block and the width of its MLP."""

    width: int
    hidden: int


class MixerBlock(nn.Module):
    """x ← x + mixer(LN x), then x ← x + W₂ gelu(W₁ LN x + b₁) + b₂."""

    def __init__(
        self,
        mechanism: str,
        size: Size,
        heads: int,
        *,
        scale: float = 1.0,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        width, hidden = size
        self.size = size
        self.mixer_norm = nn.LayerNorm(width)
        self.mixer = build_mixer(mechanism, width, heads, scale=scale, generator=generator)
        self.mlp_norm = nn.LayerNorm(width)
        self.expand = Affine(width, hidden, width**-0.5, generator)
        self.contract = Affine(hidden, width, hidden**-0.5, generator)

    def forward(self, x: Float[Tensor, "rows length width"]) -> Float[Tensor, "rows length width"]:
        """Return the block's output."""
        x = x + self.mixer(self.mixer_norm(x))
        fed: Tensor = self.contract(gelu(self.expand(self.mlp_norm(x))))
        return x + fed

    def multiply_adds(self, length: int) -> int:
        """Those of the mixer, and 2d·hidden, per token of a row of `length` tokens."""
        mixing = cast(Mixer, self.mixer).multiply_adds(length)
        return mixing + 2 * self.size.width * self.size.hidden


class SequenceModel(nn.Module):
    """Tokens → embedding → blocks → LN → logits of every prefix.

    ```
    size = match_size("path", 4, parameters=50_000)
    model = SequenceModel("path", 60, 60, size, heads=4, layers=1, generator=generator)
    logits = model(tokens)                       # [rows, length, answers]
    ```

    The embedding is drawn from N(0, 1) and the readout from N(0, 1/d), both before the blocks, so
    models of one width and seed share them. `scale` multiplies the initial weights of operators,
    angles and gates. Raises ValueError for an empty vocabulary or no layers.
    """

    def __init__(
        self,
        mechanism: str,
        vocabulary: int,
        answers: int,
        size: Size,
        *,
        heads: int,
        layers: int,
        scale: float = 1.0,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        if vocabulary < 1 or answers < 1 or layers < 1:
            raise ValueError(
                "a model needs at least one token, one answer and one layer, "
                f"got vocabulary {vocabulary}, answers {answers}, layers {layers}"
            )
        self.embedding = nn.Parameter(torch.randn(vocabulary, size.width, generator=generator))
        self.head = Affine(size.width, answers, size.width**-0.5, generator)
        self.norm = nn.LayerNorm(size.width)
        self.blocks = nn.ModuleList(
            MixerBlock(mechanism, size, heads, scale=scale, generator=generator)
            for _ in range(layers)
        )

    def forward(self, tokens: Int[Tensor, "rows length"]) -> Float[Tensor, "rows length answers"]:
        """Return the logits of every prefix."""
        x = embedding(tokens, self.embedding)
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.norm(x))
        return logits

    def flops_per_token(self, length: int) -> float:
        """Operations of a forward pass, per token of a row of `length` tokens.

        A multiply-add counts as two; look-ups and elementwise operations are not counted. A
        training step takes three times as many.
        """
        blocks = sum(cast(MixerBlock, block).multiply_adds(length) for block in self.blocks)
        return float(OPERATIONS * (blocks + self.head.weight.numel()))


def count_parameters(module: nn.Module) -> int:
    """Return the number of trained parameters."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


def match_hidden(mechanism: str, width: int, heads: int, *, parameters: int) -> Size:
    """Return the size of this width at which a block has `parameters` parameters, within 5 %.

    The MLP takes the parameters that the mixer leaves. Raises ValueError if the mixer leaves none,
    or no MLP comes within 5 %.
    """
    left = parameters - _fixed_parameters(mechanism, width, heads)
    hidden = round(left / (2 * width + 1))
    if hidden < 1 or abs(left - hidden * (2 * width + 1)) > TOLERANCE * parameters:
        raise ValueError(
            f"no block of {mechanism!r} with width {width} and {heads} heads has {parameters} "
            "parameters within 5 %"
        )
    return Size(width, hidden)


def match_size(mechanism: str, heads: int, *, parameters: int, ratio: float = 4.0) -> Size:
    """Return the size at which a mechanism's block has `parameters` parameters, within 5 %.

    Widths are multiples of 2·heads. At every width the MLP takes the parameters that the mixer
    leaves; of all widths the result is the one whose MLP is closest to `ratio` times as wide, as a
    quotient. Raises ValueError if no width comes within 5 %.
    """
    best: Size | None = None
    width = 2 * heads
    while (left := parameters - _fixed_parameters(mechanism, width, heads)) > 0:
        hidden = round(left / (2 * width + 1))
        missed = abs(left - hidden * (2 * width + 1)) / parameters
        if hidden > 0 and missed <= TOLERANCE:
            size = Size(width, hidden)
            if best is None or _distance(size, ratio) < _distance(best, ratio):
                best = size
        width += 2 * heads
    if best is None:
        raise ValueError(
            f"no block of {mechanism!r} with {heads} heads has {parameters} parameters within 5 %"
        )
    return best


def _distance(size: Size, ratio: float) -> float:
    quotient = size.hidden / (ratio * size.width)
    return max(quotient, 1.0 / quotient)


def _fixed_parameters(mechanism: str, width: int, heads: int) -> int:
    """The parameters of a block without the hidden units of its MLP, which have 2d + 1 each."""
    block = MixerBlock(mechanism, Size(width, 1), heads, generator=torch.Generator())
    return count_parameters(block) - (2 * width + 1)
