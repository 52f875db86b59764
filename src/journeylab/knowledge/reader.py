"""A transformer that reads text and triples, with one of three kinds of positional angles.

With ω the frequencies and θ_s the angle of slot s, position i is rotated by

    rope     φ_i = i·ω                    text and, in B of exp7, triples as sentences
    slots    φ_i = i·ω + θ_s              native triples (A); text has θ = 0
    tokens   φ_i = Σ_{t≤i} a(x_t)         one angle vector per token (C), shared by the layers

In a triple, i counts within the slot if `positions` is reset, and through the triple otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import embedding

from journeylab.datasets.triples import HEAD, REL, TAIL
from journeylab.knowledge.settings import ReaderJob
from journeylab.models.attention import causal_mask
from journeylab.models.transformer import Rows, Transformer
from journeylab.operators.dropout import Dropout
from journeylab.operators.journey import accumulate, slot_angles
from journeylab.operators.rotary import integer_frequencies, rotary_angles, standard_frequencies


class Reader(nn.Module):
    """A transformer that reads sentences causally, and KG rows as its variant specifies.

    `frequencies` ω and `slots` θ are the angles of the equations above; `positions` and `parts` are
    position and slot of every token of a triple. Raises ValueError for an odd width.
    """

    frequencies: Float[Tensor, " planes"]
    slots: Float[Tensor, "slots planes"]
    positions: Int[Tensor, " triple"]
    parts: Int[Tensor, " triple"]

    def __init__(
        self, job: ReaderJob, vocabulary: int, name_width: int, generator: Generator
    ) -> None:
        super().__init__()
        spec, sizes = job.spec, job.model
        integer = job.frequencies == "integer"
        frequencies = integer_frequencies(sizes.d) if integer else standard_frequencies(sizes.d)
        self.spec, self.name_width = spec, name_width
        self.register_buffer("frequencies", frequencies, persistent=False)
        in_name = torch.arange(name_width)
        positions = torch.cat((in_name, torch.zeros(1, dtype=torch.long), in_name))
        if spec.positions == "sequential":
            positions = torch.arange(2 * name_width + 1)
        self.register_buffer("positions", positions, persistent=False)
        parts = torch.tensor([HEAD] * name_width + [REL] + [TAIL] * name_width)
        self.register_buffer("parts", parts, persistent=False)
        self.transformer = Transformer(
            vocabulary,
            width=sizes.d,
            layers=sizes.layers,
            transport=spec.values == "operator",
            weighting=job.attention,
            generator=generator,
        )
        with torch.no_grad():
            self.transformer.embedding.mul_(sizes.embedding_scale)
            self.transformer.head.weight.mul_(sizes.output_scale)
        if spec.angles == "tokens":
            spread = torch.randn(vocabulary, sizes.d // 2, generator=generator)
            self.token_angles = nn.Parameter(
                frequencies * (1.0 + sizes.token_angle_spread * spread)
            )
        slots = sizes.slot_scale * torch.randn(3, sizes.d // 2, generator=generator)
        if spec.slots == "learned":
            self.slots = nn.Parameter(slots)
        else:
            self.register_buffer("slots", torch.zeros_like(slots), persistent=False)

    def sentences(self, tokens: Int[Tensor, "rows length"]) -> Rows:
        """Return rows of text with causal attention."""
        return Rows(tokens, self.text_angles(tokens), causal_mask(tokens.shape[1], tokens.device))

    def branching_sentences(
        self, tokens: Int[Tensor, "rows length"], ancestors: Bool[Tensor, "length length"]
    ) -> Rows:
        """Return rows that hold a prompt and all its continuations, as a tree of tokens.

        ``ancestors[i, j]``: token j lies on the path to token i. Token i attends to its path only,
        so every continuation is read as if it stood alone behind the prompt.
        """
        if self.spec.angles == "tokens":
            angles = ancestors.float() @ embedding(tokens, self.token_angles)
        else:
            angles = rotary_angles(ancestors.sum(-1) - 1, self.frequencies)[None]
        return Rows(tokens, angles, ancestors[None])

    def hidden_sentences(
        self, tokens: Int[Tensor, "rows length"], present: Bool[Tensor, "rows length"]
    ) -> Rows:
        """Return rows of masked text: attention in both directions, except to padding."""
        return Rows(tokens, self.text_angles(tokens), present[:, None, :])

    def triples(self, tokens: Int[Tensor, "rows length"]) -> Rows:
        """Return rows of HEAD, REL and TAIL tokens, as the variant reads them."""
        if self.spec.objective == "causal":
            return self.causal_triples(tokens)
        return Rows(tokens, self.triple_angles()[:, : tokens.shape[1]])

    def causal_triples(self, tokens: Int[Tensor, "rows length"]) -> Rows:
        """Return rows of triples with causal attention."""
        mask = causal_mask(tokens.shape[1], tokens.device)
        return Rows(tokens, self.triple_angles()[:, : tokens.shape[1]], mask)

    def branching_triples(
        self, tokens: Int[Tensor, "rows length"], ancestors: Bool[Tensor, "length length"]
    ) -> Rows:
        """Return causal triples as a tree; see :meth:`branching_sentences`."""
        return Rows(tokens, self.triple_angles()[:, ancestors.sum(-1) - 1], ancestors[None])

    def triple_angles(self) -> Float[Tensor, "1 triple planes"]:
        """Return the angles i·ω + θ_s of a triple's tokens."""
        return slot_angles(self.positions, self.parts, self.frequencies, self.slots)[None]

    def forward(
        self, groups: Sequence[Rows], dropout: Dropout | None = None
    ) -> list[Float[Tensor, "_ _ vocabulary"]]:
        """Return the logits [rows, length, vocabulary] of every group, computed in one pass."""
        logits = self.transformer(groups, dropout)
        parts = logits.split([group.tokens.numel() for group in groups])
        return [
            part.unflatten(0, tuple(group.tokens.shape))
            for part, group in zip(parts, groups, strict=True)
        ]

    def text_angles(
        self, tokens: Int[Tensor, "rows length"]
    ) -> Float[Tensor, "#rows length planes"]:
        """Return the angles of text; the angles of a prefix do not change when the text grows."""
        if self.spec.angles == "tokens":
            return accumulate(embedding(tokens, self.token_angles))
        return rotary_angles(_positions(tokens), self.frequencies)[None]


def _positions(tokens: Tensor) -> Tensor:
    return torch.arange(tokens.shape[1], device=tokens.device)
