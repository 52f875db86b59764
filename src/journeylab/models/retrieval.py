"""An attention head whose queries are questions and whose keys are the entries of a repository.

An entry or a question is a single, *fused* token: it has one symbol per field, and its vector is
the sum of the embeddings of its symbols. With entries e_j = Σ_f E_f[x_jf], questions
u = Σ_f U_f[y_f] and operators R,

    s_j = ⟨R_u W_q u, R_j W_k e_j⟩/√d,   a = softmax_j(s),   logits = W_r Σ_j a_j W_v e_j + b.

Entries do not attend, and there are few symbols. Linear functions of an entry are therefore
computed once per symbol, or once per combination of symbols, and then gathered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding, linear

from journeylab.models.attention import Weighting, weigh
from journeylab.models.transformer import Affine
from journeylab.operators.rotary import count_planes, rotate, unit_circle


class Turns(NamedTuple):
    """Operators of a repository as angles in radians; None rotates nothing.

    An entry is rotated by the angles in `tokens` of its combination of symbols (in the order of
    `number_tokens`) and by the angles in `places` of its position; a query by those in `questions`.
    """

    tokens: Float[Tensor, "combinations planes"] | None = None
    places: Float[Tensor, "#rows entries planes"] | None = None
    questions: Float[Tensor, "#rows queries planes"] | None = None


class RetrievalHead(nn.Module):
    """One head over a repository, with a linear readout of its output.

    ```
    head = RetrievalHead((128, 16), (128,), 16, generator=streams.generator("init"))
    entries = torch.stack((keys, values), -1)              # [rows, entries, 2]
    logits = head(entries, questions[..., None])           # the order of the entries is irrelevant
    angles = rotary_angles(positions, frequencies)
    logits = head(entries, questions[..., None], Turns(places=angles))
    ```

    Parameters: for every field, an embedding of each symbol, drawn from N(0, 1); three d×d maps and
    the readout, drawn from N(0, 1/d). All are drawn from `generator`, in this order. Raises
    ValueError for an odd width, a field without symbols, or no answers.
    """

    def __init__(
        self,
        fields: tuple[int, ...],
        question_fields: tuple[int, ...],
        answers: int,
        *,
        width: int = 32,
        weighting: Weighting = "softmax",
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        count_planes(width)
        if min((*fields, *question_fields, answers), default=0) < 1:
            raise ValueError(
                "a retrieval head needs at least one symbol per field and one answer, got "
                f"{fields}, {question_fields} and {answers}"
            )
        self.fields, self.question_fields, self.width = fields, question_fields, width
        self.weighting: Weighting = weighting
        self.entry = nn.Parameter(torch.randn(sum(fields), width, generator=generator))
        self.question = nn.Parameter(torch.randn(sum(question_fields), width, generator=generator))
        self.query, self.key, self.value = (
            nn.Parameter(torch.randn(width, width, generator=generator) * width**-0.5)
            for _ in range(3)
        )
        self.readout = Affine(width, answers, width**-0.5, generator)

    def forward(
        self,
        entries: Int[Tensor, "rows entries fields"],
        questions: Int[Tensor, "rows queries parts"],
        turns: Turns | None = None,
    ) -> Float[Tensor, "rows queries answers"]:
        """Return the logits of every question's answer."""
        q = fuse(questions, self.question, self.question_fields)
        q = linear(q, self.query * self.width**-0.5)
        weights = weigh(self._score(q, entries, turns or Turns()), None, self.weighting)
        pooled = self._count(weights, entries) @ self.entry
        logits: Tensor = self.readout(linear(pooled, self.value))
        return logits

    def _score(self, q: Tensor, entries: Tensor, turns: Turns) -> Tensor:
        if turns.questions is not None:
            q = rotate(q, unit_circle(turns.questions))
        if turns.tokens is None and turns.places is None:
            return self._score_symbols(q, entries)
        keys = combine(linear(self.entry, self.key), self.fields)
        if turns.tokens is not None:
            keys = rotate(keys, unit_circle(turns.tokens))
        k = embedding(number_tokens(entries, self.fields), keys)
        return q @ k.mT if turns.places is None else turned_scores(q, k, turns.places)

    def _score_symbols(self, q: Tensor, entries: Tensor) -> Tensor:
        """Return ⟨q, W_k e_j⟩ = Σ_f ⟨q, W_k E_f[x_jf]⟩; the terms are computed once per symbol."""
        per_symbol = ((q @ self.key) @ self.entry.mT).split(self.fields, -1)
        shape = (*q.shape[:2], entries.shape[1])
        total = q.new_zeros(())
        for scores, symbols in zip(per_symbol, entries.unbind(-1), strict=True):
            total = total + scores.gather(-1, symbols[:, None].expand(shape))
        return total

    def _count(self, weights: Tensor, entries: Tensor) -> Tensor:
        """Return the attention to every symbol: Σ_j a_j e_j = Σ_f Σ_x counts_f[x] E_f[x]."""
        counts = [
            weights.new_zeros(*weights.shape[:2], size).scatter_add(
                -1, symbols[:, None].expand(weights.shape), weights
            )
            for size, symbols in zip(self.fields, entries.unbind(-1), strict=True)
        ]
        return torch.cat(counts, -1)


