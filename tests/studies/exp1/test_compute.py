import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from journeylab.studies.exp1_group_languages import compute as certificates
from journeylab.studies.exp1_group_languages.settings import TASK_NAMES, Computation
from journeylab.studies.exp1_group_languages.tasks import TASKS, generate_group

from ...made import registered
from ..gathering import values_of


def certify(**sizes):
    sizes = {"strings": 50, "enumerate": 7, "draws": 2} | sizes
    return certificates.compute(Computation(computed="certificates", variant="all", **sizes), None)


@pytest.fixture(scope="module")
def measured():
    return certify()


def test_exact_weights_name_the_state_of_every_long_string(measured):
    assert set(measured.loc[measured["metric"] == "exact_accuracy", "case"]) == {"Z3", "S3", "A5"}
    assert values_of(measured, "exact_accuracy").eq(1.0).all()
    assert values_of(measured, "aggregation_accuracy").eq(1.0).all()
    assert values_of(measured, "exact_drift").max() < 1e-9
    # Half the least squared distance of two orders of 0 … m − 1 that the group takes to each other:
    # 0, 1, 2 in a cycle; two neighbours swapped; two pairs of neighbours swapped.
    margins = {
        name: values_of(measured, "exact_margin", case=name).item() for name in certificates.GROUPS
    }
    assert margins == pytest.approx({"Z3": 3.0, "S3": 1.0, "A5": 2.0}, abs=1e-9)


@pytest.mark.parametrize("name", list(certificates.GROUPS))
def test_logits_of_exact_weights_are_largest_at_the_true_element(name):
    weights = certificates.exact_weights(certificates.GROUPS[name], 16)
    scores = weights.readout @ weights.readout.mT
    assert len(scores) == len(generate_group(certificates.GROUPS[name]))
    assert torch.equal(scores.argmax(0), torch.arange(len(scores)))
    right = scores.diagonal().clone()
    leads = right - scores.fill_diagonal_(-torch.inf).max(0).values
    assert leads.min() >= 1.0


def test_exact_weights_need_more_coordinates_than_points():
    with pytest.raises(ValueError, match="d > 5, got 5"):
        certificates.exact_weights(certificates.GROUPS["A5"], 5)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), planes=st.integers(1, 4), half=st.integers(0, 1))
def test_a_rotation_has_an_antisymmetric_logarithm(seed, planes, half):
    rng = np.random.default_rng(seed)
    angles = rng.uniform(-np.pi, np.pi, planes)
    angles[: half * planes] = np.pi
    blocks = [[[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]] for x in angles]
    basis, _ = np.linalg.qr(rng.standard_normal((2 * planes + 1, 2 * planes + 1)))
    rotation = basis @ scipy.linalg.block_diag(*blocks, 1.0) @ basis.T
    logarithm = certificates.rotation_logarithm(rotation)
    np.testing.assert_allclose(logarithm, -logarithm.T, atol=1e-12)
    np.testing.assert_allclose(scipy.linalg.expm(logarithm), rotation, atol=1e-9)


def test_a_reflection_has_no_real_logarithm():
    with pytest.raises(ValueError, match="determinant"):
        certificates.rotation_logarithm(np.diag([1.0, -1.0, 1.0]))


def test_the_scalar_aggregator_solves_b_with_margin_one_third(measured):
    assert values_of(measured, "aggregator_accuracy").eq(1.0).all()
    assert values_of(measured, "aggregator_bound_error").eq(0.0).all()
    assert values_of(measured, "aggregator_misjudged").item() == 0.0
    margins = values_of(measured, "aggregator_margin")
    assert margins.min() == pytest.approx(1 / 3)
    # ab: 1 − 2/5; abb: 1 − 2/5 − 4/25.
    assert values_of(measured, "aggregator_margin", n=2).item() == pytest.approx(0.6)
    assert values_of(measured, "aggregator_margin", n=3).item() == pytest.approx(0.44)
    # 2.5^96 < 2^128 < 2.5^97
    assert Fraction(5, 2) ** 96 < 2**128 < Fraction(5, 2) ** 97
    assert values_of(measured, "aggregator_float32").item() == 4


