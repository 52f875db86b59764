import pytest
import torch

from journeylab.streams import Streams
from journeylab.studies.exp10_circuit_encoders.circuits import operation_types
from journeylab.studies.exp10_circuit_encoders.data import circuits_of
from journeylab.studies.exp10_circuit_encoders.measure import measure
from journeylab.studies.exp10_circuit_encoders.metrics import LABELS, METRICS
from journeylab.studies.exp10_circuit_encoders.settings import Evaluation
from journeylab.training.engine import Execution, train_seeds

BLIND = ("sum", "one-hot")


def test_splits_have_every_circuit_once(table):
    assert table["split"].value_counts().to_dict() == {"train": 5760, "test": 1440}
    assert not table.drop(columns="split").duplicated().any()
    assert set(table["degree"]) == {0, 1, 2, 3, 4, 5, 6, 8}


@pytest.mark.parametrize("variant", LABELS)
def test_only_encoders_without_wiring_depend_on_types_alone(make_problem, build, variant):
    problem = make_problem(variant)
    model = build(problem)
    tokens = problem.test.tokens[::5]
    with torch.no_grad():
        logits = model(tokens)
    groups = operation_types(circuits_of(problem.table[problem.table["split"] == "test"]))[::5]
    assert set(groups.tolist()) == set(range(8))
    distinct = len(torch.unique(logits.round(decimals=4), dim=0))
    assert (distinct <= 8) == (variant in BLIND)


def test_every_epoch_shows_every_circuit_once_in_its_own_order(make_problem):
    problem = make_problem("sum", steps=90)
    generator = torch.Generator()
    batches = [problem.batch(step, generator, generator) for step in range(1, 91)]
    for epoch in (batches[:45], batches[45:]):
        tokens = torch.cat([batch["tokens"] for batch in epoch])
        assert len(torch.unique(tokens.flatten(1), dim=0)) == 5760
    assert not torch.equal(batches[0]["tokens"], batches[45]["tokens"])
    again = make_problem("tree").batch(46, generator, generator)
    assert torch.equal(again["tokens"], batches[45]["tokens"])


@pytest.mark.parametrize("variant", ["one-hot-wiring", "wiring-learned", "tree"])
def test_seeds_trained_together_equal_seeds_trained_alone(make_problem, train_both_ways, variant):
    problems = [make_problem(variant, seed=seed, every=20, rows=16) for seed in (1000, 1001)]
    train_both_ways(problems, [problem.streams for problem in problems])


def test_an_encoder_without_wiring_learns_the_rule_of_types_below_the_ceiling(
    make_problem, tmp_path
):
    problem = make_problem("sum", steps=90, every=5, rows=64)
    streams = [Streams("exp10", 1000)]
    [trained] = train_seeds(
        [problem],
        problem.job.training,
        streams,
        tmp_path,
        Execution("sequential", "cpu"),
        label="x",
        identity="",
    )
    model = problem.build(streams[0].generator("init"))
    model.load_state_dict(trained.state)
    values = measure(problem.job, Evaluation(), problem, model.eval()).set_index("metric")["value"]
    assert set(values.index) <= set(METRICS)
    assert values["accuracy"] <= values["blind_ceiling"]
    assert values["accuracy"] == pytest.approx(values["blind_rule"], abs=0.05)
    assert values["commonest"] < values["blind_rule"] - 0.05


def test_the_ceiling_over_all_circuits_is_the_same_for_every_split(make_problem, build):
    for seed in (1000, 1001):
        problem = make_problem("sum", "value", seed=seed)
        rows = measure(problem.job, Evaluation(), problem, build(problem))
        values = rows.set_index("metric")["value"]
        assert values["blind_ceiling_all"] == 1972 / 7200
        assert values["blind_ceiling"] != values["blind_ceiling_all"]


def test_operations_equal_those_counted_by_hand(make_problem, build):
    d, s, rows = 32, 6, 128
    block = 12 * d * d + 2 * s * d
    last = make_problem("sum")
    inner = s * block + s * 2 * d * d + 10 * d * d + 2 * s * d
    assert last.flops_per_step(build(last)) == 6 * rows * (inner + 9 * d)
    mean = make_problem("sum", head="mean")
    assert mean.flops_per_step(build(mean)) == 6 * rows * (2 * s * block + 9 * d)
