import math

import numpy as np
import pytest
import torch

from journeylab.streams import data_streams
from journeylab.studies.exp3_order_information import settings
from journeylab.studies.exp3_order_information.aggregation import spell, standardise, terms
from journeylab.studies.exp3_order_information.data import (
    draw_strings,
    draw_values,
    skip,
    strings_of,
    values_of,
)
from journeylab.studies.exp3_order_information.information import blind_ceiling, blind_information
from journeylab.studies.exp3_order_information.measure import measure
from journeylab.studies.exp3_order_information.models import cross_entropies, score_probes

from ..gathering import draw_data, small_problem

SMALL = settings.Data(held_out=50, seen=40)
TRAINING = settings.Training(
    steps=60, learning_rate=0.01, warmup=5, strings=32, clip=1e6, evaluate_every=30
)


@pytest.fixture(scope="module")
def dataset():
    return draw_data("exp3", SMALL, "strings")


def make(variant="standard", colours=2, d=4, scale=1.0, **training):
    job = settings.Job(
        variant=variant,
        colours=colours,
        d=d,
        data=SMALL,
        model=settings.Model(hidden=16, initial_scale=scale),
        training=TRAINING.model_copy(update=training),
    )
    return small_problem("exp3", job, "strings")


@pytest.mark.parametrize("colours", [2, 3, 4])
@pytest.mark.parametrize("length", settings.LENGTHS)
def test_held_out_and_seen_strings_are_distinct_and_disjoint(dataset, colours, length):
    held_out = strings_of(dataset, "held-out", colours, length)
    seen = strings_of(dataset, "seen", colours, length)
    assert len(held_out.unique()) == len(held_out) == 50
    assert len(seen.unique()) == len(seen) == 40
    assert not set(held_out.tolist()) & set(seen.tolist())
    assert min(held_out.min(), seen.min()) >= 0
    assert max(held_out.max(), seen.max()) < colours**length
    assert (held_out.diff() > 0).all()


def test_at_most_the_largest_share_is_held_out():
    held_out, seen = draw_strings(256, settings.Data(), np.random.default_rng(0))
    assert len(held_out) == 64
    assert sorted([*held_out, *seen]) == list(range(256))


def test_skip_enumerates_the_strings_not_held_out():
    held_out = torch.tensor([0, 3, 4, 9])
    assert skip(torch.arange(6), held_out).tolist() == [1, 2, 5, 6, 7, 8]


def test_arms_share_the_values_of_a_seed(dataset):
    whole = draw_values(data_streams("exp3", "strings", 1000))
    for colours, width in ((2, 4), (4, 16)):
        drawn = values_of(dataset, colours, width)
        np.testing.assert_array_equal(drawn, whole[:colours, :width])


@pytest.mark.parametrize("colours", [2, 3, 4])
def test_training_never_draws_a_held_out_string(streams, colours):
    problem = make(colours=colours, strings=500)
    held_out = [set(strings.tolist()) for strings in problem.held_out]
    order = streams.generator("order")
    for step in range(1, 6):
        drawn = problem.batch(step, order, order)["strings"]
        assert drawn.shape == (4, 500)
        for index, length in enumerate(settings.LENGTHS):
            strings = set(drawn[index].tolist())
            assert not strings & held_out[index]
            assert max(strings) < colours**length
    short = problem.batch(1, order, order)["strings"][0]
    assert len(short.unique()) > 150


def test_the_initial_scale_multiplies_all_initial_parameters(build):
    once, twice = (build(make(scale=scale)).state_dict() for scale in (1.0, 2.0))
    assert all(torch.equal(2.0 * value, twice[name]) for name, value in once.items())


@pytest.mark.parametrize("variant", settings.SETS)
def test_probes_read_a_standardised_aggregate(build, variant):
    problem = make(variant, d=16)
    added = standardise(terms(variant, problem.values, 8))
    strings = torch.arange(256)
    chosen = spell(strings, 8, 2)
    aggregate = added[torch.arange(8), chosen].sum(1)
    torch.testing.assert_close(aggregate.mean(0), torch.zeros(16, dtype=torch.float64))
    torch.testing.assert_close(aggregate.var(0, correction=0), torch.ones(16, dtype=torch.float64))
    read = build(problem).read(strings[None], 0)
    torch.testing.assert_close(read.aggregate[0].double(), aggregate, atol=1e-5, rtol=1e-5)
    assert torch.equal(read.colours[0, :, :8], chosen)
    assert torch.equal(read.counts[0, :, 1], chosen.sum(1))
    assert torch.equal(read.counts[0].sum(1), torch.full((256,), 8))


