import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

from journeylab.models import hypergraph
from journeylab.models.attention import attend, causal_mask, mask_scores
from journeylab.models.hypergraph import (
    TILE,
    HyperGraphAttention,
    attend_masked,
    attend_softly,
    attend_sparsely,
    pair_share,
)

HARD = (attend_masked, attend_sparsely)
FORMS = (*HARD, attend_softly)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def one_hot(taken, timelines=4, dtype=torch.float64):
    return torch.nn.functional.one_hot(taken, timelines).to(dtype)


def drawn(rows=3, n=40, d=6, dtype=torch.float64, seed=0):
    """Queries, keys and values; seven columns of values, as not to be mistaken for the others."""
    widths = (d, d, 7)
    return tuple(
        torch.randn(rows, n, w, generator=generator(seed + w + i)).to(dtype)
        for i, w in enumerate(widths)
    )


def routes():
    """Timelines of 3 × 40 tokens: at random, in turn; some stay empty, have one token, or all."""
    random = torch.randint(4, (3, 40), generator=generator(7))
    turns = (torch.arange(40) % 4).expand(3, -1)
    uneven = random.clone()
    uneven[0], uneven[1] = 2, 3  # all in one
    uneven[1, 17] = 0  # but one
    uneven[2, :20], uneven[2, 20:] = 1, 0  # one after the other, two empty
    return {"random": random, "turns": turns, "uneven": uneven}


def by_hand(q, k, v, taken):
    out = torch.zeros_like(v)
    for row in range(len(v)):
        for i in range(v.shape[1]):
            own = [j for j in range(i + 1) if taken[row, j] == taken[row, i]]
            weights = torch.softmax(k[row, own] @ q[row, i], 0)
            out[row, i] = weights @ v[row, own]
    return out


def gradients(form, inputs, arriving):
    inputs = [each.detach().requires_grad_() for each in inputs]
    return torch.autograd.grad((form(*inputs) * arriving).sum(), inputs)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("taken", routes().values(), ids=routes())
def test_a_token_attends_to_its_timelines_past(form, taken):
    q, k, v = drawn()
    torch.testing.assert_close(form(q, k, v, one_hot(taken)), by_hand(q, k, v, taken))


@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-12), (torch.float32, 2e-4)])
@pytest.mark.parametrize("taken", routes().values(), ids=routes())
def test_blocks_are_the_masked_form_values_and_gradients(taken, dtype, within):
    q, k, v = drawn(dtype=dtype)
    inputs, arriving = (q, k, v, one_hot(taken, dtype=dtype)), drawn(dtype=dtype, seed=1)[2]
    close = {"rtol": within, "atol": within}
    torch.testing.assert_close(attend_sparsely(*inputs), attend_masked(*inputs), **close)
    pairs = zip(*(gradients(form, inputs, arriving) for form in HARD), strict=True)
    for name, (found, expected) in zip(("q", "k", "v", "route"), pairs, strict=True):
        assert expected.abs().max() > 0.1, name
        torch.testing.assert_close(found, expected, **close, msg=name)


@pytest.mark.parametrize("form", HARD)
def test_a_hard_route_has_the_mixtures_derivative_at_its_ones(form):
    (q, k, v), arriving = drawn(), drawn(seed=1)[2]
    route = one_hot(routes()["random"])
    found, expected = (
        gradients(each, (q, k, v, route), arriving) for each in (form, attend_softly)
    )
    for one, other in zip(found[:3], expected[:3], strict=True):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(found[3], expected[3] * route)
    assert (expected[3] * (1 - route)).abs().max() > 1.0  # what the mixture asks beyond them


def test_every_derivative_is_what_differences_say():
    q, k, v = drawn(rows=2, n=5, d=2)
    soft = torch.softmax(torch.randn(2, 5, 3, generator=generator(3), dtype=torch.float64), -1)
    inputs = [each.requires_grad_() for each in (q, k, v, soft)]
    assert torch.autograd.gradcheck(attend_softly, inputs)


@pytest.mark.parametrize("form", HARD)
def test_a_gradient_reaches_logits_through_a_one_hot_that_passes_it_on(form):
    q, k, v = (each.float() for each in drawn())
    logits = torch.randn(3, 40, 4, generator=generator(5)).requires_grad_()
    soft = logits.softmax(-1)
    hard = one_hot(logits.argmax(-1), dtype=torch.float32)
    form(q, k, v, soft + (hard - soft).detach()).sum().backward()
    assert (logits.grad.abs().sum(-1) > 0).all()
    assert form(q, k, v, hard).requires_grad is False


@pytest.mark.parametrize("form", HARD)
def test_sorted_by_timeline_the_weights_are_blocks_of_the_past(form):
    q, k, _ = drawn()
    taken = routes()["random"]
    weights = form(q, k, torch.eye(40, dtype=torch.float64).expand(3, -1, -1), one_hot(taken))
    order = taken.argsort(dim=-1, stable=True)
    for row in range(3):
        ordered, own = weights[row][order[row]][:, order[row]], taken[row][order[row]]
        block = (own[:, None] == own[None]).tril()
        assert (ordered[block] > 0).all()
        assert (ordered[~block] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 40, dtype=torch.float64))


@pytest.mark.parametrize("form", FORMS)
def test_what_comes_later_changes_nothing(form):
    inputs = [*drawn(), one_hot(routes()["random"])]
    later = [torch.cat((each[:, :25], each[:, 25:].flip(1)), 1) for each in inputs]
    torch.testing.assert_close(form(*later)[:, :25], form(*inputs)[:, :25])
    assert (form(*later)[:, 25:] - form(*inputs)[:, 25:]).abs().max() > 0.1