def test_commuting_maps_split_no_parikh_class_and_controls_split_every_mixed_class(measured):
    split = measured[measured["metric"] == "parikh_split"].set_index("case")["value"]
    mixed = sum(n - 1 for n in range(2, 8))
    assert split.to_dict() == {"commuting": 0, "affine": 0, "aggregation": mixed, "S3": mixed}
    assert values_of(measured, "parikh_spread").max() < 1e-12


def test_split_classes_equal_a_count_by_hand():
    # Appending to a word: every class with both letters holds several words.
    words = (lambda p: (*p, 0), lambda p: (*p, 1))
    assert certificates.split_classes(words, (), 3) == 3  # ab, aab, abb
    sums = (lambda p: (p[0] + 1,), lambda p: (p[0] - 1,))
    assert certificates.split_classes(sums, (0,), 6) == 0


def test_real_diagonals_have_too_few_sign_changes_for_a(measured):
    # k = 6, 12, …, 96 are positive among 2, 4, …, 100: 2·16 changes; width 16 allows 16.
    assert certificates.sign_changes(TASKS["A"], 100) == 32
    assert values_of(measured, "missing_exponentials").item() == 16
    rng = np.random.default_rng(0)
    for _ in range(300):
        bases, weights = rng.uniform(-1, 1, 5), rng.standard_normal(6)
        k = np.arange(0, 60, 2)
        logits = (weights[:5] * bases ** k[:, None]).sum(1) + weights[5]
        assert sum(x != y for x, y in itertools.pairwise(logits > 0)) <= 5


def test_anchors_of_every_task_equal_enumeration(measured):
    for name in TASK_NAMES:
        halved = TASKS[name].halved
        assert len(values_of(measured, "ceiling", case=name)) == (23 if halved else 43)
        assert values_of(measured, "ceiling_error", case=name).eq(0.0).all()
    assert len(values_of(measured, "ceiling_error")) == 4 * 7 + 6 + 3


def detune(patch):
    """Every angle is off by one part in 10⁹."""
    exact = certificates.exact_weights

    def detuned(*given):
        weights = exact(*given)
        return weights._replace(square=weights.square * (1.0 + 1e-9))

    patch.setattr(certificates, "exact_weights", detuned)


def shift(patch):
    """Maps that are shifted alike have no fixed point in common."""
    affine = certificates._affine
    patch.setattr(certificates, "_affine", lambda matrix, shift=None: affine(matrix, np.ones(2)))


def turn(patch):
    """The operators of every family are orthogonal ones, which do not commute."""
    families = certificates.Operators
    patch.setattr(certificates, "Operators", lambda _, *given: families("orthogonal", *given))


def miscount(patch):
    """One string too many has no a and label 0."""
    count = certificates.count_labels

    def counted(task, longest):
        for counts in count(task, longest):
            counts[0, 0] += 1
            yield counts

    patch.setattr(certificates, "count_labels", counted)


def transpose(patch):
    """The operators are the inverses of the right ones."""
    exact = certificates.transition_error

    def inverted(permutation, *, shift):
        return exact(permutation, shift=shift, operator=tuple(np.argsort(permutation)))

    patch.setattr(certificates, "transition_error", inverted)


def forget_order(patch):
    """The ceilings of a task that depends on the letter counts only."""
    ceilings = certificates.parikh_ceilings
    patch.setattr(certificates, "parikh_ceilings", lambda _, lengths: ceilings(TASKS["A"], lengths))


BREAKS = {
    "exact_drift": detune,
    "aggregation_drift": detune,
    "transition_error": transpose,
    "ceiling": forget_order,
    "parikh_split": shift,
    "parikh_spread": turn,
    "ceiling_error": miscount,
}
REGISTERED = registered().studies["exp1"].claims
BOUNDED = [claim for claim in REGISTERED if claim.claimed.kind == "at_most"]


