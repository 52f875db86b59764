import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from journeylab.operators.naive import rotation_matrix
from journeylab.operators.toral import plane_turns

ANGLES = st.lists(st.floats(-math.pi, math.pi), min_size=1, max_size=5)


@settings(deadline=None)
@given(ANGLES)
def test_a_toral_operator_is_its_blocks_and_orthogonal(values):
    angles = torch.tensor(values, dtype=torch.float64)
    found = plane_turns(angles)
    torch.testing.assert_close(found, rotation_matrix(angles))
    torch.testing.assert_close(found @ found.mT, torch.eye(len(found), dtype=torch.float64))


@settings(deadline=None)
@given(ANGLES, ANGLES)
def test_toral_operators_commute_with_radii_or_without(one, two):
    planes = min(len(one), len(two))
    a, b = (torch.tensor(values[:planes], dtype=torch.float64) for values in (one, two))
    first, second = plane_turns(a), plane_turns(b, a.sigmoid())
    torch.testing.assert_close(first @ second, second @ first)


def test_radii_scale_their_planes_in_batches():
    generator = torch.Generator().manual_seed(0)
    angles = torch.randn(3, 2, 4, generator=generator)
    radii = torch.rand(3, 2, 4, generator=generator)
    scaled = plane_turns(angles, radii)
    expected = radii.repeat_interleave(2, -1)[..., None] * plane_turns(angles)
    torch.testing.assert_close(scaled, expected)
    torch.testing.assert_close(torch.func.vmap(plane_turns)(angles, radii), scaled)
