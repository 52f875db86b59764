"""Operators that carry keys and values from one position to a later one.

Each position s ≥ 1 has an operator R_s. From position j to i ≥ j, a vector is multiplied by

    T_ij = R_i R_{i−1} ⋯ R_{j+1},   T_jj = I,

a prefix product of the chain that starts after j. With a single operator R, T_ij = R^{i−j}.
No inverse is needed. RoPE is the R that turns plane k by −ω_k: ⟨q_i, T_ij k_j⟩ depends on i − j.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from journeylab.operators.naive import rotation_matrix
from journeylab.operators.rotary import integer_frequencies, standard_frequencies
from journeylab.operators.scan import prefix_products

BLOCK = 8
"""Positions per block; all products within a block are computed. A window is a whole number of
blocks."""


def start(
    variant: str, count: int, d: int, spread: float, generator: Generator
) -> Float[Tensor, "count d d"]:
    """Initial operators, or the fixed ones; random operators are independent of each other.

    near-identity: I + spread · N(0, 1)/√d; gaussian: N(0, 1)/√d; orthogonal and frozen:
    Haar-distributed rotations; rope: standard frequencies; rope-integer: integer frequencies;
    identity: I.
    """
    match variant:
        case "near-identity":
            noise = torch.randn(count, d, d, generator=generator) / math.sqrt(d)
            return torch.eye(d) + spread * noise
        case "gaussian":
            return torch.randn(count, d, d, generator=generator) / math.sqrt(d)
        case "orthogonal" | "frozen":
            return random_rotations(count, d, generator)
        case "rope":
            return rotation_matrix(-standard_frequencies(d)).repeat(count, 1, 1)
        case "rope-integer":
            return rotation_matrix(-integer_frequencies(d)).repeat(count, 1, 1)
        case _:
            return torch.eye(d).repeat(count, 1, 1)


def random_rotations(count: int, d: int, generator: Generator) -> Float[Tensor, "count d d"]:
    """Haar-distributed rotations, elements of SO(d).

    Source: Mezzadri, How to generate random matrices from the classical compact groups, 2007.
    """
    q, r = torch.linalg.qr(torch.randn(count, d, d, generator=generator, dtype=torch.float64))
    q = q * r.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)
    q[:, :, 0] *= torch.linalg.det(q).sign().unsqueeze(-1)
    rotations: Tensor = q.to(torch.get_default_dtype())
    return rotations


def transports(
    operators: Float[Tensor, "count d d"], length: int
) -> Float[Tensor, "blocks BLOCK BLOCK+1 d d"]:
    """T_ij within every block of ``BLOCK`` positions, for one operator or R_1 … R_{length−1}.

    Entry ``[b, j, i]`` carries from position j to position i of block b; i = ``BLOCK`` is the first
    position of the next block. Entries with i < j must not be used. All blocks of a single operator
    are equal, so only one is returned.
    """
    count, d, _ = operators.shape
    identity = torch.eye(d, dtype=operators.dtype, device=operators.device)
    if count == 1:
        steps = operators.expand(1, BLOCK, d, d)
    else:
        steps = torch.cat((operators, identity[None])).view(length // BLOCK, BLOCK, d, d)
    positions = torch.arange(BLOCK, device=operators.device)
    passed = (positions >= positions[:, None])[..., None, None]
    chains = torch.where(passed, steps.unsqueeze(1), identity)
    first = identity.expand(*chains.shape[:2], 1, d, d)
    return torch.cat((first, prefix_products(chains)), 2)


def attend(
    q: Float[Tensor, "rows length d"],
    k: Float[Tensor, "rows length d"],
    v: Float[Tensor, "rows length d"],
    carried_by: Float[Tensor, "blocks BLOCK BLOCK+1 d d"],
) -> Float[Tensor, "rows length d"]:
    """Causal attention: Σ_{j≤i} a_ij T_ij v_j with a_i· = softmax_j ⟨q_i, T_ij k_j⟩/√d.

    ``carried_by`` holds the products of :func:`transports`. Within a block T_ij is applied as it
    is. Keys and values of earlier blocks are carried once to the block's first position c, for all
    of its queries: ⟨q_i, T_ij k_j⟩ = ⟨T_icᵀ q_i, T_cj k_j⟩.
    """
    rows, length, d = q.shape
    blocks = length // BLOCK
    carried_by = carried_by.expand(blocks, -1, -1, -1, -1)
    sent = torch.cat((k, v)).permute(1, 2, 0).unflatten(0, (blocks, BLOCK))
    arrived = (carried_by.flatten(2, 3) @ sent).unflatten(2, (BLOCK + 1, d))
    inside, leaving = arrived.split((BLOCK, 1), 2)
    keys, values = inside.split(rows, -1)
    entered, steps = carried_by[:, 0].split((BLOCK, 1), 1)  # T_ic, and on to the next block
    queries = q.permute(1, 2, 0).unflatten(0, (blocks, BLOCK)).contiguous() / math.sqrt(d)
    moved = (entered.mT.contiguous() @ queries).permute(0, 3, 1, 2)  # T_icᵀ q_i
    later = torch.ones(BLOCK, BLOCK, dtype=torch.bool, device=q.device).tril(-1)
    near = (keys * queries.unsqueeze(1)).sum(3).masked_fill(later[..., None], -torch.inf)
    every = (part.unbind() for part in (moved, near.permute(0, 3, 2, 1), leaving, steps))
    before = sent.new_zeros(2 * rows, 0, d)
    far_values, shares = [], []
    for query, own, left, step in zip(*every, strict=True):
        from_keys, from_values = before.split(rows)
        scores = torch.cat((query @ from_keys.mT, own), -1)
        far, share = torch.softmax(scores, -1).split((before.shape[1], BLOCK), -1)
        far_values.append(far @ from_values)
        shares.append(share)
        before = torch.cat((before @ step[0].mT, left.squeeze(1).permute(2, 0, 1)), 1)
    gathered = entered @ torch.stack(far_values).permute(0, 2, 3, 1)
    kept = (torch.stack(shares).permute(0, 3, 2, 1).unsqueeze(3) * values).sum(1)
    out: Tensor = (gathered + kept).flatten(0, 1).permute(2, 0, 1)
    return out
