"""Models of arithmetic circuits: token encoders, a transformer and a tree LSTM.

A circuit is a sequence of nodes, each an input, a constant, or a sum or product of earlier nodes.
Its *tokens* `[rows, nodes, 5]` hold one number per field:

    x0·x1 + x0          type      value  node  input1  input2
    node 0   x0         1 input   0      0     0       0
    node 1   x1         1 input   1      1     0       0
    node 2   0 * 1      4 times   0      2     1       2        inputs count from 1, 0 is none
    node 3   2 + 0      3 add     0      3     3       1

The *documented* encoder embeds only the first three fields (a worked example of a
CircuitHistoryEncoder, section Embedding step), so a model does not see the inputs of a node. With
the ``WIRED`` fields it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding, one_hot

from journeylab.models.multihead import EncoderBlock, take
from journeylab.models.transformer import Affine

Field = Literal["type", "value", "node", "input1", "input2"]
FIELDS: tuple[Field, ...] = ("type", "value", "node", "input1", "input2")
DOCUMENTED: tuple[Field, ...] = FIELDS[:3]
WIRED: tuple[Field, ...] = FIELDS
Positions = Literal["sinusoidal", "learned", "none"]
Head = Literal["last", "mean", "attention", "token"]

PAD, INPUT, CONSTANT, ADD, MULTIPLY = range(5)
"""Types of tokens."""
NODES = 100
"""Number of node indices in the embedding tables."""
SIZES: dict[Field, int] = {"type": 5, "value": 2, "node": NODES}
SIZES |= {"input1": NODES + 1, "input2": NODES + 1}
"""Number of levels of each field; a value has level 0 or 1."""


class SummedFields(nn.Module):
    """x = E_type[type] + (w·value + b) + E_node[node] (+ E_input1[input1] + E_input2[input2]).

    With the spread σ = 1, tables are drawn from N(0, σ²), w and b uniformly from (−σ, σ), as
    `nn.Embedding` and `nn.Linear(1, d)` do, but from `generator` only. Source: the worked example,
    Embedding step, which has no terms for the inputs.
    """

    def __init__(
        self,
        width: int,
        fields: Sequence[Field],
        *,
        spread: float = 1.0,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.fields, self.width = tuple(fields), width
        # A list, because in a ParameterDict the key "type" would clash with the method `type`.
        self.tables = nn.ParameterList()
        for field in fields:
            if field == "value":
                drawn = 2.0 * torch.rand(2, width, generator=generator) - 1.0
            else:
                drawn = torch.randn(SIZES[field], width, generator=generator)
            self.tables.append(nn.Parameter(spread * drawn))

    def forward(
        self, tokens: Int[Tensor, "rows nodes fields"]
    ) -> Float[Tensor, "rows nodes width"]:
        """Return x of every token."""
        x = torch.zeros((), device=tokens.device)
        for field, table in zip(self.fields, self.tables, strict=True):
            level = tokens[..., FIELDS.index(field)]
            if field == "value":
                x = x + level[..., None].to(table.dtype) * table[0] + table[1]
            else:
                x = x + embedding(level, table)
        return x


class OneHotFields(nn.Module):
    """x = W [1_type, 1_value, 1_node, …] + b: one linear layer of the concatenated one-hot vectors.

    With n the length of the concatenation, W and b are drawn uniformly from (−1/√n, 1/√n), as
    `nn.Linear` does, or with the standard deviation `spread` from (−√3·spread, √3·spread), from
    `generator` only. Source: the worked example, section on switching to a one-hot encoder.
    """

    def __init__(
        self,
        width: int,
        fields: Sequence[Field],
        *,
        spread: float | None = None,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.fields, self.width = tuple(fields), width
        length = sum(SIZES[field] for field in fields)
        drawn = 2.0 * torch.rand(length + 1, width, generator=generator) - 1.0
        bound = length**-0.5 if spread is None else spread * 3.0**0.5
        self.weight = nn.Parameter(drawn[:-1] * bound)
        self.bias = nn.Parameter(drawn[-1] * bound)

    def forward(
        self, tokens: Int[Tensor, "rows nodes fields"]
    ) -> Float[Tensor, "rows nodes width"]:
        """Return b + Σ_f W_f[level_f] of every token: looks rows up instead of multiplying by 0."""
        x: Tensor = self.bias
        parts = self.weight.split([SIZES[field] for field in self.fields])
        for field, part in zip(self.fields, parts, strict=True):
            x = x + embedding(tokens[..., FIELDS.index(field)], part)
        return x

    def glue(self, tokens: Int[Tensor, "rows nodes fields"]) -> Float[Tensor, "rows nodes length"]:
        """Return the concatenated one-hot vectors: `glue(tokens) @ weight + bias` is `forward`."""
        rows = [one_hot(tokens[..., FIELDS.index(f)], SIZES[f]) for f in self.fields]
        return torch.cat(rows, -1).to(self.weight.dtype)


def sinusoids(
    length: int, width: int, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "length width"]:
    """Return P[p, 2i] = sin(p / 10000^(2i/d)) and P[p, 2i + 1] = cos(p / 10000^(2i/d)).

    Source: Vaswani et al. 2017, section 3.5; the worked example, positional encoding. Raises
    ValueError for an odd width.
    """
    if width % 2:
        raise ValueError(f"sinusoids need an even width, got {width}")
    rates = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2).to(dtype)


class CircuitTransformer(nn.Module):
    """A transformer: embedded tokens + positions → pre-norm blocks → pooled vector → logits.

    ```
    encoder = SummedFields(32, WIRED, generator=generator)
    model = CircuitTransformer(encoder, nodes=6, answers=9, generator=generator)
    logits = model(tokens)               # [rows, answers]
    ```

    The head reads the *last* node, the *mean* over nodes, an *attention*-weighted mean with weights
    softmax(⟨u, x⟩/√d) for a learned u, or a learned *token* before the first node (the choices of
    the worked example, section on what the transformer does). If ``masked`` is False, nodes also
    attend to padding.
    """

    positions: Float[Tensor, "nodes width"]

    def __init__(
        self,
        encoder: SummedFields | OneHotFields,
        *,
        nodes: int,
        answers: int,
        positions: Positions = "sinusoidal",
        head: Head = "last",
        layers: int = 2,
        heads: int = 4,
        masked: bool = True,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        width = encoder.width
        self.encoder, self.kind, self.masked = encoder, head, masked
        if positions == "learned":
            self.positions = nn.Parameter(torch.randn(nodes, width, generator=generator))
        else:
            fixed = sinusoids(nodes, width) * (positions == "sinusoidal")
            self.register_buffer("positions", fixed, persistent=False)
        blocks = [EncoderBlock(width, heads, generator=generator) for _ in range(layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(width)
        if head in ("attention", "token"):
            self.query = nn.Parameter(torch.randn(width, generator=generator))
        self.head = Affine(width, answers, width**-0.5, generator)

    def forward(self, tokens: Int[Tensor, "rows nodes fields"]) -> Float[Tensor, "rows answers"]:
        """Return the logits of every circuit's answer."""
        x = self.encoder(tokens) + self.positions[: tokens.shape[1]]
        present = tokens[..., 0] != PAD
        index = None
        if self.kind == "token":
            x = torch.cat((self.query.expand(len(x), 1, -1), x), 1)
            present = torch.cat((torch.ones_like(present[:, :1]), present), 1)
            index = torch.zeros_like(tokens[:, 0, 0])
        elif self.kind == "last":
            index = present.sum(1) - 1  # padding follows the nodes
        mask = present if self.masked else torch.ones_like(present)
        *inner, last = self.blocks
        for block in inner:
            x = block(x, mask)
        x = self.norm(last(x, mask, index))
        logits: Tensor = self.head(x[:, 0] if index is not None else self._pool(x, present))
        return logits

    def _pool(
        self, x: Float[Tensor, "rows nodes width"], present: Bool[Tensor, "rows nodes"]
    ) -> Float[Tensor, "rows width"]:
        weights = present.to(x.dtype)
        if self.kind == "attention":
            scores = x @ self.query * len(self.query) ** -0.5
            weights = weights * (scores - scores.amax(-1, keepdim=True)).exp()
        return (weights[..., None] * x).sum(1) / weights.sum(1, keepdim=True)


