import math

import numpy as np
import pytest
import torch
from scipy.linalg import logm
from torch.nn.functional import cross_entropy

from journeylab.streams import Streams, data_streams
from journeylab.studies.exp6_coupling_rank.data import (
    counts_of,
    draw_teacher,
    frequencies_of,
    generate,
    scores_of,
)
from journeylab.studies.exp6_coupling_rank.models import Journey, journey_parameters, matched_heads
from journeylab.studies.exp6_coupling_rank.settings import HEADS, Data, TableSizes
from journeylab.studies.exp6_coupling_rank.tables import truncations

from .results import make_problem


def rank(scores):
    return int(torch.linalg.matrix_rank(scores.double().flatten(1), rtol=1e-5))


@pytest.mark.parametrize("operators", ["toral", "orthogonal"])
def test_a_journey_head_has_rank_d(build, operators):
    problem = make_problem("journey", operators=operators)
    assert rank(build(problem)()[0]) == 8


@pytest.mark.parametrize("operators", ["toral", "orthogonal"])
def test_a_journey_head_can_represent_the_teacher(operators):
    problem = make_problem("journey", operators=operators)
    data, generator = problem.job.data, torch.Generator().manual_seed(0)
    sizes = TableSizes(positions=data.positions, roles=data.roles, entities=data.entities)
    rng = Streams("exp6", 1000, "test").numpy("teacher")
    teacher = draw_teacher("random", operators, sizes, rng)
    head = Journey(problem.job, teacher.frequencies, generator)
    roles = torch.linalg.lstsq(teacher.keys[:1].expand_as(teacher.keys), teacher.keys).solution.mT
    generators = torch.from_numpy(np.stack([logm(role).real for role in roles.numpy()]))
    rows, columns = torch.triu_indices(8, 8, 1)
    if operators == "toral":
        rows, columns = torch.arange(1, 8, 2), torch.arange(0, 8, 2)
    with torch.no_grad():
        head.query[0] = teacher.query
        head.keys[0] = teacher.keys[0]
        head.roles[0] = generators[:, rows, columns]
    torch.testing.assert_close(head()[0].double(), problem.scores, atol=1e-4, rtol=1e-4)


def test_h_separable_heads_have_rank_h(build):
    copies = build(make_problem("separable"))()
    for heads, restarts in zip(HEADS, copies.unflatten(0, (len(HEADS), -1)), strict=True):
        assert [rank(scores) for scores in restarts] == [heads, heads]


def test_additive_scores_have_no_interaction_of_position_and_role(build):
    """For every entity, S[t, s] − S[t, 0] − S[0, s] + S[0, 0] = 0; S depends on t and on s."""
    scores = build(make_problem("additive"))()
    by_position, by_role = (scores - scores.narrow(axis, 0, 1) for axis in (1, 2))
    torch.testing.assert_close(by_role, by_role[:, :1].expand_as(by_role), atol=1e-5, rtol=0.0)
    assert by_position.abs().max() > 0.1
    assert by_role.abs().max() > 0.1


def test_additive_heads_of_fewer_tables_hold_every_sum(build):
    model = build(make_problem("additive"))
    *_, (first, second) = model.tables()
    merged = [x.sum(1, keepdim=True) for x in (first, second)]
    torch.testing.assert_close(model.form.join(*merged), model()[-len(first) :])


def test_additive_outputs_are_the_mean_of_separate_softmaxes(build):
    model = build(make_problem("additive-outputs"))
    scores = model()
    torch.testing.assert_close(scores.exp().sum(-1), torch.ones(scores.shape[:-1]))
    positions, roles = (table[0].softmax(-1) for table in model.copies[2])
    expected = sum(positions[h][:, None] + roles[h] for h in range(3)) / 6
    torch.testing.assert_close(scores.unflatten(0, (len(HEADS), -1))[2, 0].exp(), expected)


@pytest.mark.parametrize("operators", ["toral", "orthogonal"])
def test_matched_heads_use_the_journeys_parameter_budget(build, operators):
    journey = build(make_problem("journey-learned", operators=operators))
    problem = make_problem("separable-matched", operators=operators)
    allowed = sum(p.numel() for p in journey.parameters()) // problem.job.model.restarts
    assert journey_parameters(problem.job) == allowed
    size = sum(p.numel() for p in build(problem).parameters()) // problem.job.model.restarts
    assert size <= allowed < size + size // matched_heads(problem.job)


