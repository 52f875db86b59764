import numpy as np
import pytest
import torch

from journeylab.catalogue import printed_names
from journeylab.studies.exp8_value_embeddings.measure import measure
from journeylab.studies.exp8_value_embeddings.models import Recursion
from journeylab.studies.exp8_value_embeddings.settings import HELD_OUT, Evaluation

METRICS = printed_names("exp8").metrics


class NegativeCosts(Recursion):
    """Logits that decrease linearly with the cost of their own cell."""

    def forward(self, shown):
        return 10.0 - shown.double()


def values_of(problem, model):
    table = measure(problem.job, Evaluation(), problem, model)
    return table, table.set_index(["metric", "test", "decoder"])["value"].sort_index()


def test_hungarian_decoding_of_negative_costs_is_optimal(make_problem):
    problem = make_problem("scalar")
    _, values = values_of(problem, NegativeCosts(problem.job, torch.Generator().manual_seed(0)))
    for test in ("iid", "close", "held-out", "shifted"):
        assert values["optimal", test, "hungarian"].item() == 1.0
        assert values["gap", test, "hungarian"].item() == 0.0
        assert values["optimal", test, "row"].item() < 0.9
    assert values["valid", "shifted", "token"].item() == 0.0
    assert ("gap", "shifted", "token") not in values.index  # no valid answer, no gap


def test_optimal_answers_are_valid_and_only_tables_have_a_learned_order(make_problem, build):
    for variant in ("discrete", "hybrid25"):
        problem = make_problem(variant)
        table, values = values_of(problem, build(problem))
        for factor in ("test", "decoder", "stage"):
            for metric, rows in table.dropna(subset=[factor]).groupby("metric"):
                assert set(rows[factor]) == set(METRICS[metric].factors[factor]) or metric == "gap"
        assert (values["optimal"] <= values["valid"]).all()
        assert ("learned_order" in set(table["metric"])) == (variant == "hybrid25")


def test_order_ignores_costs_that_do_not_occur_in_training(make_problem, build):
    problem = make_problem("discrete")
    model = build(problem)
    angles = torch.arange(151) * 0.02
    with torch.no_grad():
        table = model.embedding.inner.table
        table.zero_()
        table[:, 0], table[:, 1] = angles.cos(), angles.sin()
        table[list(HELD_OUT)] = torch.randn(len(HELD_OUT), 16)
    rows, _ = values_of(problem, model)
    stages = rows[rows["metric"] == "order"].set_index("stage")["value"]
    assert stages["trained"] == pytest.approx(1.0, abs=1e-4)
    assert abs(stages["initial"]) < 0.15
    near = rows[(rows["metric"] == "similarity") & (rows["stage"] == "trained")]
    np.testing.assert_allclose(
        near["value"], np.cos(0.02 * near["distance"].to_numpy(dtype=float)), atol=1e-5
    )


def test_order_change_reveals_an_order_that_the_table_hides(make_problem, build):
    problem = make_problem("discrete")
    model = build(problem)
    table, _ = values_of(problem, model)
    assert "order_change" not in set(table["metric"])  # nothing was added
    with torch.no_grad():
        angles = torch.arange(151) * 0.02
        model.embedding.inner.table[:, :2] += 0.1 * torch.stack((angles.cos(), angles.sin()), -1)
    table, _ = values_of(problem, model)
    values = table.set_index(["metric", "stage"])["value"]
    assert values["order", "trained"] < 0.2
    assert values["order_change"].item() == pytest.approx(1.0, abs=1e-3)


def test_permuted_labels_have_the_same_instances_and_their_own_order(make_problem, build):
    plain, control = make_problem("discrete"), make_problem("discrete", labels="permuted")
    own, other = plain.select("train"), control.select("train")
    np.testing.assert_array_equal(own.costs, other.costs)
    shown = np.unique(other.shown)
    assert set(shown) != set(np.unique(own.shown))
    model = build(control)
    angles = torch.arange(151) * 0.02
    with torch.no_grad():
        drawn = model.embedding.inner.table
        drawn.zero_()
        drawn[shown, 0], drawn[shown, 1] = angles.cos()[shown], angles.sin()[shown]
        drawn[np.setdiff1d(np.arange(151), shown)] = torch.randn(151 - len(shown), 16)
    table, _ = values_of(control, model)
    stages = table[table["metric"] == "order"].set_index("stage")["value"]
    assert stages["trained"] == pytest.approx(1.0, abs=1e-4)
