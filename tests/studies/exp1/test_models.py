import itertools
from dataclasses import replace

import pytest
import torch

from journeylab.operators import naive
from journeylab.studies.exp1_group_languages import settings
from journeylab.studies.exp1_group_languages.tasks import UNLABELLED

from .results import make_problem

ALL = torch.tensor(list(itertools.product((0, 1), repeat=7)), dtype=torch.uint8)


@pytest.mark.parametrize("variant", list(settings.VARIANTS))
def test_logits_equal_the_naive_recurrence(build, variant):
    model = build(make_problem(variant)).double()
    with torch.no_grad():
        states = naive.chain_states(model.operators(), model.start, ALL.mT, model.inputs)
        expected = torch.einsum("cd,dts->cts", model.weight, states) + model.bias[:, None, None]
        torch.testing.assert_close(model(ALL), expected)


@pytest.mark.parametrize("family", settings.FAMILIES)
def test_families_have_their_defining_properties(build, family):
    with torch.no_grad():
        a, b = build(make_problem(f"{family}-product")).double().operators()
    identity = torch.eye(len(a), dtype=torch.float64)
    assert torch.allclose(a @ b, b @ a, atol=1e-4) == (family in settings.COMMUTING)
    assert torch.allclose(a @ a.mT, identity, atol=1e-6) == (family in ("orthogonal", "toral"))
    if family in ("real", "diagonal"):
        assert torch.equal(a, a.diagonal().diag())
    if family == "complex":
        radii = torch.linalg.eigvals(a).abs()
        assert (radii < 1.0).all()
        assert (radii > 0.5).all()


def test_the_initial_scale_multiplies_the_deviation_of_free_operators_from_i(build):
    operators = []
    for scale in (1.0, 2.0):
        problem = make_problem("diagonal-aggregation")
        job = problem.job.model_copy(update={"model": settings.Model(initial_scale=scale)})
        with torch.no_grad():
            operators.append(build(replace(problem, job=job)).operators())
    identity = torch.eye(operators[0].shape[-1])
    assert torch.allclose(2 * (operators[0] - identity), operators[1] - identity, atol=1e-6)


@pytest.mark.parametrize("family", settings.COMMUTING)
def test_only_commuting_product_states_are_functions_of_the_counts(build, family):
    counts = ALL.sum(1)
    spreads = {}
    for form in ("product", "aggregation"):
        model = build(make_problem(f"{family}-{form}")).double()
        with torch.no_grad():
            last = model(ALL)[:, -1]
        spreads[form] = max(float(last[:, counts == k].std(1).max()) for k in range(1, 7))
    assert spreads["product"] < 1e-12 < 1e-3 < spreads["aggregation"]


@pytest.mark.parametrize("task", settings.TASK_NAMES)
def test_batches_repeat_are_cut_and_mask_unlabelled_prefixes(draw_batch, task):
    problem = make_problem("toral-product", task)
    batches = [draw_batch(problem) for _ in range(2)]
    for name, shape in (("words", (16, settings.SHORTEST)), ("labels", (16, settings.SHORTEST))):
        assert torch.equal(batches[0][name], batches[1][name])
        assert batches[0][name].shape == shape
    late = draw_batch(problem, 30)
    assert late["words"].shape == (16, settings.LONGEST)
    ended = late["words"] > 1
    assert (late["labels"][ended] == UNLABELLED).all()
    if task.startswith("B"):
        constant = late["words"].cummax(1).values == late["words"].cummin(1).values
        assert ((late["labels"] == UNLABELLED) == (ended | constant)).all()
    else:
        assert (late["labels"][~ended] >= 0).all()


def test_string_length_grows_over_the_curriculum():
    problem = make_problem("toral-product", steps=1500)
    cuts = [problem.cut(step) for step in range(1, 1501)]
    assert cuts == sorted(cuts)
    assert cuts[0] == settings.SHORTEST
    assert set(cuts) == set(range(settings.SHORTEST, settings.LONGEST + 1))
    assert cuts[898] == settings.LONGEST == cuts[-1]
    assert sum(cut < settings.LONGEST for cut in cuts) == pytest.approx(0.6 * 1500 * 40 / 41, abs=2)
    assert make_problem("toral-product", curriculum=0.0).cut(1) == settings.LONGEST


def test_tokens_per_step_count_labelled_prefixes(streams):
    problem = make_problem("toral-product", "B", steps=200, batch=64)
    order = streams.generator("order")
    seen = [
        int((problem.batch(step, order, torch.Generator())["labels"] != UNLABELLED).sum())
        for step in range(1, 201)
    ]
    assert problem.tokens_per_step == pytest.approx(sum(seen) / 200, rel=0.02)


def test_loss_is_the_mean_cross_entropy_of_labelled_prefixes(build, draw_batch):
    problem = make_problem("orthogonal-product", "B")
    batch, model = draw_batch(problem, 12), build(problem)
    chances = model(batch["words"]).softmax(0)
    terms = [
        -chances[int(label), t, s].log()
        for s, row in enumerate(batch["labels"])
        for t, label in enumerate(row)
        if label != UNLABELLED
    ]
    torch.testing.assert_close(problem.loss(model, batch), torch.stack(terms).mean())


@pytest.mark.parametrize("variant", list(settings.VARIANTS))
def test_training_lowers_the_loss_of_every_variant(build, fit, variant):
    problem = make_problem(variant, "S3", steps=20, evaluate_every=20)
    trained, _ = fit(problem)
    curve = trained.curve.set_index("metric")["value"]
    with torch.no_grad():
        untrained = problem.evaluate(build(problem))
    assert curve["loss"] < untrained["loss"]
    assert trained.flops == 20 * problem.flops_per_step(build(problem))
