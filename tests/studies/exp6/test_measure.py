"""Measurements of models, and what is computed without training."""

from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from journeylab.studies.exp6_coupling_rank import compute as compute_module
from journeylab.studies.exp6_coupling_rank.compute import compute, expected_rank, spectrum
from journeylab.studies.exp6_coupling_rank.data import draw_teacher
from journeylab.studies.exp6_coupling_rank.measure import accuracy, blind_ceiling, measure
from journeylab.studies.exp6_coupling_rank.settings import (
    FREQUENCIES,
    HEADS,
    Computation,
    Evaluation,
    TableSizes,
)
from journeylab.studies.exp6_coupling_rank.tables import truncations

from .results import make_problem


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


def test_no_scores_of_rank_h_have_a_smaller_error_than_the_truncation():
    truth = make_problem("separable").scores
    energy = truth.square().sum()
    rng = torch.Generator().manual_seed(1)
    for heads, error, best in truncations(truth):
        assert torch.linalg.matrix_rank(best.flatten(1)) == heads
        assert float((best - truth).square().sum() / energy) == pytest.approx(error, abs=1e-12)
        span = torch.randn(len(truth), heads, generator=rng, dtype=torch.float64)
        other = span @ torch.linalg.lstsq(span, truth.flatten(1)).solution
        assert float((other - truth.flatten(1)).square().sum() / energy) >= error - 1e-12


def test_a_model_with_the_exact_scores_has_accuracy_one():
    problem = make_problem("journey", fit="scores")
    model = FixedScores(torch.zeros_like(problem.target), problem.target)
    table = measure(problem.job, Evaluation(), problem, model)
    values = table[table["H"].isna()].set_index("metric")["value"]
    assert values["accuracy"] == 1.0
    assert values["squared_error"] < 1e-12
    assert values["parameters"] == problem.target.numel()


def test_excess_is_relative_to_the_smallest_error_of_the_same_rank():
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
def test_parameters_are_of_one_restart_and_only_scores_have_errors(build, variant, fit):
    problem = make_problem(variant, fit=fit)
    model = build(problem)
    table = measure(problem.job, Evaluation(), problem, model)
    assert ("squared_error" in set(table["metric"])) == (fit == "scores")
    sizes = table[table["metric"] == "parameters"]
    total = sum(p.numel() for p in model.parameters())
    assert sizes["value"].sum() * problem.job.model.restarts == total
    assert set(sizes["H"].dropna()) == (set(HEADS) if variant == "separable" else set())


@pytest.mark.parametrize("variant", ["journey-learned", "separable"])
def test_the_restart_with_the_smallest_training_loss_is_measured(variant):
    problem = make_problem(variant)
    worst, best = -4.0 * problem.target, 500.0 * problem.target
    groups = len(HEADS) if variant == "separable" else 1
    for copies in ((worst, best), (best, worst)):
        table = measure(problem.job, Evaluation(), problem, FixedScores(*groups * copies))
        values = table[table["metric"] == "accuracy"]["value"]
        assert values.tolist() == [accuracy(best, problem.scores)] * groups
        assert values.max() > accuracy(worst, problem.scores)


RANKS = {"decaying": 8, "random": 8, "integer": 7, "repeated": 6}


@pytest.fixture(scope="module")
def ranks():
    def rows(frequencies):
        return compute(Computation(computed="rank", variant=frequencies, draws=1), None)

    return {frequencies: rows(frequencies) for frequencies in FREQUENCIES}


@pytest.mark.parametrize("frequencies", FREQUENCIES)
def test_frequencies_give_the_rank_in_both_arithmetics_and_another_in_single_precision(
    ranks, frequencies
):
    """Integer and repeated frequencies are the negative controls of the claim of rank d = 8."""
    values, rank = ranks[frequencies].groupby("metric")["value"], RANKS[frequencies]
    assert set(values.get_group("rank")) == {rank}
    assert set(values.get_group("rank_error")) == {0.0}
    assert set(values.get_group("rank_defect")) == {8.0 - rank}
    assert values.get_group("gap").min() > 1e6
    assert values.get_group("rounded_error").tolist() == [9 - rank] * 2


def test_both_arithmetics_agree_on_nonzero_singular_values():
    teacher = draw_teacher("decaying", "orthogonal", TableSizes(), np.random.default_rng(0))
    double, exact = (spectrum(teacher, 20, arithmetic) for arithmetic in ("float64", "mpmath"))
    np.testing.assert_allclose(double[:8], exact[:8], rtol=1e-10)
    assert exact[8] < 1e-25 < double[8] < 1e-13


def test_gap_is_one_if_every_singular_value_counts(monkeypatch):
    """The claim on gaps then fails instead of losing its case."""
    monkeypatch.setitem(compute_module.TOLERANCE, "float64", 0.0)
    rows = compute(Computation(computed="rank", variant="integer", draws=1), None)
    gaps = rows[(rows["metric"] == "gap") & (rows["arithmetic"] == "float64")]
    assert gaps["value"].tolist() == [1.0, 1.0]


def test_expected_rank_counts_distinct_frequencies():
    assert expected_rank([1.0, 0.3, 0.1, 0.03]) == 8
    assert expected_rank([0.0, 0.0, 1.0, 1.0]) == 3


@pytest.mark.parametrize(("computed", "heads"), [("cancellation", HEADS), ("fewer", range(1, 8))])
def test_every_number_of_heads_is_computed(computed, heads):
    rows = compute(Computation(computed=computed, variant="additive", draws=2), None)
    assert rows["H"].tolist() == 2 * list(heads)


def test_merged_heads_that_drop_a_table_are_found(monkeypatch):
    """The certificate can come out the other way."""
    monkeypatch.setattr(compute_module, "_merge", lambda tables, heads: [x[:heads] for x in tables])
    rows = compute(Computation(computed="fewer", variant="additive", draws=2), None)
    assert rows["value"].min() > 0.02


def test_d_minus_1_terms_miss_the_scores_of_distinct_frequencies_only(ranks):
    for frequencies, rows in ranks.items():
        errors = rows[rows["metric"] == "least_error"]["value"]
        if RANKS[frequencies] == 8:
            assert errors.min() > 1e-10
        else:
            assert errors.max() < 1e-13
