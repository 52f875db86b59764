import pytest
import torch

from journeylab.catalogue import printed_names
from journeylab.studies.exp10_circuit_encoders.circuits import operation_types
from journeylab.studies.exp10_circuit_encoders.data import circuits_of
from journeylab.studies.exp10_circuit_encoders.measure import measure, measure_headroom
from journeylab.studies.exp10_circuit_encoders.settings import Data, Evaluation

from ..gathering import draw_data
from .results import CHAINS, make_problem

LABELS = printed_names("exp10").labels

BLIND = ("sum", "one-hot")


def test_splits_have_their_shares_and_no_circuit_twice():
    every, chains = draw_data("exp10", Data(), "all"), draw_data("exp10", CHAINS, "chains")
    for table, train, test in ((every, 5760, 1440), (chains, 1613, 4032)):
        assert table["split"].value_counts().to_dict() == {"train": train, "test": test}
        assert not table.drop(columns="split").duplicated().any()
    assert set(every["degree"]) == {0, 1, 2, 3, 4, 5, 6, 8}
    assert (circuits_of(chains)[..., 2] == [2, 3, 4, 5, 6]).all()


@pytest.mark.parametrize("variant", LABELS)
def test_only_encoders_without_wiring_depend_on_types_alone(build, variant):
    problem = make_problem(variant)
    model = build(problem)
    tokens = problem.test.tokens[::5]
    with torch.no_grad():
        logits = model(tokens)
    groups = operation_types(circuits_of(problem.table[problem.table["split"] == "test"]))[::5]
    assert set(groups.tolist()) == set(range(32))
    distinct = len(torch.unique(logits.round(decimals=4), dim=0))
    assert (distinct <= 32) == (variant in BLIND)


@pytest.mark.parametrize("task", ["degree", "value", "digits"])
def test_every_answer_has_a_class(build, task):
    problem = make_problem("sum", task)
    assert 0 <= problem.table[task].min() <= problem.table[task].max() < problem.answers
    with torch.no_grad():
        assert build(problem)(problem.test.tokens[:2]).shape == (2, problem.answers)


def test_every_epoch_shows_every_circuit_once_in_its_own_order():
    problem = make_problem("sum", steps=50, rows=64)
    generator = torch.Generator()
    batches = [problem.batch(step, generator, generator) for step in range(1, 51)]
    for epoch in (batches[:25], batches[25:]):
        tokens = torch.cat([batch["tokens"] for batch in epoch])
        assert len(torch.unique(tokens.flatten(1), dim=0)) == 25 * 64 == 1613 // 64 * 64
    assert not torch.equal(batches[0]["tokens"], batches[25]["tokens"])
    again = make_problem("tree", rows=64).batch(26, generator, generator)
    assert torch.equal(again["tokens"], batches[25]["tokens"])


def test_an_encoder_without_wiring_learns_the_rule_of_types_below_the_ceiling(fit):
    problem = make_problem("sum", steps=90, rows=64)
    _, model = fit(problem)
    values = measure(problem.job, Evaluation(), problem, model).set_index("metric")["value"]
    assert values["accuracy"] <= values["blind_ceiling"]
    assert values["accuracy"] == pytest.approx(values["blind_rule"], abs=0.05)
    assert values["commonest"] < values["blind_rule"] - 0.05
    assert values["lead"] == values["accuracy"] - values["blind_ceiling"]
    assert values["headroom"] == values["accuracy"] - values["commonest"] - 0.05


@pytest.mark.parametrize(
    ("right", "headroom"), [(1.0, -0.02), (0.97, 0.01), (0.9, 0.08), (0.4, 0.4 - 0.3 - 0.05)]
)
def test_there_is_headroom_between_the_most_frequent_answer_and_an_accuracy_of_1(right, headroom):
    assert measure_headroom(right, 0.3) == pytest.approx(headroom)


def test_operations_equal_those_counted_by_hand(build):
    d, s, rows = 32, 8, 128
    block = 12 * d * d + 2 * s * d
    last = make_problem("sum")
    inner = s * block + s * 2 * d * d + 10 * d * d + 2 * s * d
    assert last.flops_per_step(build(last)) == 6 * rows * (inner + 33 * d)
    mean = make_problem("sum", head="mean")
    assert mean.flops_per_step(build(mean)) == 6 * rows * (2 * s * block + 33 * d)