class ChildSumTree(nn.Module):
    """A child-sum tree LSTM (Tai, Socher and Manning 2015, equations 2 to 8).

    A node's children are its inputs. With x the embedded token and k over the two inputs of a node:

        h̃ = Σ_k h_k,   i, o, u = σ, σ, tanh(W x + U h̃ + b),   f_k = σ(W_f x + U_f h_k + b_f),
        c = i ⊙ u + Σ_k f_k ⊙ c_k,   h = o ⊙ tanh c

    If both inputs are the same node (x·x), it counts twice. The last node's h gives the logits.
    """

    def __init__(
        self, encoder: SummedFields | OneHotFields, *, answers: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        width = encoder.width
        self.encoder, self.width = encoder, width
        self.token = Affine(width, 4 * width, width**-0.5, generator)
        self.inputs = nn.Parameter(torch.randn(3 * width, width, generator=generator) * width**-0.5)
        self.forget = nn.Parameter(torch.randn(width, width, generator=generator) * width**-0.5)
        self.head = Affine(width, answers, width**-0.5, generator)

    def forward(self, tokens: Int[Tensor, "rows nodes fields"]) -> Float[Tensor, "rows answers"]:
        """Return the logits of every circuit's answer."""
        gates, forgets = self.token(self.encoder(tokens)).split((3 * self.width, self.width), -1)
        inputs = tokens[..., -2:]
        # Inputs count from 1; index 0 stands for "no input" and has h = c = 0.
        h = c = gates.new_zeros(len(tokens), 1, self.width)
        for node in range(tokens.shape[1]):
            chosen = inputs[:, node, :, None].expand(-1, -1, self.width)
            h_k, c_k = h.gather(1, chosen), c.gather(1, chosen)
            i, o, u = (gates[:, node] + h_k.sum(1) @ self.inputs.mT).chunk(3, -1)
            f = torch.sigmoid(forgets[:, node, None] + h_k @ self.forget.mT)
            c_new = torch.sigmoid(i) * torch.tanh(u) + (f * c_k).sum(1)
            h_new = torch.sigmoid(o) * torch.tanh(c_new)
            h, c = torch.cat((h, h_new[:, None]), 1), torch.cat((c, c_new[:, None]), 1)
        logits: Tensor = self.head(take(h, (tokens[..., 0] != PAD).sum(1))[:, 0])
        return logits
