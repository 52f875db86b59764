"""A small pre-LN transformer whose positions act by toral operators.

The model reads several groups of rows in one forward pass. Every position-wise operation
(embedding, projections, MLP) runs over the concatenated tokens of all groups; only attention works
within a group, which has its own length, mask and angles. Causal rows of text and bidirectional
rows of triples therefore share a forward pass without being padded to the same length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding, gelu

from journeylab.models.attention import Weighting, attend, mask_scores
from journeylab.models.fused import BlockWeights, fused_blocks, pick
from journeylab.models.fused_attention import Layout, RotationGroup
from journeylab.operators.affine import affine
from journeylab.operators.dropout import Dropout, draw_masks
from journeylab.operators.rotary import Rotation, Turn, count_planes


class Rows(NamedTuple):
    """A group of rows of one length.

    `angles`, in radians, rotate the planes of each position (None: no position). `mask` is True
    where a query may attend to a key (None: everywhere).
    """

    tokens: Int[Tensor, "rows length"]
    angles: Float[Tensor, "#rows length planes"] | None = None
    mask: Bool[Tensor, "#rows #length length"] | None = None


class Affine(nn.Module):
    """y = x Wᵀ + b, with W drawn from N(0, std²) and b = 0."""

    def __init__(self, inputs: int, outputs: int, std: float, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, generator=generator) * std)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch outputs"]:
        """Return x Wᵀ + b."""
        return affine(x, self.weight, self.bias)


class Group(NamedTuple):
    """Operators and mask of a group of rows, computed once per forward pass for all layers."""

    rows: int
    length: int
    turn: Turn | None
    mask: Float[Tensor, "#rows #length length"] | None


class TransformerBlock(nn.Module):
    """Pre-LN attention and MLP with residual connections.

    With `transport`, the values are transported by the operators as well: position j contributes
    R_j v_j and the sum is multiplied by R_i⁻¹, so attention at i returns Σ_j a_ij R_i⁻¹ R_j v_j.
    """

    def __init__(
        self,
        width: int,
        depth: int,
        transport: bool,
        weighting: Weighting,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.transport = transport
        self.weighting: Weighting = weighting
        std, into_residual = width**-0.5, (2 * depth * width) ** -0.5
        self.attention_norm = nn.LayerNorm(width)
        self.project = Affine(width, 3 * width, std, generator)
        self.output = Affine(width, width, into_residual, generator)
        self.mlp_norm = nn.LayerNorm(width)
        self.expand = Affine(width, 4 * width, std, generator)
        self.contract = Affine(4 * width, width, into_residual / 2, generator)

    def read(
        self, projected: Float[Tensor, "rows length threefold"], group: Group
    ) -> tuple[
        Float[Tensor, "rows length width"],
        Float[Tensor, "rows length width"],
        Float[Tensor, "rows length width"],
    ]:
        """Return R_i q_i/√d, the baked keys R_j k_j, and R_j v_j (v_j without `transport`)."""
        q, k, v = projected.unflatten(-1, (3, -1)).unbind(-2)
        scale = q.shape[-1] ** -0.5
        if group.turn is None:
            return q * scale, k, v
        if self.transport:
            v = group.turn.apply(v)
        return group.turn.scaled(scale).apply(q), group.turn.apply(k), v

    def arrive(
        self, x: Float[Tensor, "rows length width"], group: Group
    ) -> Float[Tensor, "rows length width"]:
        """Return R_i⁻¹ x_i with `transport`, which completes the transport of values; else x."""
        return group.turn.undo(x) if self.transport and group.turn is not None else x

    def mix(
        self, projected: Float[Tensor, "tokens threefold"], groups: Sequence[Group]
    ) -> Float[Tensor, "tokens width"]:
        """Return attention within the rows of every group, for concatenated q, k and v."""
        mixed = []
        sizes = [group.rows * group.length for group in groups]
        for part, group in zip(projected.split(sizes), groups, strict=True):
            rows = part.unflatten(0, (group.rows, group.length))
            q, k, v = self.read(rows, group)
            out = self.arrive(attend(q, k, v, group.mask, self.weighting), group)
            mixed.append(out.flatten(0, 1))
        return torch.cat(mixed) if len(mixed) > 1 else mixed[0]

    def feed(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Return W₂ gelu(W₁ LN(x) + b₁) + b₂: the MLP without its residual connection."""
        fed: Tensor = self.contract(gelu(self.expand(self.mlp_norm(x))))
        return fed

    def forward(
        self,
        x: Float[Tensor, "tokens width"],
        groups: Sequence[Group],
        dropout: Float[Tensor, "2 selected width"] | None,
        selected: Int[Tensor, " selected"] | None = None,
    ) -> Float[Tensor, "selected width"]:
        """Return y of equation (1) in `fused` for the concatenated tokens of all groups.

        With `selected`, distinct indices into these tokens, only their outputs are computed;
        `dropout` holds the factors of both branches for these tokens.
        """
        mixed = self.mix(self.project(self.attention_norm(x)), groups)
        x, mixed = pick(x, selected), self.output(pick(mixed, selected))
        x = x + mixed if dropout is None else torch.addcmul(x, mixed, dropout[0])
        fed = self.feed(x)
        return x + fed if dropout is None else torch.addcmul(x, fed, dropout[1])

    @property
    def weights(self) -> BlockWeights:
        """The parameters, for `fused.fused_blocks`."""
        return BlockWeights(
            self.attention_norm.weight,
            self.attention_norm.bias,
            self.project.weight,
            self.project.bias,
            self.output.weight,
            self.output.bias,
            self.mlp_norm.weight,
            self.mlp_norm.bias,
            self.expand.weight,
            self.expand.bias,
            self.contract.weight,
            self.contract.bias,
        )


