"""A transformer that reads text and triples, with one of three ways to turn its positions.

With ω the frequencies and θ_s the angle of slot s, position i turns by

    rope     φ_i = i·ω                    text of A and B, linearised rows of B
    slots    φ_i = i·ω + θ_s              triples of A, i counted inside the slot; text has θ = 0
    tokens   φ_i = Σ_{t≤i} a(x_t)         C: one angle vector per token, shared by the layers
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import embedding

from journeylab.datasets.triples import HEAD, REL, TAIL
from journeylab.knowledge.settings import Learner
from journeylab.models.attention import causal_mask
from journeylab.models.transformer import Rows, Transformer
from journeylab.operators.dropout import Dropout
from journeylab.operators.journey import accumulate, slot_angles
from journeylab.operators.rotary import integer_frequencies, rotary_angles, standard_frequencies


class Reader(nn.Module):
    """A transformer that reads sentences causally, and KG rows as its variant does.

    Raises ValueError, as the transformer does, for sizes that fit no rotation.
    """

    frequencies: Tensor
    slots: Tensor
    places: Tensor
    parts: Tensor

    def __init__(
        self, job: Learner, vocabulary: int, name_width: int, generator: Generator
    ) -> None:
        super().__init__()
        spec, sizes = job.spec, job.model
        integer = job.frequencies == "integer"
        frequencies = integer_frequencies(sizes.d) if integer else standard_frequencies(sizes.d)
        self.spec, self.name_width = spec, name_width
        self.register_buffer("frequencies", frequencies, persistent=False)
        each = torch.arange(name_width)
        places = torch.cat((each, torch.zeros(1, dtype=torch.long), each))
        if spec.positions == "sequential":
            places = torch.arange(2 * name_width + 1)
        self.register_buffer("places", places, persistent=False)
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

    def sentences(self, tokens: Tensor) -> Rows:
        """Rows ``(rows, length)`` of text with causal attention."""
        return Rows(tokens, self.text_angles(tokens), causal_mask(tokens.shape[1], tokens.device))

    def branching_sentences(self, tokens: Tensor, ancestors: Tensor) -> Rows:
        """Text that branches: ``ancestors[i, j]`` says that token j lies on the way to token i.

        One row holds a prompt and all its continuations; each is read as if it stood alone.
        """
        if self.spec.angles == "tokens":
            angles = ancestors.float() @ embedding(tokens, self.token_angles)
        else:
            angles = rotary_angles(ancestors.sum(-1) - 1, self.frequencies)[None]
        return Rows(tokens, angles, ancestors[None])

    def hidden_sentences(self, tokens: Tensor, present: Tensor) -> Rows:
        """Rows of text with characters hidden: attention in both directions, fillings unseen."""
        return Rows(tokens, self.text_angles(tokens), present[:, None, :])

    def triples(self, tokens: Tensor) -> Rows:
        """Rows of HEAD, REL and TAIL characters, or their beginnings."""
        if self.spec.objective == "causal":
            return self.causal_triples(tokens)
        return Rows(tokens, self.triple_angles()[:, : tokens.shape[1]])

    def causal_triples(self, tokens: Tensor) -> Rows:
        """The same, where a token sees those before it only."""
        mask = causal_mask(tokens.shape[1], tokens.device)
        return Rows(tokens, self.triple_angles()[:, : tokens.shape[1]], mask)

    def branching_triples(self, tokens: Tensor, ancestors: Tensor) -> Rows:
        """Triples that branch, read causally; see :meth:`branching_sentences`."""
        return Rows(tokens, self.triple_angles()[:, ancestors.sum(-1) - 1], ancestors[None])

    def triple_angles(self) -> Tensor:
        """Angles ``(1, 2·width + 1, d/2)`` of a triple's positions."""
        return slot_angles(self.places, self.parts, self.frequencies, self.slots)[None]

    def forward(self, groups: Sequence[Rows], dropout: Dropout | None = None) -> list[Tensor]:
        """Logits ``(rows, length, vocabulary)`` of every group, read in one pass."""
        logits = self.transformer(groups, dropout)
        parts = logits.split([group.tokens.numel() for group in groups])
        return [
            part.unflatten(0, tuple(group.tokens.shape))
            for part, group in zip(parts, groups, strict=True)
        ]

    def text_angles(self, tokens: Tensor) -> Tensor:
        """Angles ``(rows or 1, length, planes)`` of text; those of a prefix never change."""
        if self.spec.angles == "tokens":
            return accumulate(embedding(tokens, self.token_angles))
        return rotary_angles(_positions(tokens), self.frequencies)[None]


def _positions(tokens: Tensor) -> Tensor:
    return torch.arange(tokens.shape[1], device=tokens.device)
