import numpy as np
import pytest
import torch

from journeylab.studies.exp8_value_embeddings.measure import measure
from journeylab.studies.exp8_value_embeddings.metrics import METRICS
from journeylab.studies.exp8_value_embeddings.models import Recursion
from journeylab.studies.exp8_value_embeddings.settings import HELD_OUT, Evaluation


class Cheap(Recursion):
    """Logits that fall with the cost of their own cell, and nothing else."""

    def forward(self, shown):
        return 10.0 - shown.double()


def values_of(problem, model):
    table = measure(problem.job, Evaluation(), problem, model)
    return table, table.set_index(["metric", "test", "decoder"])["value"].sort_index()


def test_hungarian_decoding_solves_the_problem_for_whoever_knows_the_costs(make_problem):
    problem = make_problem("scalar")
    _, values = values_of(problem, Cheap(problem.job, torch.Generator().manual_seed(0)))
    for test in ("iid", "held-out", "shifted"):
        assert values["optimal", test, "hungarian"].item() == 1.0
        assert values["gap", test, "hungarian"].item() == 0.0
        assert values["optimal", test, "row"].item() < 0.9
    assert values["valid", "shifted", "token"].item() == 0.0
    assert ("gap", "shifted", "token") not in values.index  # no valid answer, no gap


def test_optimal_answers_are_valid_and_every_row_is_declared_and_there_once(make_problem, build):
    for variant in ("discrete", "hybrid25"):
        problem = make_problem(variant)
        table, values = values_of(problem, build(problem))
        assert set(table["metric"]) <= set(METRICS)
        assert not table.duplicated(list(table.columns[:-1])).any()
        for factor in ("test", "decoder", "stage"):
            for metric, rows in table.dropna(subset=[factor]).groupby("metric"):
                assert set(rows[factor]) == set(METRICS[metric].factors[factor]) or metric == "gap"
        assert (values["optimal"] <= values["valid"]).all()
        assert ("learned_order" in set(table["metric"])) == (variant == "hybrid25")


def test_order_is_that_of_the_costs_in_training_alone(make_problem, build):
    problem = make_problem("discrete")
    model = build(problem)
    angles = torch.arange(151) * 0.02
    with torch.no_grad():
        table = model.embedding.inner.table
        table.zero_()
        table[:, 0], table[:, 1] = angles.cos(), angles.sin()
        table[list(HELD_OUT)] = torch.randn(len(HELD_OUT), 16)
    found, _ = values_of(problem, model)
    stages = found[found["metric"] == "order"].set_index("stage")["value"]
    assert stages["trained"] == pytest.approx(1.0, abs=1e-4)
    assert abs(stages["initial"]) < 0.15
    near = found[(found["metric"] == "similarity") & (found["stage"] == "trained")]
    np.testing.assert_allclose(
        near["value"], np.cos(0.02 * near["distance"].to_numpy(dtype=float)), atol=1e-5
    )