@pytest.mark.parametrize("claim", BOUNDED, ids=lambda claim: claim.id)
def test_a_broken_construction_exceeds_its_registered_tolerance(measured, monkeypatch, claim):
    rows, tolerance = claim.effect.every, claim.region.high
    BREAKS[rows.metric](monkeypatch)
    if not rows.metric.startswith("ceiling"):
        monkeypatch.setattr(certificates, "_anchors", lambda sizes: ())  # they take longest
    for table, within in ((measured, True), (certify(length=200), False)):
        chosen = table[table["metric"] == rows.metric]
        for factor, levels in rows.at.items():
            chosen = chosen[chosen[factor].isin(levels)]
        assert (chosen.groupby("case")["value"].max() <= tolerance).eq(within).all()


def test_weights_with_half_the_angles_misread_states(monkeypatch):
    """aⁿ with n = 200 ends at the permutation of a²⁰⁰ instead of a⁴⁰⁰; bⁿ stands still in Z3."""
    exact = certificates.exact_weights

    def halved(*given):
        weights = exact(*given)
        return weights._replace(square=weights.square / 2.0)

    monkeypatch.setattr(certificates, "exact_weights", halved)
    monkeypatch.setattr(certificates, "_anchors", lambda sizes: ())
    constant = torch.tensor([[0, 1]], dtype=torch.uint8)
    monkeypatch.setattr(certificates, "_draw", lambda seed, n, strings: constant.repeat(n, 1))
    measured = certify(length=200)
    assert values_of(measured, "exact_accuracy", case="Z3").item() == 0.5
    # Of u = (0, 1, 2) and its turns: ⟨u, u⟩ = 5, others have 2, and are √6 apart.
    assert values_of(measured, "exact_margin", case="Z3").item() == pytest.approx(-3.0)
    assert values_of(measured, "exact_drift", case="Z3").item() == pytest.approx(6.0**0.5)


def test_an_aggregator_with_radix_three_halves_does_not_solve_b(monkeypatch):
    monkeypatch.setattr(certificates, "RADIX", Fraction(3, 2))
    monkeypatch.setattr(certificates, "_anchors", lambda sizes: ())
    measured = certify(length=20)
    # abb: 1 − 2/3 − 4/9.
    assert values_of(measured, "aggregator_accuracy", n=3).item() == 0.75
    assert values_of(measured, "aggregator_accuracy", n=50).item() < 1.0
    assert values_of(measured, "aggregator_margin", n=3).item() == pytest.approx(-1 / 9)
    assert values_of(measured, "aggregator_margin", n=50).item() == pytest.approx(1 - 2.0, abs=1e-6)
    assert values_of(measured, "aggregator_float32").item() == 0
    assert (
        values_of(measured, "aggregator_misjudged").item() >= 1.0
    )  # later letters outweigh the first
    margin = certificates._exact_margin
    monkeypatch.setattr(certificates, "_exact_margin", lambda word: margin(word) + Fraction(1, 8))
    assert values_of(certify(length=20), "aggregator_bound_error").eq(0.125).all()


def test_class_spread_is_the_maximum_over_classes():
    """On the line (x, 1) a doubles x and b adds 1 to it."""
    a = torch.tensor([[2.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    b = torch.tensor([[1.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    start = torch.tensor([0.0, 1.0], dtype=torch.float64)
    # b before k of the a's adds 2^k: with two a's 1, 2 or 4, with two b's 2, 3 or 4.
    assert certificates.class_spread(torch.stack([a, b]), start, 3) == 3.0
    assert certificates.class_spread(torch.stack([a, a]), start, 3) == 0.0
    assert certificates.class_spread(torch.stack([a, b]), 5.0 * start, 3) == 3.0
