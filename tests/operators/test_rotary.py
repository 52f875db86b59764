"""Toral operators equal explicit matrices in values and gradients, and satisfy their laws."""

import math
from functools import partial
from typing import Literal, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from journeylab.operators import naive
from journeylab.operators.journey import accumulate, accumulate_by_product, slot_angles
from journeylab.operators.naive import rotation_matrix
from journeylab.operators.rotary import (
    Rotation,
    integer_frequencies,
    rotary_angles,
    rotate,
    standard_frequencies,
    unit_circle,
)
from journeylab.operators.toral import plane_turns

from ..tensors import assert_equal, draw

sizes = st.integers(1, 5)
Direction = Literal["prefix", "suffix"]


@settings(max_examples=30)
@given(rows=sizes, length=sizes, planes=sizes, shared=st.booleans(), seed=st.integers(0, 99))
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_rotation_equals_2x2_matrices_in_values_and_gradients(
    dtype, tolerance, rows, length, planes, shared, seed
) -> None:
    x = draw(seed, rows, length, 2 * planes).to(dtype)
    angles = draw(seed + 1, 1 if shared else rows, length, planes).to(dtype)
    for method in ("apply", "undo"):
        fast, slow = (
            lambda x, a, by=kind.by, method=method: getattr(by(a), method)(x)
            for kind in (Rotation, naive.BlockTurn)
        )
        assert_equal(fast, slow, [x, angles], tolerance)


@given(planes=sizes, seed=st.integers(0, 99))
@settings(max_examples=20)
def test_operators_are_orthogonal_and_commute(planes: int, seed: int) -> None:
    R, S = (naive.rotation_matrix(draw(seed + i, planes)) for i in range(2))
    torch.testing.assert_close(R.T @ R, torch.eye(2 * planes, dtype=R.dtype))
    torch.testing.assert_close(R @ S, S @ R)


@given(shift=st.integers(-50, 50))
@settings(max_examples=20)
def test_scores_depend_on_the_distance_only(shift: int) -> None:
    frequencies = standard_frequencies(8).double()
    q, k, positions = draw(0, 8), draw(1, 8), torch.tensor([3, 11])

    def score(at: torch.Tensor) -> torch.Tensor:
        turn = Rotation.by(rotary_angles(at, frequencies))
        left, right = turn.apply(torch.stack((q, k)))
        return left @ right

    torch.testing.assert_close(score(positions), score(positions + shift))


@given(rows=sizes, length=st.integers(1, 40), planes=sizes, seed=st.integers(0, 99))
@settings(max_examples=20)
@pytest.mark.parametrize("form", [accumulate, accumulate_by_product])
@pytest.mark.parametrize("direction", get_args(Direction))
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_running_sums_equal_the_loop_in_values_and_gradients(
    dtype, tolerance, direction, form, rows, length, planes, seed
) -> None:
    def slow(steps: torch.Tensor, direction: Direction) -> torch.Tensor:
        return torch.stack([naive.accumulate(row, direction) for row in steps])

    ways = (partial(each, direction=direction) for each in (form, slow))
    assert_equal(*ways, [draw(seed, rows, length, planes).to(dtype)], length * tolerance)


def test_cumsum_is_used_on_cpu_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "cumsum", refuse)
    elsewhere = torch.empty(3, 4, 2, device="meta")
    for direction in get_args(Direction):
        assert accumulate(elsewhere, direction).shape == (3, 4, 2)
        with pytest.raises(RuntimeError, match="no deterministic implementation"):
            accumulate(draw(0, 4, 2), direction)


def refuse(*arguments: object) -> None:
    """Raise the error of a running sum on a GPU under deterministic algorithms."""
    raise RuntimeError("cumsum: no deterministic implementation")


def test_slot_offsets_cancel_within_a_slot_and_act_between_slots() -> None:
    frequencies, offsets = standard_frequencies(8).double(), draw(0, 2, 4)
    positions, slots = torch.tensor([0, 1, 2, 0, 1]), torch.tensor([0, 0, 0, 1, 1])
    angles = slot_angles(positions, slots, frequencies, offsets)
    plain = rotary_angles(positions, frequencies)
    torch.testing.assert_close(angles[2] - angles[0], plain[2] - plain[0])
    torch.testing.assert_close(angles[3] - angles[0], offsets[1] - offsets[0])


def test_frequencies_start_and_end_as_defined() -> None:
    assert standard_frequencies(64)[0] == 1
    torch.testing.assert_close(standard_frequencies(64)[-1].item(), 10000 ** (-62 / 64))
    assert integer_frequencies(6).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="even width of at least 2, got 5"):
        standard_frequencies(5)


def test_vmap_of_rotation_equals_the_batch() -> None:
    x, angles = draw(0, 4, 3, 5, 8), draw(1, 4, 3, 5, 4)
    batched = torch.func.vmap(lambda x, a: Rotation.by(a).apply(x))(x, angles)
    torch.testing.assert_close(batched, rotate(x, unit_circle(angles)))


ANGLES = st.lists(st.floats(-math.pi, math.pi), min_size=1, max_size=5)


@given(ANGLES)
def test_toral_operators_are_block_diagonal_and_orthogonal(values):
    angles = torch.tensor(values, dtype=torch.float64)
    operators = plane_turns(angles)
    torch.testing.assert_close(operators, rotation_matrix(angles))
    identity = torch.eye(len(operators), dtype=torch.float64)
    torch.testing.assert_close(operators @ operators.mT, identity)


def test_radii_scale_their_planes():
    generator = torch.Generator().manual_seed(0)
    angles = torch.randn(3, 2, 4, generator=generator)
    radii = torch.rand(3, 2, 4, generator=generator)
    scaled = plane_turns(angles, radii)
    expected = radii.repeat_interleave(2, -1)[..., None] * plane_turns(angles)
    torch.testing.assert_close(scaled, expected)
    torch.testing.assert_close(torch.func.vmap(plane_turns)(angles, radii), scaled)
