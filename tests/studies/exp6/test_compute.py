import numpy as np
import pytest

from journeylab.studies.exp6_coupling_rank import compute as compute_module
from journeylab.studies.exp6_coupling_rank.compute import compute, expected_rank, spectrum
from journeylab.studies.exp6_coupling_rank.data import draw_teacher
from journeylab.studies.exp6_coupling_rank.settings import FREQUENCIES, Computation, TableSizes

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


def test_softmax_cancels_a_position_that_does_not_choose_among_entities_only():
    changes = {
        variant: compute(Computation(computed="cancellation", variant=variant, draws=2), None)
        for variant in ("additive-scores", "additive", "separable")
    }
    assert all(len(rows) == 2 * 8 for rows in changes.values())
    assert changes["additive-scores"]["value"].max() < 1e-12
    assert changes["separable"]["value"].min() > 0.01
    assert changes["additive"]["value"].min() > 0.01


def test_fewer_additive_heads_lose_nothing_and_fewer_separable_heads_do():
    lost = {
        variant: compute(Computation(computed="fewer", variant=variant, draws=2), None)
        for variant in ("additive", "separable")
    }
    assert all(rows["H"].tolist() == 2 * list(range(1, 8)) for rows in lost.values())
    assert lost["additive"]["value"].max() == 0.0
    assert lost["separable"]["value"].min() > 0.02


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
