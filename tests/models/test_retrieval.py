"""The retrieval head equals a slow reference, alone and under `vmap`."""

import pytest
import torch

from journeylab.models.retrieval import (
    RetrievalHead,
    Turns,
    combine,
    fuse,
    number_tokens,
    turned_scores,
)
from journeylab.operators import naive

from ..tensors import draw

FIELDS, WIDTH, ANSWERS = (6, 3), 8, 3


def head(weighting="softmax", seed=0):
    generator = torch.Generator().manual_seed(seed)
    return RetrievalHead(
        FIELDS, FIELDS[:1], ANSWERS, width=WIDTH, weighting=weighting, generator=generator
    ).double()


def episode(rows=2, entries=5, queries=2, seed=1):
    generator = torch.Generator().manual_seed(seed)
    fields = [torch.randint(n, (rows, entries), generator=generator) for n in FIELDS]
    questions = torch.randint(FIELDS[0], (rows, queries, 1), generator=generator)
    return torch.stack(fields, -1), questions


def angles(*shape, seed=2):
    return draw(seed, *shape, WIDTH // 2)


TURNS = {
    "none": Turns(),
    "places": Turns(places=angles(1, 5), questions=angles(1, 2, seed=3)),
    "of each row": Turns(places=angles(2, 5), questions=angles(2, 2, seed=3)),
    "tokens": Turns(tokens=angles(18)),
    "both": Turns(tokens=angles(18), places=angles(2, 5)),
    "questions only": Turns(questions=angles(2, 2)),
}


def slow(model, entries, questions, turns):
    """Logits of the head, one question and one entry at a time, with d×d matrices."""

    def matrix(table, *index):
        if table is None:
            return torch.eye(WIDTH, dtype=torch.float64)
        row, *rest = index
        return naive.rotation_matrix(table[(row % len(table), *rest)])

    logits = []
    for row in range(len(entries)):
        tokens = [
            model.entry[key] + model.entry[FIELDS[0] + value]
            for key, value in entries[row].tolist()
        ]
        numbers = [FIELDS[1] * key + value for key, value in entries[row].tolist()]
        for i, [question] in enumerate(questions[row].tolist()):
            q = matrix(turns.questions, row, i) @ model.query @ model.question[question]
            scores = torch.stack(
                [
                    q
                    @ matrix(turns.places, row, j)
                    @ matrix(turns.tokens, number)
                    @ model.key
                    @ token
                    / WIDTH**0.5
                    for j, (token, number) in enumerate(zip(tokens, numbers, strict=True))
                ]
            )
            if model.weighting == "softmax":
                weights = scores.exp() / scores.exp().sum()
            else:
                weights = (1 + scores.exp()).log()
            pooled = sum(
                w * (model.value @ token) for w, token in zip(weights, tokens, strict=True)
            )
            logits.append(model.readout.weight @ pooled + model.readout.bias)
    return torch.stack(logits).view(len(entries), questions.shape[1], ANSWERS)


@pytest.mark.parametrize("weighting", ["softmax", "softplus"])
@pytest.mark.parametrize("name", TURNS)
def test_head_equals_the_slow_reference_in_values_and_gradients(name, weighting):
    model, (entries, questions) = head(weighting), episode()
    turns = TURNS[name]
    results = []
    for logits in (model(entries, questions, turns), slow(model, entries, questions, turns)):
        loss = (logits * draw(4, *logits.shape)).sum()
        results.append((logits, *torch.autograd.grad(loss, list(model.parameters()))))
    torch.testing.assert_close(*results, atol=1e-11, rtol=1e-9)


@pytest.mark.parametrize("shared", [False, True])
def test_gradients_of_turned_scores_agree_with_finite_differences(shared):
    q, k = (draw(n, 2, n, WIDTH).requires_grad_() for n in (3, 4))
    phi = angles(1 if shared else 2, 4).requires_grad_()
    assert torch.autograd.gradcheck(turned_scores, (q, k, phi), check_undefined_grad=False)


def test_combine_and_number_tokens_use_the_same_order():
    table = torch.randn(9, 4, generator=torch.Generator().manual_seed(0))
    tokens = torch.cartesian_prod(torch.arange(6), torch.arange(3))
    assert torch.equal(number_tokens(tokens, FIELDS), torch.arange(18))
    torch.testing.assert_close(combine(table, FIELDS), fuse(tokens, table, FIELDS))


def test_invalid_sizes_raise_value_error():
    generator = torch.Generator()
    with pytest.raises(ValueError, match="even width"):
        RetrievalHead(FIELDS, (6,), 3, width=7, generator=generator)
    with pytest.raises(ValueError, match="got \\(6, 0\\)"):
        RetrievalHead((6, 0), (6,), 3, generator=generator)
