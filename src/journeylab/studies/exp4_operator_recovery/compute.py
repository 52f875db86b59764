"""Results without training: metrics of random operators (the null), and certificates.

All are computed in double precision.

| computed | variant | metric | definition |
| --- | --- | --- | --- |
| random | an initialisation | all | metrics of operators as initialised, per draw |
| certificates | gauge | gauge_error | change of logits if R becomes SRS⁻¹ and weights absorb S |
| certificates | gauge | hidden_off_block | off-block ratio of rotations in another basis |
| certificates | rope | rope_error | T_ij = R^{i−j} for rotations, against RoPE with transport |
| certificates | order | order_error | attention along R_s: scan against one product at a time |
| certificates | blocks | blocks_found | joint off-block mass of hidden blocks, unseen operators |
| certificates | angles | bend | 1 − transport_linearity of RoPE in another basis |

Each error has a broken case as its control: weights that do not absorb S, rotations in the opposite
direction, products in reverse order, operators without common planes, independent rotations. In the
noisy case of ``bend`` every R_s has 1 % of noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from torch import Generator, Tensor

from journeylab.operators import naive
from journeylab.operators.rotary import rotary_angles, standard_frequencies
from journeylab.studies.exp4_operator_recovery.blocks import common_basis, off_block_mass
from journeylab.studies.exp4_operator_recovery.models import CharacterModel
from journeylab.studies.exp4_operator_recovery.recovery import (
    describe,
    null_share,
    transport_linearity,
)
from journeylab.studies.exp4_operator_recovery.settings import RANDOM, Computation, Model
from journeylab.studies.exp4_operator_recovery.transport import (
    attend,
    random_rotations,
    start,
    transports,
)

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = ("draw", "metric", "stage", "case", "value")
LETTERS, ROWS, NULL_DRAWS = 11, 3, 1000
NOISE = 0.01
"""Noise of the noisy case: ‖noise‖ over ‖R‖, on average."""

Row = tuple[int, str, str | None, str | None, float]


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """All draws of one variant as tidy rows: draw, metric, stage, case, value."""
    del streams  # draws are numbered from 0 and do not depend on a seed
    draws = [row for draw in range(job.draws) for row in _of_draw(job, draw)]
    return pd.DataFrame(draws, columns=list(COLUMNS))


def _of_draw(job: Computation, draw: int) -> Iterator[Row]:
    generator = Generator().manual_seed(draw)
    if job.computed == "random":
        yield from _random(job, draw, generator)
        return
    checks = {
        "gauge": _check_gauge,
        "rope": _check_rope,
        "order": _check_order,
        "blocks": _check_blocks,
        "angles": _check_angles,
    }
    check = checks[job.variant]
    for metric, case, value in check(job.model, generator):
        yield draw, metric, None, case, value


def _random(job: Computation, draw: int, generator: Generator) -> Iterator[Row]:
    sizes, count = job.model, 1 if job.operators == "one" else job.model.length - 1
    spread = sizes.spread * sizes.initial_scale
    operators = start(job.variant, count, sizes.d, spread, generator).double().numpy()
    metrics = describe(operators, np.random.default_rng(draw))
    if count == 1:
        metrics["angle_null_share"] = null_share(metrics["angle_linearity"], sizes.d, NULL_DRAWS)
    for metric, value in metrics.items():
        yield draw, metric, RANDOM, None, value


def _check_gauge(sizes: Model, generator: Generator) -> Iterator[tuple[str, str | None, float]]:
    d = sizes.d
    basis = _basis(d, generator)
    inverse = torch.linalg.inv(basis)
    model = CharacterModel("orthogonal", "one", LETTERS, sizes, generator).double()
    characters = torch.randint(LETTERS, (ROWS, sizes.length), generator=generator)
    with torch.no_grad():
        model.operators.copy_(naive.rotation_matrix(standard_frequencies(d).double())[None])
        before = model(characters)
        model.operators.copy_(basis @ model.operators @ inverse)
        unabsorbed = model(characters)
        project, output = model.block.project, model.block.output
        for index, change in enumerate((inverse.mT, basis, basis)):  # q, k, v
            part = slice(index * d, (index + 1) * d)
            project.weight[part] = change @ project.weight[part]
            project.bias[part] = change @ project.bias[part]
        output.weight.copy_(output.weight @ inverse)
        absorbed = model(characters)
        hidden = describe(model.operators.numpy(), np.random.default_rng(0))["off_block"]
    yield "gauge_error", "exact", _largest(absorbed - before)
    yield "gauge_error", "broken", _largest(unabsorbed - before)
    yield "hidden_off_block", None, hidden


def _check_rope(sizes: Model, generator: Generator) -> Iterator[tuple[str, str | None, float]]:
    d, length = sizes.d, sizes.length
    q, k, v = torch.randn(3, length, d, generator=generator, dtype=torch.float64)
    frequencies = standard_frequencies(d).double()
    angles = rotary_angles(torch.arange(length), frequencies)
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    expected = naive.attend(q, k, v, angles, mask, transport=True)
    for case, sign in (("exact", -1.0), ("broken", 1.0)):
        operator = naive.rotation_matrix(sign * frequencies)[None]
        output = attend(q[None], k[None], v[None], transports(operator, length))[0]
        yield "rope_error", case, _largest(output - expected)


def _check_order(sizes: Model, generator: Generator) -> Iterator[tuple[str, str | None, float]]:
    d, length = sizes.d, sizes.length
    q, k, v = torch.randn(3, length, d, generator=generator, dtype=torch.float64)
    operators = random_rotations(length - 1, d, generator).double()
    output = attend(q[None], k[None], v[None], transports(operators, length))[0]
    for case in ("exact", "broken"):
        expected = _attend_by_definition(q, k, v, operators, backwards=case == "broken")
        yield "order_error", case, _largest(output - expected)


def _attend_by_definition(
    q: Tensor, k: Tensor, v: Tensor, operators: Tensor, *, backwards: bool
) -> Tensor:
    """Attention, one pair and one product at a time; ``backwards``: products R_{j+1} ⋯ R_i."""
    length, d = q.shape
    scores = torch.full((length, length), -torch.inf, dtype=q.dtype)
    carried = torch.zeros(length, length, d, dtype=q.dtype)
    for j in range(length):
        product = torch.eye(d, dtype=q.dtype)
        for i in range(j, length):
            if i > j:
                step = operators[i - 1]
                product = product @ step if backwards else step @ product
            scores[i, j] = q[i] @ product @ k[j] / math.sqrt(d)
            carried[i, j] = product @ v[j]
    return (scores.softmax(1).unsqueeze(2) * carried).sum(1)


def _check_blocks(sizes: Model, generator: Generator) -> Iterator[tuple[str, str | None, float]]:
    count, d = sizes.length - 1, sizes.d
    random = np.random.default_rng(generator.initial_seed())
    blocks = random.normal(size=(count, d // 2, 2, 2))
    hidden = np.zeros((count, d, d))
    for plane in range(d // 2):
        part = slice(2 * plane, 2 * plane + 2)
        hidden[:, part, part] = blocks[:, plane]
    basis = np.eye(d) + random.normal(size=(d, d)) / (2.0 * math.sqrt(d))
    cases = {
        "exact": basis @ hidden @ np.linalg.inv(basis),
        "broken": random.normal(size=(count, d, d)),
    }
    for case, operators in cases.items():
        fitted = common_basis(operators[1::2], random)
        yield "blocks_found", case, off_block_mass(operators[::2], fitted)


def _check_angles(sizes: Model, generator: Generator) -> Iterator[tuple[str, str | None, float]]:
    count, d = sizes.length - 1, sizes.d
    rope = naive.rotation_matrix(-standard_frequencies(d).double()).expand(count, d, d)
    noise = torch.randn(count, d, d, generator=generator, dtype=torch.float64) / math.sqrt(d)
    basis = _basis(d, generator)
    cases = {
        "exact": rope,
        "noisy": rope + NOISE * noise,
        "broken": random_rotations(count, d, generator).double(),
    }
    for case, operators in cases.items():
        seen = basis @ operators @ torch.linalg.inv(basis)
        yield "bend", case, 1.0 - transport_linearity(seen.numpy())


def _basis(d: int, generator: Generator) -> Tensor:
    """I + N(0, 1)/(2√d), the basis S of the certificates."""
    noise = torch.randn(d, d, generator=generator, dtype=torch.float64)
    return torch.eye(d, dtype=torch.float64) + noise / (2.0 * math.sqrt(d))


def _largest(difference: Tensor) -> float:
    return float(difference.abs().max())
