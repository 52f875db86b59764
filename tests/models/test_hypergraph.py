"""Every form of attention within timelines equals its definition, in values and gradients."""

import pytest
import torch

from journeylab.models import hypergraph
from journeylab.models.hypergraph import (
    TILE,
    HyperGraphAttention,
    attend_masked,
    attend_softly,
    attend_sparsely,
    pair_share,
)

from ..tensors import draw, generator

HARD = (attend_masked, attend_sparsely)
FORMS = (*HARD, attend_softly)


def one_hot(taken, timelines=4, dtype=torch.float64):
    return torch.nn.functional.one_hot(taken, timelines).to(dtype)


def random_inputs(rows=3, n=40, d=6, dtype=torch.float64, seed=0):
    """Queries, keys and values; values have another width, so that a mix-up of tensors fails."""
    widths = (d, d, 7)
    return tuple(draw(seed + w + i, rows, n, w).to(dtype) for i, w in enumerate(widths))


def routes():
    """Timelines of 3 × 40 tokens, also with timelines that have no token, one token, or all."""
    random = torch.randint(4, (3, 40), generator=generator(7))
    turns = (torch.arange(40) % 4).expand(3, -1)
    uneven = random.clone()
    uneven[0], uneven[1] = 2, 3  # all tokens in one timeline
    uneven[1, 17] = 0  # except one token
    uneven[2, :20], uneven[2, 20:] = 1, 0  # two timelines in sequence, two empty
    return {"random": random, "turns": turns, "uneven": uneven}


def reference(q, k, v, taken):
    out = torch.zeros_like(v)
    for row in range(len(v)):
        for i in range(v.shape[1]):
            own = [j for j in range(i + 1) if taken[row, j] == taken[row, i]]
            weights = torch.softmax(k[row, own] @ q[row, i], 0)
            out[row, i] = weights @ v[row, own]
    return out


def gradients(form, inputs, arriving):
    inputs = [x.detach().requires_grad_() for x in inputs]
    return torch.autograd.grad((form(*inputs) * arriving).sum(), inputs)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("taken", routes().values(), ids=routes())
def test_token_attends_to_earlier_tokens_of_its_timeline(form, taken):
    q, k, v = random_inputs()
    torch.testing.assert_close(form(q, k, v, one_hot(taken)), reference(q, k, v, taken))


@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-12), (torch.float32, 2e-4)])
@pytest.mark.parametrize("taken", routes().values(), ids=routes())
def test_sparse_form_equals_masked_form_in_values_and_gradients(taken, dtype, within):
    q, k, v = random_inputs(dtype=dtype)
    inputs, arriving = (q, k, v, one_hot(taken, dtype=dtype)), random_inputs(dtype=dtype, seed=1)[2]
    close = {"rtol": within, "atol": within}
    torch.testing.assert_close(attend_sparsely(*inputs), attend_masked(*inputs), **close)
    masked, sparse = (gradients(form, inputs, arriving) for form in HARD)
    assert min(each.abs().max() for each in masked) > 0.1
    torch.testing.assert_close(sparse, masked, **close)


@pytest.mark.parametrize("form", HARD)
def test_hard_forms_have_the_soft_gradient_at_entries_equal_to_1(form):
    (q, k, v), arriving = random_inputs(), random_inputs(seed=1)[2]
    route = one_hot(routes()["random"])
    hard, soft = (gradients(f, (q, k, v, route), arriving) for f in (form, attend_softly))
    torch.testing.assert_close(hard, (*soft[:3], soft[3] * route))
    assert (soft[3] * (1 - route)).abs().max() > 1.0  # only the soft form has a gradient there


def test_soft_gradients_agree_with_finite_differences():
    q, k, v = random_inputs(rows=2, n=5, d=2)
    soft = draw(3, 2, 5, 3).softmax(-1)
    inputs = [x.requires_grad_() for x in (q, k, v, soft)]
    assert torch.autograd.gradcheck(attend_softly, inputs)


@pytest.mark.parametrize("form", HARD)
def test_gradient_reaches_logits_through_a_straight_through_route(form):
    q, k, v = (x.float() for x in random_inputs())
    logits = torch.randn(3, 40, 4, generator=generator(5)).requires_grad_()
    soft = logits.softmax(-1)
    hard = one_hot(logits.argmax(-1), dtype=torch.float32)
    form(q, k, v, soft + (hard - soft).detach()).sum().backward()
    assert (logits.grad.abs().sum(-1) > 0).all()
    assert form(q, k, v, hard).requires_grad is False


def test_soft_form_equals_the_mixture_over_timelines():
    q, k, v = random_inputs(rows=1, n=9)
    route = draw(4, 1, 9, 3).softmax(-1)
    mixed = attend_softly(q, k, v, route)
    for i in range(9):
        gathered = torch.zeros(7, dtype=torch.float64)
        for timeline in range(3):
            weights = route[0, : i + 1, timeline] * (k[0, : i + 1] @ q[0, i]).exp()
            gathered += route[0, i, timeline] * weights @ v[0, : i + 1] / weights.sum()
        torch.testing.assert_close(mixed[0, i], gathered)


def test_sparse_form_scores_only_padded_blocks(monkeypatch):
    scored = []
    weigh = hypergraph.weigh
    monkeypatch.setattr(
        hypergraph,
        "weigh",
        lambda scores, *rest: scored.append(scores.numel()) or weigh(scores, *rest),
    )
    q, k, v = random_inputs(rows=2, n=200)
    taken = torch.randint(4, (2, 200), generator=generator(2))
    route = one_hot(taken)
    attend_sparsely(q, k, v, route)
    lengths = route.sum(1)
    filled = torch.where(lengths > 0, TILE * (lengths / TILE).ceil(), lengths)
    assert sum(scored) == filled.square().sum()
    assert sum(scored) < 0.4 * 2 * 200**2
    torch.testing.assert_close(pair_share(route), lengths.square().sum(-1) / 200**2)


def test_heads_have_separate_routes():
    attention = HyperGraphAttention(8, 2, 3, generator=generator()).double()
    x = draw(1, 2, 20, 8)
    logits = attention.logits(x)
    torch.testing.assert_close(
        logits[:, 1], x @ attention.router.weight[3:].mT + attention.router.bias[3:]
    )
    taken = logits.argmax(-1)
    assert (taken[:, 0] != taken[:, 1]).any()
    q, k, v = attention.project(x).chunk(3, -1)
    heads = [
        reference(q[..., own] / 2.0, k[..., own], v[..., own], taken[:, head])
        for head, own in enumerate((slice(0, 4), slice(4, 8)))
    ]
    expected = attention.output(torch.cat(heads, -1))
    for form in FORMS:
        torch.testing.assert_close(attention(x, one_hot(taken, 3), form), expected)


def test_mistakes_raise_one_line_value_errors():
    with pytest.raises(ValueError, match=r"^width 10 is not a multiple of 4 heads$"):
        HyperGraphAttention(10, 4, 3, generator=generator())
    with pytest.raises(ValueError, match=r"^routing needs at least one timeline, got 0$"):
        HyperGraphAttention(8, 4, 0, generator=generator())
    q, k, v = random_inputs()
    soft = torch.full((3, 40, 4), 0.25, dtype=torch.float64)
    message = r"^the route is not one-hot; attend_softly takes soft routes$"
    with pytest.raises(ValueError, match=message):
        attend_sparsely(q, k, v, soft)
