"""The language model: its noise, its routes, and its metrics."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from journeylab.config import ExternalFile
from journeylab.models.estimators import harden
from journeylab.models.hypergraph import attend_masked, attend_softly, attend_sparsely
from journeylab.studies.exp9_router_gradients import measure as measuring
from journeylab.studies.exp9_router_gradients import models
from journeylab.studies.exp9_router_gradients.measure import measure
from journeylab.studies.exp9_router_gradients.models import follow_hard, perplexity
from journeylab.studies.exp9_router_gradients.settings import Data, Evaluation, Job, Model, Training

from ...tensors import encoder_layer
from ..gathering import assert_causal, small_problem, values_of

VARIANTS = ("straight-through", "gumbel-0.5", "annealing", "soft")
STEPS = 30
SIZES = Model(d=8, heads=2, length=16)
DATA = Data(file=ExternalFile(sha256="0" * 64), passage=100, held_out=0.2)


def make(variant="straight-through"):
    budget = Training(steps=STEPS, learning_rate=0.01, warmup=5, rows=4, evaluate_every=STEPS)
    job = Job(variant=variant, data=DATA, model=SIZES, training=budget)
    return small_problem("exp9", job, "corpus")


@pytest.fixture(scope="module")
def measured(fit):
    """Problem, model and measurements of every variant, trained for a few steps."""
    trained_models = {}
    for variant in VARIANTS:
        problem = make(variant)
        _, model = fit(problem)
        table = measure(problem.job, Evaluation(windows=36), problem, model)
        trained_models[variant] = problem, model, table
    return trained_models


def value(table, metric, **where):
    return values_of(table, metric, **where).item()


def test_noise_is_drawn_per_step_and_layer_for_estimators_that_use_it(draw_batch):
    assert [set(draw_batch(make(variant))) - {"inputs", "targets"} for variant in VARIANTS] == [
        set(),
        {"noise", "tau", "volume"},
        {"noise", "tau", "volume"},
        set(),
    ]
    batch = draw_batch(make("gumbel-0.5"))
    assert batch["noise"].shape == (2, 4, 2, 16, 3)
    assert not torch.equal(batch["noise"][0], batch["noise"][1])
    assert batch["tau"] == 0.5
    # The document's schedule, over 40 % of the steps: 1 → 0.1, and silent from 0.2 on.
    batches = [draw_batch(make("annealing"), step) for step in (6, 12, STEPS)]
    assert [float(each["tau"]) for each in batches] == pytest.approx([0.55, 0.1, 0.1])
    assert [float(each["volume"]) for each in batches] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_training_routes_come_from_the_estimator(draw_batch, variant):
    problem = make(variant)
    batch = draw_batch(problem)
    logits = torch.randn(4, 2, 16, 3, generator=torch.Generator().manual_seed(0))
    for layer in range(2):
        route = problem.router(batch)(logits, layer)
        if variant == "soft":
            torch.testing.assert_close(route, logits.softmax(-1))
            continue
        moved = logits + batch["noise"][layer] if "noise" in batch else logits
        assert torch.equal(route.argmax(-1), moved.argmax(-1))
        torch.testing.assert_close(route, harden(route))
    assert problem.form is (attend_softly if variant == "soft" else attend_masked)


@pytest.mark.parametrize("variant", ["straight-through", "soft"])
def test_logits_do_not_depend_on_later_characters(build, variant):
    problem = make(variant)
    model, inputs = build(problem), problem.held_out.read(16).inputs[:3].clone()

    def read(inputs):
        return model(inputs, problem.router({}), problem.form)

    assert_causal(read, inputs, len(problem.seen.alphabet))


@pytest.mark.parametrize("variant", VARIANTS)
def test_router_and_model_learn(measured, build, variant):
    problem, model, table = measured[variant]
    before = build(problem)
    for old, new in zip(before.blocks, model.blocks, strict=True):
        assert not torch.equal(old.attention.router.weight, new.attention.router.weight)
    windows = problem.held_out.read(16)
    with torch.no_grad():
        at_first = perplexity(before, windows, follow_hard)
    assert at_first == pytest.approx(len(problem.seen.alphabet), rel=0.05)
    assert value(table, "perplexity", routes="hard") < 0.9 * at_first


def test_perplexity_is_over_all_characters(build, monkeypatch):
    monkeypatch.setattr(models, "WINDOWS", 50)
    problem = make()
    model, windows = build(problem), problem.held_out.read(16)
    assert len(windows.inputs) % 50
    with torch.no_grad():
        whole = cross_entropy(
            follow_hard(model, windows.inputs).flatten(0, 1), windows.targets.flatten()
        )
        assert perplexity(model, windows, follow_hard) == pytest.approx(whole.exp().item(), 1e-5)


def test_the_gap_is_perplexity_with_hard_minus_training_routes(measured):
    for variant, (_, _, table) in measured.items():
        hard, training = (value(table, "perplexity", routes=r) for r in ("hard", "training"))
        assert value(table, "perplexity_gap") == hard - training
        bigram = value(table, "bigram_perplexity")
        assert value(table, "perplexity_gain") == bigram - hard
        # Without noise in the last step, hard variants train and evaluate with the same routes.
        same = variant in ("straight-through", "annealing")
        assert (abs(hard - training) < 1e-4) == same, variant


def test_bigrams_and_models_read_the_same_windows_spread_over_the_text(build, monkeypatch):
    problem = make()
    model = build(problem)
    every = problem.held_out.read(16)
    assert len(every.inputs) == 72
    seen = []

    def spy(model, windows, read):
        del model, read
        seen.append(windows)
        return 9.0

    monkeypatch.setattr(measuring, "perplexity", spy)
    table = measure(problem.job, Evaluation(windows=24), problem, model)
    for windows in seen:
        assert torch.equal(windows.inputs, every.inputs[::3])
    counts = torch.ones(2 * (len(problem.seen.alphabet),), dtype=torch.float64)
    for text in problem.seen.characters.tolist():
        for first, second in itertools.pairwise(text):
            counts[first, second] += 1.0
    logs = (
        (counts / counts.sum(1, keepdim=True))[every.inputs[::3], every.targets[::3]].log().mean()
    )
    assert value(table, "bigram_perplexity") == pytest.approx(math.exp(-logs))
    measure(problem.job, Evaluation(windows=10**6), problem, model)
    assert torch.equal(seen[-1].inputs, every.inputs)


def test_loads_are_sorted_shares_of_tokens(measured):
    problem, model, table = measured["straight-through"]
    loads = table[table["metric"] == "load"].pivot(index="layer", columns="rank", values="value")
    assert loads.shape == (2, 3)
    assert np.allclose(loads.sum(axis=1), 1.0)
    assert (loads[1] >= loads[2]).all()
    assert (loads[2] >= loads[3]).all()
    shares, fullest = [], []

    def look(logits, layer):
        taken = logits.argmax(-1)
        counts = torch.stack([(taken == k).double().mean(-1) for k in range(3)], -1)
        shares.append(counts.square().sum(-1).mean())
        fullest.append(counts.mean(0).max(-1).values.mean())
        return harden(logits)

    with torch.no_grad():
        model(problem.held_out.read(16).inputs[::2], look, attend_sparsely)
    assert value(table, "pair_share") == pytest.approx(float(sum(shares) / 2))
    assert loads[1].tolist() == pytest.approx([float(each) for each in fullest])


def test_the_block_with_one_route_equals_the_causal_encoder_layer_of_torch():
    ours = models.RoutedBlock(SIZES, torch.Generator().manual_seed(0))
    theirs = encoder_layer(ours, SIZES.heads, norm_first=True)

    def first(logits):
        return torch.zeros_like(logits).index_fill(-1, torch.tensor([0]), 1.0)

    x = torch.randn(3, 7, 8)
    expected = theirs(x, src_mask=torch.ones(7, 7, dtype=torch.bool).triu(1))
    torch.testing.assert_close(ours(x, first, attend_masked), expected)
