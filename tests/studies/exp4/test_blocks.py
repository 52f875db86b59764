"""Joint block-diagonalisation recovers planes that are known."""

import numpy as np
import pytest

from journeylab.studies.exp4_operator_recovery.blocks import common_basis, off_block_mass, outside

D, COUNT = 8, 12


def hidden(rng, blocks, basis=None):
    """Matrices [s, d, d] with the given 2×2 blocks [s, d/2, 2, 2], in a (random) basis."""
    count, planes = blocks.shape[:2]
    diagonal = np.zeros((count, 2 * planes, 2 * planes))
    for plane in range(planes):
        part = slice(2 * plane, 2 * plane + 2)
        diagonal[:, part, part] = blocks[:, plane]
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
