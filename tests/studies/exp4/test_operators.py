"""Operators whose planes, metrics and transports are known, and operators that share none."""

import math

import numpy as np
import pytest
import torch
from scipy.linalg import block_diag
from torch import Generator

from journeylab.operators import naive
from journeylab.operators.rotary import rotary_angles, standard_frequencies
from journeylab.studies.exp4_operator_recovery.blocks import common_basis, off_block_mass, outside
from journeylab.studies.exp4_operator_recovery.models import commutator, orthogonality
from journeylab.studies.exp4_operator_recovery.recovery import (
    describe,
    eigen_angles,
    leading_angles,
    linearity,
    null_share,
    transport_linearity,
    transports_to,
)
from journeylab.studies.exp4_operator_recovery.transport import (
    attend,
    random_rotations,
    start,
    transports,
)

from ...tensors import assert_equal, draw

D, COUNT = 8, 12


def hidden(rng, blocks, basis=None):
    """Matrices [s, d, d] with the given 2×2 blocks [s, d/2, 2, 2], in a (random) basis."""
    diagonal = np.stack([block_diag(*each) for each in blocks])
    if basis is None:
        basis = rng.normal(size=diagonal.shape[1:])
    return basis @ diagonal @ np.linalg.inv(basis)


def rotations(angles):
    c, s = np.cos(angles), np.sin(angles)
    return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)


