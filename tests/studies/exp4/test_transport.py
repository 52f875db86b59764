"""Transport in blocks equals the definition, one pair of positions at a time."""

import math

import pytest
import torch
from torch import Generator

from journeylab.operators import naive
from journeylab.operators.rotary import rotary_angles, standard_frequencies
from journeylab.studies.exp4_operator_recovery.transport import (
    attend,
    random_rotations,
    start,
    transports,
)

from ...tensors import assert_equal

LENGTH, D, ROWS = 24, 4, 2


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=Generator().manual_seed(seed), dtype=torch.float64)


def operators(count, seed=1):
    return torch.eye(D, dtype=torch.float64) + 0.2 * draw(count, D, D, seed=seed)


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

    inputs = [*draw(3, ROWS, LENGTH, D), operators(count)]
    assert_equal(in_blocks, attend_by_definition, inputs, 1e-7)


def test_a_block_diagonal_rotation_is_rope_with_value_transport():
    q, k, v = draw(3, LENGTH, D)
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
