import math
from itertools import permutations

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from journeylab.models.value_embeddings import rms
from journeylab.streams import data_streams
from journeylab.studies.exp8_value_embeddings.data import (
    assign,
    generate,
    instances_of,
    sums_of_all,
)
from journeylab.studies.exp8_value_embeddings.models import Recursion, embed, predict
from journeylab.studies.exp8_value_embeddings.settings import HELD_OUT, VARIANTS, Data, Model

from ...tensors import encoder_layer
from .results import make_job, make_problem


def shown(rows=4, n=3, seed=0):
    return torch.randint(1, 101, (rows, n, n), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_embedding_has_vectors_of_length_one(build, variant):
    model = build(make_problem(variant))
    costs = torch.arange(1, 101)
    assert rms(model.embedding(costs)).item() == pytest.approx(1.0, abs=1e-5)
    assert model.table().shape == (151, 16)
    assert model(shown()).isfinite().all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_initial_scale_is_that_of_all_vectors_and_of_a_hybrid_that_of_its_table(variant):
    costs = torch.arange(1, 101)

    def vectors(**scales):
        generator = torch.Generator().manual_seed(0)
        return embed(variant, Model(**scales), generator)(costs)

    plain, scaled = vectors(), vectors(scale=0.25, waves=3.0)
    waves = {"hybrid25": 12, "hybrid50": 24, "hybrid75": 36}.get(variant, 0)
    torch.testing.assert_close(scaled[:, :waves], 3.0 * plain[:, :waves])
    torch.testing.assert_close(scaled[:, waves:], 0.25 * plain[:, waves:])


@pytest.mark.parametrize("attention", ["full", "axial"])
def test_the_block_equals_the_post_norm_encoder_layer_of_torch(attention):
    ours = Recursion(make_job("discrete", attention), torch.Generator().manual_seed(0)).block
    heads = ours.heads
    theirs = encoder_layer(ours, heads, norm_first=False)
    cells = torch.arange(9)
    rows, columns = (cells // 3, cells % 3)
    same = torch.stack([rows[:, None] == rows, columns[:, None] == columns])
    hidden = ~same.repeat_interleave(heads // 2, 0) if attention == "axial" else None
    u = torch.randn(2, 9, 16)
    expected = theirs(u, src_mask=None if hidden is None else hidden.repeat(2, 1, 1))
    torch.testing.assert_close(ours(u), expected)


@pytest.mark.parametrize("cycles", [1, 2])
def test_the_recursion_follows_its_equations_with_gradients_in_the_last_cycle_only(build, cycles):
    model = build(make_problem("discrete", cycles=cycles)).double()
    x = model.table()[shown()].flatten(1, 2)
    y, z = model.answer.expand_as(x), model.latent.expand_as(x)
    expected = []
    for _ in range(2):
        for cycle in range(cycles):
            if cycle == cycles - 1:
                y, z = y.detach(), z.detach()
            for _ in range(2):
                z = model.block(x + y + z)
            y = model.block(y + z)
        expected.append(model.head(y).view(4, 3, 3))
        y, z = y.detach(), z.detach()
    logits = list(model.supervised(shown()))
    torch.testing.assert_close(torch.stack(logits), torch.stack(expected))
    torch.testing.assert_close(model(shown()), expected[-1])
    parameters = [model.block.expand.weight, model.embedding.inner.table]
    gradients = (
        torch.autograd.grad(sum(o.sum() for o in out), parameters) for out in (logits, expected)
    )
    for gradient, other in zip(*gradients, strict=True):
        torch.testing.assert_close(gradient, other)


def test_the_loss_is_the_mean_over_cells_and_supervisions(build):
    problem = make_problem()
    model = build(problem)
    batch = problem.batch(1, torch.Generator().manual_seed(0), torch.Generator())
    assert batch["cells"].sum((1, 2)).eq(3).all()
    each = [
        binary_cross_entropy_with_logits(logits, batch["cells"])
        for logits in model.supervised(batch["shown"])
    ]
    torch.testing.assert_close(problem.loss(model, batch), sum(each) / len(each))
    assert math.isfinite(problem.flops_per_step(model))


def test_a_model_learns_to_assign(fit):
    trained, _ = fit(make_problem("thermometer", steps=80))
    [reached] = trained.curve[trained.curve["metric"] == "optimal_hungarian"]["value"]
    assert reached > 0.5  # a random permutation of 3 is optimal with probability 1/6


def test_rows_of_unseen_costs_stay_as_drawn(build, fit):
    problem = make_problem("discrete", steps=80)
    trained, _ = fit(problem)
    table = "embedding.inner.table"
    moved = (trained.state[table] - build(problem).state_dict()[table]).abs().amax(1) > 0
    assert not moved[[0, *HELD_OUT, *range(101, 151)]].any()
    assert moved[[value for value in range(1, 101) if value not in HELD_OUT]].all()


def test_answers_do_not_depend_on_the_batch(build):
    model, instances = build(make_problem(test=130)), make_problem(test=130).select("iid")
    whole = torch.from_numpy(predict(model, instances.shown))
    with torch.no_grad():
        single = model(torch.tensor(instances.shown[120:121]))
    torch.testing.assert_close(whole[120:121], single, atol=1e-5, rtol=1e-5)


UNSEEN = {3, 8, 13, 18, 23, 28, 33, 38, 43, 48, 53, 58, 63, 68, 73, 78, 83, 88, 93, 98}
DATA = Data(n=4, train=400, test=200)


def draw(seed=1000, **data):
    chosen = DATA.model_copy(update=data)
    return generate(chosen, data_streams("exp8", "costs", seed))


def test_splits_have_their_ranges_of_costs():
    table = draw()
    costs = {split: instances_of(table, 4, split).costs for split in table["split"].unique()}
    assert {split: len(each) for split, each in costs.items()} == {
        "train": 400,
        "iid": 200,
        "close": 200,
        "held-out": 200,
        "shifted": 200,
    }
    known = set(range(1, 101)) - UNSEEN
    assert set(costs["train"].flat) == set(costs["iid"].flat) == known
    assert set(costs["held-out"].flat) == UNSEEN
    assert set(costs["shifted"].flat) == set(range(50, 151))


def test_labels_are_optimal_by_enumeration():
    table = draw()
    for split in ("train", "held-out"):
        instances = instances_of(table, 4, split)
        for costs, columns, least in zip(
            instances.costs, instances.columns, instances.least, strict=True
        ):
            every = [sum(costs[r, p[r]] for r in range(4)) for p in permutations(range(4))]
            assert sum(costs[r, columns[r]] for r in range(4)) == least == min(every)


def test_close_calls_are_decided_by_one_unit_of_cost():
    instances = instances_of(draw(), 4, "close")
    best = np.sort(sums_of_all(instances.costs))
    np.testing.assert_array_equal(best[:, 1] - best[:, 0], 1)
    np.testing.assert_array_equal(best[:, 0], instances.least)
    assert set(instances.costs.flat) == set(range(1, 101)) - UNSEEN


def test_assignments_have_the_smallest_cost_for_either_sign():
    assert assign(np.array([[[1.0, 2.0], [2.0, 1.0]], [[-1.0, -2.0], [-2.0, -1.0]]])).tolist() == [
        [0, 1],
        [1, 0],
    ]


def test_permuted_labels_are_a_bijection_and_keep_the_problem():
    plain, permuted = (
        instances_of(draw(labels=labels), 4, "train") for labels in ("costs", "permuted")
    )
    np.testing.assert_array_equal(plain.costs, plain.shown)
    np.testing.assert_array_equal(plain.costs, permuted.costs)
    np.testing.assert_array_equal(plain.columns, permuted.columns)
    pairs = set(zip(permuted.costs.flat, permuted.shown.flat, strict=True))
    assert len(pairs) == len({cost for cost, _ in pairs}) == len({name for _, name in pairs})
    assert {name for _, name in pairs} <= set(range(1, 101))
    moved = np.corrcoef(permuted.costs.ravel(), permuted.shown.ravel())[0, 1]
    assert abs(moved) < 0.5


@pytest.mark.parametrize("n", [2, 5])
def test_instances_of_every_size_are_read_back(n):
    instances = instances_of(draw(n=n, train=20), n, "train")
    assert instances.costs.shape == (20, n, n)
    assert (np.sort(instances.columns, 1) == np.arange(n)).all()