class Transformer(nn.Module):
    """A pre-LN transformer with one head, a GELU MLP of width 4d and an untied output projection.

    ```
    model = Transformer(55, transport=True, generator=streams.generator("init"))
    text = Rows(tokens, rotary_angles(torch.arange(40), standard_frequencies(64))[None], mask)
    logits = model([text])                       # one row of logits per token
    ```

    Parameters: 2·V·d + V for embedding and output, 12d² + 13d per block, 2d for the last norm.
    The embedding is drawn from N(0, 1), weights from N(0, 1/fan_in), the output projection from
    N(0, 0.02²), in the order of their definition and from `generator` only; projections into the
    residual stream are divided by √(2·layers). Raises ValueError for an odd width, an empty
    vocabulary or no layers.
    """

    def __init__(
        self,
        vocabulary: int,
        *,
        width: int = 64,
        layers: int = 2,
        transport: bool = False,
        weighting: Weighting = "softmax",
        turn: type[Turn] = Rotation,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        count_planes(width)
        if vocabulary < 1 or layers < 1:
            raise ValueError(
                "a transformer needs at least one token and one layer, "
                f"got vocabulary {vocabulary}, layers {layers}"
            )
        self.vocabulary, self.width, self.layers = vocabulary, width, layers
        self.weighting: Weighting = weighting
        self.turn = turn
        self.embedding = nn.Parameter(torch.randn(vocabulary, width, generator=generator))
        blocks = [
            TransformerBlock(width, layers, transport, weighting, generator) for _ in range(layers)
        ]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(width)
        self.head = Affine(width, vocabulary, 0.02, generator)

    def prepare(self, rows: Rows) -> Group:
        """Return a group's operators and mask, shared by all layers."""
        turn = None if rows.angles is None else self.turn.by(rows.angles)
        count, length = rows.tokens.shape
        return Group(count, length, turn, self.scores(rows))

    def scores(self, rows: Rows) -> Float[Tensor, "#rows #length length"] | None:
        """Return a group's mask as numbers."""
        if rows.mask is None:
            return None
        return mask_scores(rows.mask, self.weighting, self.embedding.dtype)

    def hidden(
        self,
        rows: Sequence[Rows],
        dropout: Dropout | None = None,
        present: Int[Tensor, " present"] | None = None,
        predicted: Int[Tensor, " predicted"] | None = None,
    ) -> Float[Tensor, "predicted width"]:
        """Return the last block's output for the concatenated tokens of all groups.

        `present` and `predicted` are distinct indices into these tokens (None: all). In all blocks
        but the last, the operations after attention are computed for the tokens in `present` only;
        the masks must ensure that no other token is attended to. In the last block they are
        computed for the tokens in `predicted` only, and only these are returned.
        """
        tokens = torch.cat([group.tokens.flatten() for group in rows])
        x: Tensor = embedding(tokens, self.embedding)
        masks = None if dropout is None else self.draw(dropout, x)
        compute = self.fused if self.turn is Rotation else self.block_by_block
        return compute(x, rows, masks, present, predicted)

    def fused(
        self,
        x: Float[Tensor, "tokens width"],
        rows: Sequence[Rows],
        dropout: Float[Tensor, "sites tokens width"] | None,
        present: Int[Tensor, " present"] | None,
        predicted: Int[Tensor, " predicted"] | None,
    ) -> Float[Tensor, "predicted width"]:
        """Return the last block's output; all blocks are one operation."""
        first = cast(TransformerBlock, self.blocks[0])
        shapes = tuple((len(group.tokens), group.tokens.shape[1]) for group in rows)
        layout = Layout(shapes, self.weighting, first.transport)
        weights = [cast(TransformerBlock, block).weights for block in self.blocks]
        groups = [RotationGroup(group.angles, self.scores(group)) for group in rows]
        return fused_blocks(layout, x, dropout, weights, groups, present, predicted)

    def block_by_block(
        self,
        x: Float[Tensor, "tokens width"],
        rows: Sequence[Rows],
        dropout: Float[Tensor, "sites tokens width"] | None,
        present: Int[Tensor, " present"] | None,
        predicted: Int[Tensor, " predicted"] | None,
    ) -> Float[Tensor, "predicted width"]:
        """Return the same as `fused`, step by step and for any kind of operators."""
        groups = [self.prepare(group) for group in rows]
        *inner, last = self.blocks
        masks: Sequence[Tensor | None] = [None] * self.layers
        if dropout is not None:
            first, *masks = dropout.split([1] + [2] * self.layers)
            x = x * first[0]
        for block, pair in zip(inner, masks, strict=False):
            y = block(x, groups, None if pair is None else pick(pair, present), present)
            # Absent tokens become 0, not NaN, so a mask can still exclude them.
            x = y if present is None else torch.zeros_like(x).index_copy(0, present, y)
        pair = None if masks[-1] is None else pick(masks[-1], predicted)
        final: Tensor = last(x, groups, pair, predicted)
        return final

    def draw(
        self, dropout: Dropout, x: Float[Tensor, "tokens width"]
    ) -> Float[Tensor, "sites tokens width"]:
        """Return the dropout factors of all sites: the embedding, then both branches per block."""
        return draw_masks((1 + 2 * self.layers, *x.shape), *dropout, dtype=x.dtype)

    def predict(self, hidden: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch vocabulary"]:
        """Return the logits W LN(h) + b of hidden states h."""
        logits: Tensor = self.head(self.norm(hidden))
        return logits

    def forward(
        self,
        rows: Sequence[Rows],
        dropout: Dropout | None = None,
        present: Int[Tensor, " present"] | None = None,
        predicted: Int[Tensor, " predicted"] | None = None,
    ) -> Float[Tensor, "predicted vocabulary"]:
        """Return logits for the concatenated tokens of all groups, or for those in `predicted`.

        With `present` and `predicted`, padding costs little: see `hidden`.
        """
        return self.predict(self.hidden(rows, dropout, present, predicted))