def test_standardised_mean_equals_the_standardised_sum(build, draw_batch):
    batch = draw_batch(make())
    losses = [make(v).loss(build(make(v)), batch).item() for v in ("sum", "mean", "standard")]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    assert losses[0] != pytest.approx(losses[2], abs=1e-4)


def test_positions_beyond_the_end_have_no_loss(build, draw_batch):
    problem = make(colours=4)
    model = build(problem)
    truth = model.read(draw_batch(problem)["strings"])
    logits = model(truth.aggregate)["mlp"]
    positions, counts = cross_entropies(logits, truth)
    for index, length in enumerate(settings.LENGTHS):
        assert (positions[index, :, length:] == 0).all()
        assert (positions[index, :, :length] > 0).all()
        assert (logits.counts[index, ..., length + 1 :] == -math.inf).all()
    assert counts.isfinite().all()


def test_the_loss_is_the_mean_over_questions(build, draw_batch):
    """Without weights every answer is as probable: log C at a position, log(N + 1) for a count."""
    problem = make(colours=4)
    model = build(problem)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    expected = 2 * sum((n * math.log(4) + 4 * math.log(n + 1)) / (n + 4) for n in settings.LENGTHS)
    assert problem.loss(model, draw_batch(problem)).item() == pytest.approx(expected, rel=1e-5)
    assert problem.tokens_per_step == 32 * sum(n + 4 for n in settings.LENGTHS)


def test_probes_of_different_lengths_share_no_parameter(build, draw_batch):
    """The gradient of one length's loss is zero at the other lengths' parameters."""
    problem = make()
    model = build(problem)
    truth = model.read(draw_batch(problem)["strings"])
    logits = model(truth.aggregate)
    positions, counts = cross_entropies(logits["mlp"], truth)
    (positions[1].sum() + counts[1].sum()).backward()
    for parameter in model.mlp.parameters():
        touched = parameter.grad.flatten(1).abs().sum(1) > 0
        assert touched.tolist() == [False, True, False, False]
    assert all(parameter.grad is None for parameter in model.linear.parameters())


def test_training_raises_position_accuracy_at_every_length(build, fit):
    problem = make("standard", d=16)
    trained, model = fit(problem)
    curve = trained.curve.pivot_table(index="step", columns="metric", values="value").iloc[-1]
    before = problem.evaluate(build(problem))
    for length in settings.LENGTHS:
        name = f"position_accuracy_{length}"
        assert curve[name] > before[name] + 0.05
    assert problem.evaluate(model)["count_accuracy_20"] == curve["count_accuracy_20"]


@pytest.mark.parametrize("colours", [2, 3, 4])
def test_measurements_are_complete(build, colours):
    problem = make(colours=colours)
    table = measure(problem.job, settings.Evaluation(), problem, build(problem))
    assert len(table) == len(settings.LENGTHS) * (2 + 2 * 2 * 3)
    ceilings = table[table["metric"] == "blind_ceiling"].set_index("N")["value"]
    assert ceilings[12] == blind_ceiling(12, colours)
    known = table[table["metric"] == "blind_information"].set_index("N")["value"]
    assert known[12] == blind_information(12, colours)


def test_every_split_is_measured_on_its_own_strings(build, dataset):
    problem = make()
    model = build(problem)
    table = measure(problem.job, settings.Evaluation(), problem, model)
    keys = ["strings", "N", "probe", "metric"]
    rows = table.dropna(subset="probe").set_index(keys)["value"].sort_index()
    for split in settings.SPLITS:
        for index, length in enumerate(settings.LENGTHS):
            strings = strings_of(dataset, split, 2, length)
            for probe, score in score_probes(model, strings, index).items():
                values = rows[split, length, probe]
                assert values["position_accuracy"] == score.position_accuracy
                assert values["count_accuracy"] == score.count_accuracy
                assert values["v_information"] == length * (1.0 - score.position_loss)
    assert (rows["seen"] != rows["held-out"]).any()


def test_a_score_counts_right_answers(build):
    """A linear probe whose bias says colour 1 and seven of it, whatever it reads."""
    problem = make()
    model = build(problem)
    with torch.no_grad():
        for parameter in model.linear.parameters():
            parameter.zero_()
        [bias] = model.linear.biases
        bias[0, 0, 20:40] = 1.0
        of_count = bias[0, 0, 40:].view(2, 21)
        of_count[0, 1] = of_count[1, 7] = 1.0
    strings = torch.tensor([0b11111110, 0b10000000, 0b11111111])
    score = score_probes(model, strings, 0)["linear"]
    assert score.position_accuracy == pytest.approx(16 / 24)
    assert score.count_accuracy == pytest.approx(2 / 6)
    share = 1 / (1 + math.e)
    expected = -(16 * math.log2(1 - share) + 8 * math.log2(share)) / 24
    assert score.position_loss == pytest.approx(expected, rel=1e-5)
