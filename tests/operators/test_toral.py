"""Rotations of planes equal explicit matrices and scale with their radii."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from journeylab.operators.naive import rotation_matrix
from journeylab.operators.toral import plane_turns

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