def fuse(
    tokens: Int[Tensor, "*batch fields"],
    table: Float[Tensor, "symbols size"],
    fields: tuple[int, ...],
) -> Float[Tensor, "*batch size"]:
    """Return Σ_f table_f[tokens_f]; `table` holds the tables of all fields, concatenated.

    `fields` are the numbers of symbols per field.
    """
    fused = table.new_zeros(())
    for symbols, part in zip(tokens.unbind(-1), table.split(fields), strict=True):
        fused = fused + embedding(symbols, part)
    return fused


def combine(
    table: Float[Tensor, "symbols size"], fields: tuple[int, ...]
) -> Float[Tensor, "combinations size"]:
    """Return Σ_f table_f[x_f] for every combination x of symbols, in the order of `number_tokens`.

    >>> combine(torch.tensor([[0.0], [10.0], [1.0], [2.0], [3.0]]), (2, 3)).flatten().tolist()
    [1.0, 2.0, 3.0, 11.0, 12.0, 13.0]
    """
    sums = table.new_zeros(1, table.shape[1])
    for part in table.split(fields):
        sums = (sums[:, None] + part).flatten(0, 1)
    return sums


def number_tokens(
    tokens: Int[Tensor, "*batch fields"], fields: tuple[int, ...]
) -> Int[Tensor, "*batch"]:
    """Return the number of each combination of symbols; the last field varies fastest.

    >>> number_tokens(torch.tensor([[0, 2], [1, 0]]), (2, 3)).tolist()
    [2, 3]
    """
    number, *others = tokens.unbind(-1)
    for size, symbols in zip(fields[1:], others, strict=True):
        number = number * size + symbols
    return number


def turned_scores(
    q: Float[Tensor, "rows queries width"],
    k: Float[Tensor, "rows entries width"],
    angles: Float[Tensor, "#rows entries planes"],
) -> Float[Tensor, "rows queries entries"]:
    """Return ⟨q_i, R_j k_j⟩, where R_j rotates by `angles[j]`, in radians.

    The backward pass has a closed form and stores only the rotated keys: for y = e^{iφ} x the
    gradient of φ is Im(ȳ · ∂y), so no gradient passes through cos and sin.
    """
    outputs: tuple[Tensor, ...] = _TurnedScores.apply(q, k, angles)  # type: ignore[no-untyped-call]
    return outputs[0]


class _TurnedScores(torch.autograd.Function):
    """Returns rotated keys and e^{iφ} too, because `vmap` lets it save only inputs and outputs."""

    @staticmethod
    def forward(q: Tensor, k: Tensor, angles: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        unit = unit_circle(angles)
        turned = rotate(k, unit)
        return q @ turned.mT, turned, unit

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs[0], *output[1:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *unused: None) -> tuple[Tensor | None, ...]:
        q, turned, unit = ctx.saved_tensors
        grad_turned = grad.mT @ q
        grad_angles = None
        if ctx.needs_input_grad[2]:
            per_plane = _planes(grad_turned) * _planes(turned).conj()
            grad_angles = per_plane.imag.sum_to_size(unit.shape)
        return grad @ turned, rotate(grad_turned, unit.conj()), grad_angles

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        # There are no weights, so seeds are one more leading dimension of the rows.
        stacked = (
            tensor[None] if dim is None else tensor.movedim(dim, 0)
            for tensor, dim in zip(inputs, in_dims, strict=True)
        )
        outputs = _TurnedScores.apply(*stacked)  # type: ignore[no-untyped-call]
        seeds = info.batch_size
        return tuple(y.expand(seeds, *y.shape[1:]) for y in outputs), (0,) * len(outputs)


def _planes(x: Tensor) -> Tensor:
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))