@pytest.mark.parametrize("form", FORMS)
def test_names_of_timelines_and_the_order_between_them_do_not_matter(form):
    q, k, v = drawn()
    taken = routes()["random"]
    expected = form(q, k, v, one_hot(taken))
    torch.testing.assert_close(form(q, k, v, one_hot(taken)[..., [2, 0, 3, 1]]), expected)
    # Any shuffle that keeps every timeline's own order: here, timeline after timeline.
    order = taken.argsort(dim=-1, stable=True)
    rows = torch.arange(3)[:, None]
    moved = form(q[rows, order], k[rows, order], v[rows, order], one_hot(taken[rows, order]))
    torch.testing.assert_close(moved, expected[rows, order])


@pytest.mark.parametrize("form", FORMS)
def test_one_timeline_is_dense_attention(form):
    q, k, v = (each[..., :6] for each in drawn())
    dense = attend(q, k, v, mask_scores(causal_mask(40), "softmax", torch.float64), "softmax")
    for timelines, taken in ((1, 0), (4, 3)):
        route = one_hot(torch.full((3, 40), taken), timelines)
        torch.testing.assert_close(form(q, k, v, route), dense)


def test_a_mixture_weighs_timelines_by_what_is_in_them():
    q, k, v = drawn(rows=1, n=9)
    route = torch.softmax(torch.randn(1, 9, 3, generator=generator(4), dtype=torch.float64), -1)
    found = attend_softly(q, k, v, route)
    for i in range(9):
        gathered = torch.zeros(7, dtype=torch.float64)
        for timeline in range(3):
            weights = route[0, : i + 1, timeline] * (k[0, : i + 1] @ q[0, i]).exp()
            gathered += route[0, i, timeline] * weights @ v[0, : i + 1] / weights.sum()
        torch.testing.assert_close(found[0, i], gathered)


def test_blocks_score_no_more_than_their_pairs_and_what_fills_them(monkeypatch):
    scored = []
    weigh = hypergraph.weigh
    monkeypatch.setattr(
        hypergraph,
        "weigh",
        lambda scores, *rest: scored.append(scores.numel()) or weigh(scores, *rest),
    )
    q, k, v = drawn(rows=2, n=200)
    taken = torch.randint(4, (2, 200), generator=generator(2))
    route = one_hot(taken)
    attend_sparsely(q, k, v, route)
    lengths = route.sum(1)
    filled = torch.where(lengths > 0, TILE * (lengths / TILE).ceil(), lengths)
    assert sum(scored) == filled.square().sum()
    assert sum(scored) < 0.4 * 2 * 200**2
    torch.testing.assert_close(pair_share(route), lengths.square().sum(-1) / 200**2)


def test_the_share_of_pairs():
    assert pair_share(one_hot(torch.arange(12) % 4)).item() == pytest.approx(1 / 4)
    assert pair_share(one_hot(torch.zeros(12, dtype=torch.long))).item() == 1.0
    assert pair_share(one_hot(torch.tensor([0, 0, 0, 2]))).item() == pytest.approx(10 / 16)


def test_heads_route_by_themselves():
    attention = HyperGraphAttention(8, 2, 3, generator=generator()).double()
    x = torch.randn(2, 20, 8, generator=generator(1), dtype=torch.float64)
    logits = attention.logits(x)
    torch.testing.assert_close(
        logits[:, 1], x @ attention.router.weight[3:].mT + attention.router.bias[3:]
    )
    taken = logits.argmax(-1)
    assert (taken[:, 0] != taken[:, 1]).any()
    q, k, v = attention.project(x).chunk(3, -1)
    heads = [
        by_hand(q[..., own] / 2.0, k[..., own], v[..., own], taken[:, head])
        for head, own in enumerate((slice(0, 4), slice(4, 8)))
    ]
    expected = attention.output(torch.cat(heads, -1))
    for form in FORMS:
        torch.testing.assert_close(attention(x, one_hot(taken, 3), form), expected)


def test_the_masked_form_trains_seeds_at_once():
    models = [HyperGraphAttention(8, 2, 3, generator=generator(seed)) for seed in (0, 1)]
    parameters, buffers = stack_module_state(models)
    x = torch.randn(2, 2, 10, 8, generator=generator(3))

    def run(tensors, x):
        named = {f"model.{name}": value for name, value in tensors.items()}
        return functional_call(_Routed(models[0]), named, x)

    at_once = vmap(run)(parameters | buffers, x)
    for each, model, rows in zip(at_once, models, x, strict=True):
        torch.testing.assert_close(each, _Routed(model)(rows))


class _Routed(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        soft = torch.softmax(self.model.logits(x), -1)
        hard = torch.zeros_like(soft).scatter(-1, soft.argmax(-1, keepdim=True), 1.0)
        return self.model(x, soft + (hard - soft).detach(), attend_masked)


def test_mistakes_are_told_in_a_line():
    with pytest.raises(ValueError, match=r"^width 10 is not a multiple of 4 heads$"):
        HyperGraphAttention(10, 4, 3, generator=generator())
    with pytest.raises(ValueError, match=r"^0 timelines: a token needs one to go to$"):
        HyperGraphAttention(8, 4, 0, generator=generator())
    q, k, v = drawn()
    soft = torch.full((3, 40, 4), 0.25, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"^a route is not one-hot: attend_softly takes soft ones"):
        attend_sparsely(q, k, v, soft)
