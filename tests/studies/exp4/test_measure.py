"""Metrics before and after training, of random operators, and certificates."""

import pytest
import torch

from journeylab.catalogue import printed_names
from journeylab.studies.exp4_operator_recovery import compute as computing
from journeylab.studies.exp4_operator_recovery import settings
from journeylab.studies.exp4_operator_recovery.compute import compute
from journeylab.studies.exp4_operator_recovery.measure import measure
from journeylab.studies.exp4_operator_recovery.recovery import describe

from ..gathering import values_of
from .results import SMALL

METRICS = printed_names("exp4").metrics

FEW = settings.Evaluation(windows=40, null_draws=100)


def altered(problem):
    """A model as training might leave it: its operators differ from the initial ones."""
    model = problem.build(problem.streams.generator("init")).eval()
    with torch.no_grad():
        model.operators.mul_(1.5)
    return model


@pytest.mark.parametrize(
    ("variant", "of", "count"),
    [
        ("gaussian", {}, 1),
        ("near-identity", {"operators": "each"}, 15),
        ("identity", {"operators": "fixed"}, 1),
    ],
)
def test_both_stages_are_measured(make_problem, variant, of, count):
    problem = make_problem(variant, **of)
    model = altered(problem)
    table = measure(problem.job, FEW, problem, model)
    first = problem.build(problem.streams.generator("init")).operators.detach().double().numpy()
    assert len(first) == count
    for stage, operators in (("initial", first), ("trained", 1.5 * first)):
        wanted = describe(operators, problem.streams.numpy("bases"))
        for metric, value in wanted.items():
            [measured] = values_of(table, metric, stage=stage)
            assert measured == pytest.approx(value, abs=1e-6), metric
        angles = (
            values_of(table, "leading_angle", stage=stage)
            if count > 1
            else values_of(table, "eigen_angle", stage=stage)
        )
        assert len(angles) == (count if count > 1 else 4)
    [loss], [bigram] = values_of(table, "loss", stage="trained"), values_of(table, "bigram")
    assert values_of(table, "gain").item() == pytest.approx(bigram - loss)
    assert bigram < values_of(table, "unigram").item()


def test_the_commutator_ratio_is_final_over_initial(make_problem):
    problem = make_problem("near-identity", operators="each")
    table = measure(problem.job, FEW, problem, altered(problem))
    [before], [after] = (values_of(table, "commutator", stage=s) for s in ("initial", "trained"))
    assert values_of(table, "commutator_ratio").item() == pytest.approx(after / before)
    single = make_problem("near-identity")
    assert "commutator" not in set(measure(single.job, FEW, single, altered(single))["metric"])


def computed_rows(computed, variant, draws=2, operators="each", model=SMALL):
    job = settings.Computation(
        computed=computed, variant=variant, operators=operators, draws=draws, model=model
    )
    return compute(job, None)


@pytest.mark.parametrize("operators", ["one", "each"])
def test_random_operators_have_the_metrics_of_trained_operators(make_problem, operators):
    table = computed_rows("random", "gaussian", 3, operators)
    problem = make_problem("gaussian", operators=operators)
    measured = measure(problem.job, FEW, problem, altered(problem))
    staged = {m for m in measured["metric"] if list(METRICS[m].factors) == ["stage"]}
    assert set(table["metric"]) == staged - {"loss"}
    assert table[table["metric"] == "off_block"]["value"].nunique() == 3


def test_a_scan_in_the_wrong_order_breaks_its_certificate(monkeypatch):
    right = computing.transports
    monkeypatch.setattr(computing, "transports", lambda r, n: right(r.flip(0), n))
    broken = computed_rows("certificates", "order")
    assert values_of(broken, "order_error", case="exact").max() > 1e-3
