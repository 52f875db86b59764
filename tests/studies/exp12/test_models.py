import pytest
import torch

from journeylab.datasets.triples import MASK, TAIL
from journeylab.streams import Streams


def fresh(problem, seed=0):
    return problem.build(Streams("exp12", seed).generator("init"))


def first_batch(problem, seed=0):
    streams = Streams("exp12", seed)
    return problem.batch(1, streams.generator("order"), streams.generator("dropout"))


def test_tail_objective_masks_the_tail_only(make_problem):
    problem = make_problem("A-tail", tokens=2)
    batch = first_batch(problem)
    hidden = batch["kg_inputs"] == problem.language.identifiers[MASK]
    assert torch.equal(hidden, (problem.kg.parts[0] == TAIL).expand_as(hidden))
    assert torch.equal(batch["kg_weights"].bool(), hidden)


def test_both_readings_have_the_same_rows(make_problem):
    problem, other = make_problem("A-plus-causal", tokens=4), make_problem("A", tokens=4)
    batch, masked = first_batch(problem), first_batch(other)
    assert all(torch.equal(batch[name], rows) for name, rows in masked.items())
    assert torch.equal(batch["causal_inputs"], batch["kg_targets"][:, :-1])
    assert torch.equal(batch["causal_targets"], batch["kg_targets"][:, 1:])


def test_causal_reading_adds_its_mean_loss(make_problem):
    problem = make_problem("A-plus-causal", tokens=2, dropout=0.0)
    model = fresh(problem)
    batch = first_batch(problem)
    alone = {name: rows for name, rows in batch.items() if not name.startswith("causal")}
    rows = model.causal_triples(batch["causal_inputs"])
    logits = model([rows])[0].flatten(0, 1)
    added = torch.nn.functional.cross_entropy(logits, batch["causal_targets"].flatten())
    expected = problem.loss(model, alone) + problem.job.training.kg_weight * added
    torch.testing.assert_close(problem.loss(model, batch), expected)
    seen_before = batch["causal_inputs"].clone()
    seen_before[:, -1] = 0
    changed = model([model.causal_triples(seen_before)])[0]
    torch.testing.assert_close(changed[:, :-1], model([rows])[0][:, :-1])


@pytest.mark.parametrize("variant", ["A-tail", "A-plus-causal"])
def test_compacted_batch_has_the_loss_of_the_whole_batch(make_problem, variant):
    problem = make_problem(variant, tokens=2)
    model = fresh(problem).double()
    whole = first_batch(problem)
    whole = {n: x.double() if x.is_floating_point() else x for n, x in whole.items()}
    losses = [problem.loss(model, batch) for batch in (whole, problem.compact(whole))]
    torch.testing.assert_close(*losses, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("variant", ["A-tail", "A-plus-causal"])
def test_tokens_per_step_is_the_mean_number_of_predicted_tokens(make_problem, variant):
    problem = make_problem(variant)
    streams = Streams("exp12", 0)
    order, dropout = streams.generator("order"), streams.generator("dropout")
    seen = 0.0
    for step in range(100):
        batch = problem.batch(step, order, dropout)
        seen += sum(float(rows.sum()) for name, rows in batch.items() if name.endswith("_weights"))
    assert problem.tokens_per_step == pytest.approx(seen / 100, rel=0.03)
