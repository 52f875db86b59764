"""Encoders of circuits equal their formulas, and see only the fields that they are given."""

import math

import pytest
import torch
from torch.nn.functional import pad

from journeylab.models.circuits import (
    DOCUMENTED,
    FIELDS,
    WIRED,
    ChildSumTree,
    CircuitTransformer,
    OneHotFields,
    SummedFields,
    sinusoids,
)

from ..tensors import generator

SQUARE = [[1, 0, 0, 0, 0], [1, 1, 1, 0, 0], [3, 0, 2, 1, 2], [4, 0, 3, 3, 3]]
"""(x0 + x1)²."""
OTHER = [[1, 0, 0, 0, 0], [1, 1, 1, 0, 0], [3, 0, 2, 1, 1], [4, 0, 3, 2, 2]]
"""The same types with other inputs: the nodes are x0, x1, x0 + x0, x1²."""
TOKENS = torch.tensor([SQUARE, OTHER])


def test_embedding_equals_the_sum_of_its_fields():
    summed = SummedFields(6, WIRED, generator=generator())
    kind, value, node, first, second = summed.tables
    expected = kind[4] + 0 * value[0] + value[1] + node[3] + first[3] + second[3]
    torch.testing.assert_close(summed(TOKENS)[0, 3], expected)
    torch.testing.assert_close(
        summed(TOKENS)[0, 1], kind[1] + value[0] + value[1] + node[1] + first[0] + second[0]
    )


@pytest.mark.parametrize("encoder", [SummedFields, OneHotFields])
def test_only_wired_fields_distinguish_the_inputs_of_nodes(encoder):
    for fields, equal in ((DOCUMENTED, True), (WIRED, False)):
        vectors = encoder(6, fields, generator=generator())(TOKENS)
        assert torch.equal(vectors[0], vectors[1]) == equal


def test_lookup_equals_one_hot_product_in_values_and_gradients():
    encoder = OneHotFields(6, WIRED, generator=generator())
    glued = encoder.glue(TOKENS)
    assert (glued.sum(-1) == len(FIELDS)).all()
    slow = glued @ encoder.weight + encoder.bias
    torch.testing.assert_close(encoder(TOKENS), slow)
    grads = [
        torch.autograd.grad(vectors.square().sum(), encoder.weight)[0]
        for vectors in (encoder(TOKENS), slow)
    ]
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("encoder", [SummedFields, OneHotFields])
def test_the_spread_is_the_standard_deviation_of_initial_rows(encoder):
    drawn = encoder(64, WIRED, spread=0.1, generator=generator())
    tables = torch.cat([parameter.flatten() for parameter in drawn.parameters()])
    assert tables.std().item() == pytest.approx(0.1, rel=0.05)
    other = encoder(64, WIRED, spread=0.2, generator=generator())
    torch.testing.assert_close([2.0 * p for p in drawn.parameters()], list(other.parameters()))


def test_sinusoids_equal_their_formula():
    table = sinusoids(3, 8, torch.float64)
    for p in range(3):
        for i in range(4):
            angle = p / 10000 ** (2 * i / 8)
            assert table[p, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-15)
            assert table[p, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-15)
    with pytest.raises(ValueError, match="even width"):
        sinusoids(3, 7)


def transformer(fields=WIRED, **options):
    encoder = SummedFields(8, fields, generator=generator())
    sizes = {"nodes": 6, "answers": 3, "heads": 2}
    return CircuitTransformer(encoder, **sizes, generator=generator(1), **options)


@pytest.mark.parametrize("head", ["last", "mean", "attention", "token"])
def test_padding_changes_logits_only_if_not_masked(head):
    model = transformer(head=head).double()
    padded = pad(TOKENS, (0, 0, 0, 2))
    torch.testing.assert_close(model(padded), model(TOKENS), rtol=0, atol=1e-12)
    model.masked = False
    assert (model(padded) - model(TOKENS)).abs().min() > 1e-4


@pytest.mark.parametrize("head", ["last", "mean", "attention"])
def test_a_head_reads_its_mean_over_nodes(head):
    model = transformer(head=head).double()
    if head == "attention":
        torch.nn.init.normal_(model.query, std=3.0, generator=generator(2))
    x = model.encoder(TOKENS) + model.positions[:4]
    for block in model.blocks:
        x = block(x)
    x = model.norm(x)
    weights = {
        "last": torch.tensor([0.0, 0.0, 0.0, 1.0]).double().expand(2, 4),
        "mean": torch.full((2, 4), 0.25).double(),
        "attention": (x @ model.query / math.sqrt(8)).softmax(1) if head == "attention" else None,
    }[head]
    expected = model.head((weights[..., None] * x).sum(1))
    torch.testing.assert_close(model(TOKENS), expected)


def test_order_of_nodes_is_invisible_without_positions_and_indices():
    fields = tuple(field for field in WIRED if field != "node")
    exchanged = TOKENS[:, [1, 0, 2, 3]]
    for positions, equal in (("none", True), ("sinusoidal", False), ("learned", False)):
        model = transformer(fields, positions=positions)
        assert torch.allclose(model(TOKENS), model(exchanged), atol=1e-6) == equal


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def test_tree_equals_the_child_sum_lstm_node_by_node():
    encoder = SummedFields(4, DOCUMENTED, generator=generator())
    tree = ChildSumTree(encoder, answers=3, generator=generator(1)).double()
    x = encoder(TOKENS)
    for row, circuit in enumerate(TOKENS.tolist()):
        h, c = [], []
        for node, (*_, first, second) in enumerate(circuit):
            children = [k - 1 for k in (first, second) if k]
            gates = tree.token(x[row, node])
            summed = sum((h[k] for k in children), torch.zeros(4, dtype=torch.float64))
            i, o, u = (gates[:12] + tree.inputs @ summed).split(4)
            cell = sigmoid(i) * u.tanh()
            for k in children:
                cell = cell + sigmoid(gates[12:] + tree.forget @ h[k]) * c[k]
            c.append(cell)
            h.append(sigmoid(o) * cell.tanh())
        torch.testing.assert_close(tree(TOKENS)[row], tree.head(h[-1]))
    assert not torch.allclose(*tree(TOKENS))
    torch.testing.assert_close(tree(pad(TOKENS, (0, 0, 0, 2))), tree(TOKENS))