def test_the_loss_of_labels_is_the_mean_over_queries(build):
    problem = make_problem("separable")
    model = build(problem)
    rows = problem.table[problem.table["kind"] == "query"]
    t, s, e = (torch.tensor(rows[axis].to_numpy(dtype="int64")) for axis in "tse")
    expected = sum(cross_entropy(scores[t, s], e) for scores in model())
    torch.testing.assert_close(problem.loss(model, {"target": problem.target}), expected)


def test_copies_have_independent_gradients(build):
    problem = make_problem("journey-learned")
    model = build(problem)
    problem.loss(model, {"target": problem.target}).backward()
    model.frequencies.data[1] += 1.0
    before = model.query.grad[0].clone()
    model.zero_grad()
    problem.loss(model, {"target": problem.target}).backward()
    torch.testing.assert_close(model.query.grad[0], before)


def test_separable_heads_learn_the_smallest_error_of_their_rank(fit):
    problem = make_problem("separable", fit="scores", steps=400)
    trained, _ = fit(problem)
    reached = trained.curve[trained.curve["step"] == 400].set_index("metric")["value"]
    least = {heads: error for heads, error, _ in truncations(problem.scores)}
    for heads in (1, 2, 3, 4):
        assert least[heads] * (1 - 1e-5) < reached[f"squared_error_{heads}"] < least[heads] * 1.01
    assert reached["squared_error_8"] < 0.01 * least[4]


SMALL = {"positions": 12, "roles": 3, "entities": 8}


def make(seed=1000, **chosen):
    data = Data(**{"frequencies": "random", "operators": "toral", **SMALL, **chosen})
    return data, generate(data, data_streams("exp6", "test", seed))


@pytest.mark.parametrize("frequencies", ["decaying", "random"])
def test_a_score_is_the_product_of_the_rotated_query_and_the_key_in_its_role(frequencies):
    teacher = draw_teacher(frequencies, "toral", TableSizes(**SMALL), np.random.default_rng(0))
    query, keys = (x.contiguous().numpy().view(complex) for x in (teacher.query, teacher.keys))
    omega = teacher.frequencies.numpy()
    for t, s, e in ((0, 0, 0), (1, 2, 3), (11, 1, 7)):
        expected = (np.exp(1j * t * omega) * query * keys[s, e].conj()).sum().real
        assert teacher.scores(12)[t, s, e].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("operators", ["toral", "orthogonal"])
def test_roles_rotate_keys_and_keep_their_products(operators):
    rng = np.random.default_rng(1)
    keys = draw_teacher("random", operators, TableSizes(**SMALL), rng).keys
    gram = keys @ keys.mT
    torch.testing.assert_close(gram, gram[:1].expand_as(gram))
    rotation = torch.linalg.lstsq(keys[:1].expand_as(keys[1:]), keys[1:]).solution
    torch.testing.assert_close(torch.linalg.det(rotation), torch.ones(2, dtype=torch.float64))
    assert (keys[0] - keys[1]).abs().max() > 0.1
    planes = keys.unflatten(-1, (-1, 2)).norm(dim=-1)
    assert torch.allclose(planes[0], planes[1]) == (operators == "toral")


def test_random_frequencies_are_apart_from_each_other_and_both_ends():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        omega = draw_teacher("random", "toral", TableSizes(**SMALL), rng).frequencies.numpy()
        assert np.diff([0.0, *omega, math.pi]).min() >= 0.1


def test_labels_without_noise_are_the_best_entities():
    data, table = make(noise=0.0)
    scores, counts = scores_of(table, data), counts_of(table, data)
    assert counts.sum() == data.queries
    best = torch.eye(data.entities, dtype=torch.float64)[scores.argmax(-1)]
    assert (counts * best).sum() == data.queries
    noisy = counts_of(make(noise=0.5)[1], data)
    assert 0.2 * data.queries < (noisy * best).sum() < 0.95 * data.queries


def test_random_labels_do_not_depend_on_the_teacher():
    data, table = make(labels="random")
    scores, counts = scores_of(table, data), counts_of(table, data)
    assert set(scores.unique().tolist()) == {0.0, 1.0}
    assert (scores.sum(-1) == 1).all()
    assert (counts * scores).sum() == data.queries
    assert torch.linalg.matrix_rank(scores.flatten(1)) > 8


def test_a_dataset_holds_its_teachers_frequencies():
    assert frequencies_of(make(frequencies="decaying")[1]).tolist() == [1.0, 0.3, 0.1, 0.03]
    assert not torch.equal(frequencies_of(make(1000)[1]), frequencies_of(make(1001)[1]))
