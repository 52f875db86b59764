from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from journeylab.studies.exp6_coupling_rank.measure import accuracy, blind_ceiling, measure
from journeylab.studies.exp6_coupling_rank.settings import HEADS, Evaluation
from journeylab.studies.exp6_coupling_rank.tables import truncations


class FixedScores(nn.Module):
    """A model of fixed scores, with several copies."""

    def __init__(self, *scores):
        super().__init__()
        self.scores = nn.Parameter(torch.stack(scores))

    def forward(self):
        return 1.0 * self.scores


def test_blind_ceiling_is_the_best_of_all_answers_without_the_position():
    truth = torch.randn(5, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = truth.argmax(-1)
    answers = product(range(3), repeat=3)  # an entity for each of three roles
    best = max(float((labels == torch.tensor(answer)).double().mean()) for answer in answers)
    assert blind_ceiling(truth) == best
    assert blind_ceiling(truth[:1]) == 1.0


def test_no_scores_of_rank_h_have_a_smaller_error_than_the_truncation(make_problem):
    truth = make_problem("separable").scores
    energy = truth.square().sum()
    rng = torch.Generator().manual_seed(1)
    for heads, error, best in truncations(truth):
        assert torch.linalg.matrix_rank(best.flatten(1)) == heads
        assert float((best - truth).square().sum() / energy) == pytest.approx(error, abs=1e-12)
        span = torch.randn(len(truth), heads, generator=rng, dtype=torch.float64)
        other = span @ torch.linalg.lstsq(span, truth.flatten(1)).solution
        assert float((other - truth.flatten(1)).square().sum() / energy) >= error - 1e-12


def test_a_model_with_the_exact_scores_has_accuracy_one(make_problem):
    problem = make_problem("journey", fit="scores")
    model = FixedScores(torch.zeros_like(problem.target), problem.target)
    table = measure(problem.job, Evaluation(), problem, model)
    values = table[table["H"].isna()].set_index("metric")["value"]
    assert values["accuracy"] == 1.0
    assert values["squared_error"] < 1e-12
    assert values["parameters"] == problem.target.numel()


def test_excess_is_relative_to_the_smallest_error_of_the_same_rank(make_problem):
    problem = make_problem("separable", fit="scores")
    scale = problem.scores.square().mean().sqrt()
    restarts = problem.job.model.restarts
    best = [x / scale for _, _, x in truncations(problem.scores) for _ in range(restarts)]
    table = measure(problem.job, Evaluation(), problem, FixedScores(*best))
    wide = table.pivot_table(index="H", columns="metric", values="value")
    np.testing.assert_allclose(wide["squared_error"], wide["eckart_young"], atol=1e-6)
    np.testing.assert_allclose(wide.loc[:7, "excess"], 0.0, atol=1e-4)
    assert np.isnan(wide.loc[8, "excess"])
    worse = measure(problem.job, Evaluation(), problem, FixedScores(*(1.1 * x for x in best)))
    excess = worse[worse["metric"] == "excess"]["value"]
    energy = 1.0 - wide["eckart_young"].loc[:7]
    np.testing.assert_allclose(excess, 0.01 * energy / wide["eckart_young"].loc[:7], rtol=1e-3)


@pytest.mark.parametrize("fit", ["labels", "scores"])
@pytest.mark.parametrize("variant", ["journey-learned", "separable"])
def test_parameters_are_of_one_restart_and_only_scores_have_errors(
    make_problem, build, variant, fit
):
    problem = make_problem(variant, fit=fit)
    model = build(problem)
    table = measure(problem.job, Evaluation(), problem, model)
    assert ("squared_error" in set(table["metric"])) == (fit == "scores")
    sizes = table[table["metric"] == "parameters"]
    total = sum(p.numel() for p in model.parameters())
    assert sizes["value"].sum() * problem.job.model.restarts == total
    assert set(sizes["H"].dropna()) == (set(HEADS) if variant == "separable" else set())


@pytest.mark.parametrize("variant", ["journey-learned", "separable"])
def test_the_restart_with_the_smallest_training_loss_is_measured(make_problem, variant):
    problem = make_problem(variant)
    worst, best = -4.0 * problem.target, 500.0 * problem.target
    groups = len(HEADS) if variant == "separable" else 1
    for copies in ((worst, best), (best, worst)):
        table = measure(problem.job, Evaluation(), problem, FixedScores(*groups * copies))
        values = table[table["metric"] == "accuracy"]["value"]
        assert values.tolist() == [accuracy(best, problem.scores)] * groups
        assert values.max() > accuracy(worst, problem.scores)