KINDS = {
    "any blocks": lambda rng: rng.normal(size=(COUNT, D // 2, 2, 2)),
    "rotations": lambda rng: rotations(rng.uniform(-np.pi, np.pi, (COUNT, D // 2))),
    "real eigenvalues": lambda rng: np.apply_along_axis(
        np.diag, -1, rng.normal(size=(COUNT, D // 2, 2))
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_fit_finds_hidden_planes_that_hold_for_unseen_operators(kind):
    rng = np.random.default_rng(1)
    operators = hidden(rng, KINDS[kind](rng))
    fitted = common_basis(operators[::2], rng)
    assert off_block_mass(operators[1::2], fitted) < 1e-6
    assert off_block_mass(operators, np.eye(D)) > 0.3


def test_fit_of_noisy_operators_reaches_the_noise_floor():
    rng = np.random.default_rng(2)
    clean = hidden(rng, KINDS["rotations"](rng), np.linalg.qr(rng.normal(size=(D, D)))[0])
    noise = 0.02 * rng.normal(size=clean.shape)
    fitted = common_basis((clean + noise)[::2], rng)
    floor = np.sqrt((outside(D) > 0).sum()) * 0.02 / np.sqrt(D)
    assert off_block_mass((clean + noise)[1::2], fitted) < 1.5 * floor


def test_fit_finds_no_planes_if_operators_share_none():
    rng = np.random.default_rng(3)
    operators = rng.normal(size=(COUNT, D, D))
    fitted = common_basis(operators[::2], rng)
    assert off_block_mass(operators[1::2], fitted) > 0.5
    assert off_block_mass(operators[::2], fitted) < off_block_mass(operators[::2], np.eye(D))


def test_a_single_diagonalisable_operator_is_block_diagonal_in_its_own_basis():
    rng = np.random.default_rng(4)
    operator = rng.normal(size=(1, D, D))
    assert off_block_mass(operator, common_basis(operator, rng)) < 1e-8


def test_off_block_mass_is_the_share_outside_the_blocks():
    ones = np.ones((3, 4, 4))
    assert off_block_mass(ones, np.eye(4)) == pytest.approx(np.sqrt(8 / 16))
    turned = np.kron(np.eye(2), rotations(np.array([0.3]))[0])
    assert off_block_mass(turned @ ones @ turned.T, turned) == pytest.approx(np.sqrt(8 / 16))


ANGLES = np.array([0.2, 0.5, 0.8, 1.1])
GAUGE_FREE = ("modulus_spread", "real_share", "angle_linearity")


def rotation(angles):
    return block_diag(*rotations(np.array(angles)))


def basis(d=8, seed=0):
    return np.eye(d) + np.random.default_rng(seed).normal(size=(d, d)) / np.sqrt(4 * d)


def metrics(operators):
    return describe(np.asarray(operators), np.random.default_rng(0))


def test_block_diagonal_rotations_are_recovered():
    measured = metrics([rotation(ANGLES)])
    wanted = dict.fromkeys(measured, 0.0) | {"angle_linearity": 1.0}
    assert measured == pytest.approx(wanted, abs=1e-7)


def test_another_basis_changes_only_metrics_that_depend_on_it():
    s = basis()
    before, after = metrics([rotation(ANGLES)]), metrics([s @ rotation(ANGLES) @ np.linalg.inv(s)])
    for name in GAUGE_FREE:
        assert after[name] == pytest.approx(before[name], abs=1e-7)
    for name in ("off_block", "block_defect", "orthogonality_defect", "henrici", "singular_spread"):
        assert after[name] > 0.05 > before[name]


def test_metrics_by_hand():
    shear = np.eye(4)
    shear[0, 2] = 2.0  # outside the blocks; eigenvalues 1, norm √8
    measured = metrics([shear])
    assert measured["off_block"] == pytest.approx(2 / np.sqrt(8))
    assert measured["off_block_away"] == pytest.approx(1.0)
    assert measured["block_defect"] == 0.0
    assert measured["henrici"] == pytest.approx(np.sqrt(4 / 8))
    assert measured["orthogonality_defect"] == pytest.approx(np.sqrt(2 * 4 + 16) / 2)
    stretched = metrics([np.diag([1.0, 3.0, 1.0, 3.0])])
    assert stretched["modulus_spread"] == stretched["singular_spread"] == 1.0
    assert stretched["block_defect"] == 1.0
    assert stretched["real_share"] == 1.0
    assert metrics([2 * rotation(ANGLES)])["modulus_spread"] == pytest.approx(0.0, abs=1e-12)


def test_eigen_angles_are_sorted_and_real_eigenvalues_share_a_plane():
    assert eigen_angles(rotation([1.1, 0.2, 0.8])) == pytest.approx([0.2, 0.8, 1.1])
    mixed = block_diag(rotation([1.0]), 2.0, -1.0)
    assert eigen_angles(mixed) == pytest.approx([0.5, (1.0 + np.pi) / 2])


def test_linearity_is_the_r_squared_of_a_linear_fit():
    line = np.arange(10.0)
    assert linearity(3 - 2 * line) == pytest.approx(1.0)
    assert linearity(np.ones(10)) == 0.0
    assert linearity(line**2) == pytest.approx(np.corrcoef(line, line**2)[0, 1] ** 2)


def test_random_rotations_are_uniform_in_their_own_null():
    rotations = random_rotations(400, 8, Generator().manual_seed(5)).double().numpy()
    observed = linearity(eigen_angles(rotations))
    shares = np.array([null_share(value, 8, 2000) for value in observed])
    assert np.median(observed) > 0.95  # why R² alone says nothing
    assert (shares < 0.05).mean() < 0.09
    assert np.median(shares) == pytest.approx(0.5, abs=0.07)
    assert null_share(1.0, 8, 2000) == 0.0


@pytest.mark.parametrize(("slope", "curve"), [(0.1, 0.0), (0.15, 0.0), (0.02, 0.01)])
def test_the_leading_angle_belongs_to_the_fastest_common_plane(slope, curve):
    s, steps = basis(), np.arange(1, 13)
    angles = slope * steps + curve * steps**2
    operators = np.stack([s @ rotation([a, 0.03, 0.02, 0.01]) @ np.linalg.inv(s) for a in angles])
    leading = leading_angles(operators, operators)
    assert np.abs(leading) == pytest.approx(angles)
    assert metrics(operators)["linearity"] == pytest.approx(linearity(angles))


def test_the_product_of_a_constant_rotation_turns_linearly_in_any_basis():
    rope = np.stack([rotation([0.9, 0.3])] * 20)
    for operators in (rope, basis(4) @ rope @ np.linalg.inv(basis(4))):
        assert metrics(operators)["linearity"] == 0.0
        assert metrics(operators)["transport_linearity"] == pytest.approx(1.0)
        assert np.abs(leading_angles(transports_to(operators, 20), operators))[-1] == pytest.approx(
            18.0
        )


def test_products_to_a_position_are_taken_from_its_own_operator_backwards():
    operators = np.random.default_rng(1).normal(size=(6, 3, 3))
    carried = transports_to(operators, 4)
    assert len(carried) == 4
    np.testing.assert_allclose(carried[0], operators[3])
    np.testing.assert_allclose(carried[2], operators[3] @ operators[2] @ operators[1])


def test_noise_of_one_percent_keeps_the_product_linear_and_independent_rotations_do_not():
    rng = np.random.default_rng(2)
    rope = np.stack([rotation([1.0, 0.1, 0.01, 0.001])] * 31)
    noisy = rope + 0.01 * rng.normal(size=rope.shape) / np.sqrt(8)
    independent = random_rotations(31, 8, Generator().manual_seed(3)).double().numpy()
    assert transport_linearity(rope) == pytest.approx(1.0, abs=1e-12)
    assert 0.999 < transport_linearity(noisy) < 1.0
    assert transport_linearity(independent) < 0.7


def test_angles_that_grow_with_the_position_are_not_rope():
    growing = np.stack([rotation([0.01 * s, 0.03, 0.02, 0.005]) for s in range(1, 32)])
    assert metrics(growing)["linearity"] == pytest.approx(1.0)
    assert metrics(growing)["transport_linearity"] < 0.99


def test_the_commutator_lies_between_zero_and_its_bound():
    """Equality in ‖[X, Y]‖² ≤ 2‖X‖²‖Y‖²: X = [[0, 1], [0, 0]] and Y = Xᵀ."""
    raising = torch.tensor([[0.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    identity = torch.eye(2, dtype=torch.float64)
    worst = torch.stack([raising, raising.mT]) + identity
    assert commutator(worst).item() == pytest.approx(1.0)
    alike = torch.from_numpy(np.stack([rotation(ANGLES * k) for k in (1, 2, 3)]))
    assert commutator(alike).item() == pytest.approx(0.0, abs=1e-12)
    assert commutator(3 * (worst - identity) + identity).item() == pytest.approx(1.0)
    three = torch.stack([raising, raising.mT, 2 * raising]) + identity
    assert commutator(three).item() == pytest.approx((2 + 8) / (2 * (1 + 4 + 4)))


def test_the_orthogonality_penalty_is_a_mean_over_operators():
    operators = torch.stack([torch.eye(2), 2 * torch.eye(2)])
    assert orthogonality(operators).item() == pytest.approx((0 + 2 * 9) / 2)


def test_random_operators_are_not_recovered():
    rng = np.random.default_rng(0)
    for family in (
        random_rotations(15, 8, Generator().manual_seed(1)).double().numpy(),
        np.eye(8) + 0.3 * rng.normal(size=(15, 8, 8)) / np.sqrt(8),
    ):
        measured = metrics(family)
        assert measured["off_block"] > 0.2
        assert measured["joint_off_block"] > 0.5
        assert measured["commutator"] > 0.1
        assert measured["linearity"] < 0.9


LENGTH, D, ROWS = 24, 4, 2


def operators(count, seed=1):
    return torch.eye(D, dtype=torch.float64) + 0.2 * draw(seed, count, D, D)


def between(chain, j, i):
    """T_ij = R_i ⋯ R_{j+1}."""
    product = torch.eye(D, dtype=torch.float64)
    for position in range(j + 1, i + 1):
        product = chain[0 if len(chain) == 1 else position - 1] @ product
    return product


def attend_by_definition(q, k, v, chain):
    rows = []
    for row in range(len(q)):
        gathered = []
        for i in range(LENGTH):
            carried = [between(chain, j, i) for j in range(i + 1)]
            scores = [q[row, i] @ t @ k[row, j] / math.sqrt(D) for j, t in enumerate(carried)]
            weights = torch.stack(scores).softmax(0)
            gathered.append(
                sum(
                    w * (t @ v[row, j])
                    for j, (w, t) in enumerate(zip(weights, carried, strict=True))
                )
            )
        rows.append(torch.stack(gathered))
    return torch.stack(rows)


@pytest.mark.parametrize("count", [1, LENGTH - 1])
def test_attention_and_its_gradients_equal_the_definition(count):
    def in_blocks(q, k, v, chain):
        return attend(q, k, v, transports(chain, LENGTH))

    inputs = [*draw(0, 3, ROWS, LENGTH, D), operators(count)]
    assert_equal(in_blocks, attend_by_definition, inputs, 1e-7)


def test_a_block_diagonal_rotation_is_rope_with_value_transport():
    q, k, v = draw(0, 3, LENGTH, D)
    frequencies = standard_frequencies(D).double()
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    angles = rotary_angles(torch.arange(LENGTH), frequencies)
    expected = naive.attend(q, k, v, angles, mask, transport=True)
    rope = start("rope", 1, D, 0.0, Generator()).double()
    output = attend(q[None], k[None], v[None], transports(rope, LENGTH))[0]
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-6)  # frequencies are float32


@pytest.mark.parametrize("count", [1, 3])
def test_initialisations_match_their_names(count):
    drawn = {
        name: start(name, count, 8, 0.3, Generator().manual_seed(0)).double()
        for name in ("near-identity", "gaussian", "orthogonal", "frozen", "rope", "identity")
    }
    identity = torch.eye(8, dtype=torch.float64)
    torch.testing.assert_close(drawn["near-identity"], identity + 0.3 * drawn["gaussian"])
    assert torch.equal(drawn["orthogonal"], drawn["frozen"])
    for name in ("orthogonal", "rope", "identity"):
        gram = drawn[name].mT @ drawn[name]
        torch.testing.assert_close(gram, identity.expand_as(gram), rtol=0, atol=1e-6)
        torch.testing.assert_close(torch.linalg.det(drawn[name]), torch.ones(count).double())
    assert drawn["gaussian"].var() == pytest.approx(1 / 8, rel=0.4)


def test_random_rotations_have_the_moments_of_haar():
    """E[tr R] = 0 and E[(tr R)²] = 1 on SO(d); QR alone gives neither."""
    traces = random_rotations(4000, 8, Generator().manual_seed(0)).diagonal(dim1=1, dim2=2).sum(1)
    assert abs(traces.mean()) < 0.06
    assert traces.square().mean() == pytest.approx(1.0, abs=0.08)
