"""The theorems behind the tasks, checked by exact construction and enumeration, without training.

| case | metric | quantity checked |
| --- | --- | --- |
| Z3, S3, A5 | exact_accuracy | share of states that exp(S − Sᵀ) with exact angles names rightly |
| Z3, S3, A5 | exact_margin, _drift | least lead of the right logit; distance from the true state |
| Z3, S3, A5 | aggregation_accuracy, _drift | the same weights as an aggregation, see below |
| permutations | transition_error | error of one step of an exact aggregation, see below |
| scalar | aggregator_accuracy, _margin | R = 2.5, v = ±1 on B: all short and random long strings |
| scalar | aggregator_misjudged | number of strings that it labels wrongly, over all lengths |
| scalar | aggregator_bound_error | least margin against 1 − Σ_{0<t<n} R^{−t}, which exceeds ⅓ |
| scalar | aggregator_float32 | powers of R up to 100 that overflow: the recurrence needs float64 |
| commuting, affine | parikh_split | Parikh classes with several states, for commuting maps |
| aggregation, S3 | parikh_split | the same for an aggregation and for S3, which do split classes |
| families | parikh_spread | the trained families in float64: spread within a class |
| real | missing_exponentials | a real diagonal of width d and #a mod 3 = 0, see below |
| task | ceiling, chance | exact anchors |
| task | ceiling_error | the ceilings by dynamic programming against those by enumeration |

**Weights.** A permutation of m points is a matrix. With the sign of the permutation beside it, the
whole is a rotation and has an antisymmetric logarithm. For u with distinct coordinates the points
g·u are distinct and of equal length, so the logits ⟨g·u, h⟩ are largest at the true g.

**Aggregation.** With v_x = c − R_x c for any c, h_t − c = R_{x_t} (h_{t−1} − c): an aggregation
that starts at u + c has the states of the product state, moved by c. For a permutation automaton of
n states, of any alphabet, let P_x be the matrix of the letter's permutation and u the unit vector
of the first state. Then h_t = e_{q_t} + c for every string if every transition of every letter is
made exactly; transition_error is the largest error over all n! permutations and n states, in
integers, for c = e_1 + 2 e_2 + … + n e_n.

**A real diagonal and Z/3.** λ³ = 1 has one real solution, so no real diagonal represents Z/3. A
reader with a real diagonal product state of width d and a bias cannot label even the strings aᵏ
rightly: at even k = 2j its logit is Σ_i c_i (α_i²)^j + b. This sum has at most d + 1 terms and so
at most d sign changes (Laguerre), while #a mod 3 = 0 changes sign more often for 2 ≤ k ≤ 100.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import scipy.linalg
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from journeylab.operators.chain import chain_states
from journeylab.operators.orthogonal import exponential
from journeylab.studies.exp1_group_languages.ceilings import (
    best_given_parikh,
    chances,
    count_labels,
    parikh_ceilings,
)
from journeylab.studies.exp1_group_languages.models import Operators
from journeylab.studies.exp1_group_languages.settings import (
    COMMUTING,
    FAR,
    LONGEST,
    MOST_STATES,
    SHORTEST,
    CertificateSizes,
    Computation,
    Model,
)
from journeylab.studies.exp1_group_languages.tasks import (
    GENERATORS,
    TASKS,
    UNLABELLED,
    Permutation,
    Task,
    cycles,
    generate_group,
    label_words,
    state_task,
)

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = ("case", "draw", "metric", "n", "value")
RADIX = Fraction(5, 2)
"""R of the scalar aggregator."""

Row = tuple[str, int, str, int | None, float]
Point = tuple[int, ...]
Map = Callable[[Point], Point]

GROUPS = {
    "Z3": (cycles(3, (1, 2, 3)), cycles(3)),
    "S3": GENERATORS["S3"],
    "A5": GENERATORS["A5"],
}
"""The permutations of a and b; Z3 is task A, where b changes nothing."""


class ExactWeights(NamedTuple):
    """A product state that names group elements, in float64.

    The operators are exp(S − Sᵀ) for ``square`` S, the start is u, and row g of the readout is g·u.
    """

    square: Float[Tensor, "letters d d"]
    start: Float[Tensor, " d"]
    readout: Float[Tensor, "elements d"]


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """All cases as tidy rows: case, draw, metric, n, value.

    n is empty for a case with a single length, which the settings or the table above give.
    """
    del streams  # nothing depends on a seed: draws are numbered from 0
    checks: tuple[Callable[[CertificateSizes], Iterator[Row]], ...] = (
        _weights,
        _transitions,
        _aggregator,
        _parikh_classes,
        _parikh_families,
        _real_diagonal,
        _anchors,
    )
    rows = [row for check in checks for row in check(job)]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"n": "Int64"})


def exact_weights(generators: tuple[Permutation, Permutation], d: int) -> ExactWeights:
    """Weights of width d that name the group element after each string.

    Raises ValueError if a permutation and its sign need more than d coordinates.
    """
    elements, points = generate_group(generators), len(generators[0])
    if points + 1 > d:
        raise ValueError(
            f"permutations of {points} points and their sign need d > {points}, got {d}"
        )
    embedded = np.stack([_as_rotation(element, d) for element in elements])
    start = np.zeros(d)
    start[:points] = np.arange(points)
    square = np.stack([np.triu(rotation_logarithm(_as_rotation(g, d))) for g in generators])
    return ExactWeights(
        torch.from_numpy(square),
        torch.from_numpy(start),
        torch.from_numpy(embedded @ start),
    )


def rotation_logarithm(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """The antisymmetric A ``(d, d)`` with exp(A) = R and angles of at most π, for det R = 1.

    Raises ValueError if −1 is an eigenvalue of odd multiplicity, so that R is no rotation.
    """
    triangle, basis = scipy.linalg.schur(rotation, output="real")
    angles = np.zeros_like(rotation)
    half_turns, i = [], 0
    while i < len(triangle):
        if i + 1 < len(triangle) and abs(triangle[i + 1, i]) > 1e-9:
            angle = np.arctan2(triangle[i + 1, i], triangle[i, i])
            angles[i + 1, i], angles[i, i + 1] = angle, -angle
            i += 1
        elif triangle[i, i] < 0.0:
            half_turns.append(i)
        i += 1
    if len(half_turns) % 2:
        raise ValueError("the determinant is −1: there is no real logarithm")
    for i, j in zip(half_turns[::2], half_turns[1::2], strict=True):
        angles[j, i], angles[i, j] = np.pi, -np.pi
    logarithm: NDArray[np.float64] = basis @ angles @ basis.T
    return logarithm


def sign_changes(task: Task, longest: int) -> int:
    """The number of label changes along the strings aᵏ with even k from 2 to ``longest``."""
    state, labels = 0, []
    for _ in range(longest):
        state = task.following[0][state]
        labels.append(task.labels[state])
    return sum(before != after for before, after in itertools.pairwise(labels[1::2]))


def split_classes(maps: tuple[Map, Map], start: Point, longest: int) -> int:
    """The number of Parikh classes of strings up to ``longest`` that have more than one state."""
    reached: dict[tuple[int, int], set[Point]] = {(0, 0): {start}}
    for _ in range(longest):
        following: defaultdict[tuple[int, int], set[Point]] = defaultdict(set)
        for (a, b), points in reached.items():
            following[a + 1, b] |= {maps[0](point) for point in points}
            following[a, b + 1] |= {maps[1](point) for point in points}
        reached = reached | following
    return sum(len(points) > 1 for points in reached.values())


def class_spread(
    operators: Float[Tensor, "2 d d"], start: Float[Tensor, " d"], length: int
) -> float:
    """The largest distance of a state from the first state of its Parikh class, over |u|.

    The maximum is over all strings of the given length; ``start`` is u.
    """
    words = torch.tensor(list(itertools.product((0, 1), repeat=length)), dtype=torch.uint8).mT
    states, counts = chain_states(operators, start, words)[:, -1], words.sum(0)
    classes = [states[:, counts == k] for k in range(length + 1)]
    spread = max(float((members - members[:, :1]).norm(dim=0).max()) for members in classes)
    return spread / float(start.norm())


def _weights(sizes: CertificateSizes) -> Iterator[Row]:
    for seed, (name, generators) in enumerate(GROUPS.items()):
        weights = exact_weights(generators, sizes.d)
        words = _draw(seed, sizes.length, sizes.strings)
        reached = torch.from_numpy(label_words(state_task(generators), words.numpy())).long()
        state = chain_states(exponential(weights.square), weights.start, words)[:, -1]
        logits = weights.readout @ state
        right = logits.gather(0, reached[None])[0]
        others = logits.scatter(0, reached[None], -torch.inf).max(0).values
        drift = (state - weights.readout[reached].mT).norm(dim=0)
        yield name, 0, "exact_accuracy", None, float((right > others).double().mean())
        yield name, 0, "exact_margin", None, float((right - others).min())
        yield name, 0, "exact_drift", None, float(drift.max())
        moved = _aggregate(weights, words)
        named = (weights.readout @ moved).argmax(0)
        drift = (moved - weights.readout[reached].mT).norm(dim=0)
        yield name, 0, "aggregation_accuracy", None, float((named == reached).double().mean())
        yield name, 0, "aggregation_drift", None, float(drift.max())


def _aggregate(weights: ExactWeights, words: Tensor) -> Float[Tensor, "d strings"]:
    """The last state of the aggregation with v_x = c − R_x c and c = (1, …, 1), less c."""
    operators, shift = exponential(weights.square), torch.ones_like(weights.start)
    inputs = shift - operators @ shift
    return chain_states(operators, weights.start + shift, words, inputs)[:, -1] - shift[:, None]


def transition_error(
    permutation: Permutation, *, shift: Sequence[int], operator: Permutation | None = None
) -> int:
    """The largest |R (e_i + c) + c − R c − e_{g(i)} − c| over the states i, in integers.

    R is the matrix of ``operator``, which is g unless another is given; ``shift`` is c.
    """
    size, c = len(permutation), np.array(shift)
    basis = np.eye(size, dtype=int)
    matrix, moved = (basis[:, list(images)] for images in (operator or permutation, permutation))
    reached = matrix @ (basis + c[:, None]) + (c - matrix @ c)[:, None]
    expected = moved + c[:, None]
    return int(np.abs(reached - expected).max())


def _transitions(sizes: CertificateSizes) -> Iterator[Row]:
    del sizes  # the enumeration has one size
    for states in range(2, MOST_STATES + 1):
        errors = [
            transition_error(permutation, shift=range(1, states + 1))
            for permutation in itertools.permutations(range(states))
        ]
        yield "permutations", 0, "transition_error", states, float(max(errors))


def _aggregator(sizes: CertificateSizes) -> Iterator[Row]:
    """The margin is h_n/R^{n−1} if the string starts with a, else −h_n/R^{n−1}; right if > 0."""
    misjudged = 0
    for n in range(2, sizes.enumerate + 1):
        margins = [_exact_margin(word) for word in itertools.product((1, -1), repeat=n)]
        closed = 1 - sum((RADIX**-t for t in range(1, n)), Fraction(0))
        right = sum(margin > 0 for margin in margins)
        misjudged += len(margins) - right
        yield "scalar", 0, "aggregator_accuracy", n, right / len(margins)
        yield "scalar", 0, "aggregator_margin", n, float(min(margins))
        yield "scalar", 0, "aggregator_bound_error", n, float(abs(min(margins) - closed))
    for n in (LONGEST, *FAR):
        words = torch.cat((_draw(n, n, sizes.strings), _hardest(n)), 1)
        radix = torch.full((2, 1, 1), float(RADIX), dtype=torch.float64)
        inputs = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
        state = chain_states(radix, torch.zeros(1, dtype=torch.float64), words, inputs)[0, -1]
        margin = state / float(RADIX) ** (n - 1) * torch.where(words[0] == 0, 1.0, -1.0)
        yield "scalar", 0, "aggregator_accuracy", n, float((margin > 0).double().mean())
        yield "scalar", 0, "aggregator_margin", n, float(margin.min())
        misjudged += int((margin <= 0).sum())
    yield "scalar", 0, "aggregator_misjudged", None, float(misjudged)
    powers = torch.full((FAR[0],), float(RADIX)).cumprod(0)
    yield "scalar", 0, "aggregator_float32", None, float((~powers.isfinite()).sum())


def _parikh_classes(sizes: CertificateSizes) -> Iterator[Row]:
    # M + I and M² − 2I for M = [[1, 2], [3, 1]]: polynomials in M commute.
    of_a, of_b = np.array([[2, 2], [3, 2]]), np.array([[5, 4], [6, 5]])
    shift_a, shift_b = ((np.eye(2, dtype=int) - matrix) @ [1, 2] for matrix in (of_a, of_b))
    moved_a, moved_b = GENERATORS["S3"]
    cases: dict[str, tuple[tuple[Map, Map], Point]] = {
        "commuting": ((_affine(of_a), _affine(of_b)), (1, 1)),
        # Both maps have the fixed point (1, 2), so they commute as well.
        "affine": ((_affine(of_a, shift_a), _affine(of_b, shift_b)), (1, 1)),
        "aggregation": ((lambda p: (2 * p[0] + 1,), lambda p: (2 * p[0] - 1,)), (0,)),
        "S3": ((_permute(moved_a), _permute(moved_b)), (0, 1, 2)),
    }
    for name, (maps, start) in cases.items():
        split = split_classes(maps, start, sizes.enumerate)
        yield name, 0, "parikh_split", None, float(split)


def _parikh_families(sizes: CertificateSizes) -> Iterator[Row]:
    for family in COMMUTING:
        for draw in range(sizes.draws):
            generator = torch.Generator().manual_seed(draw)
            with torch.no_grad():
                operators = Operators(family, Model(d=sizes.d), generator).double()()
            start = torch.randn(sizes.d, generator=generator, dtype=torch.float64)
            spread = class_spread(operators, start, sizes.enumerate)
            yield family, draw, "parikh_spread", None, spread


def _real_diagonal(sizes: CertificateSizes) -> Iterator[Row]:
    needed = sign_changes(TASKS["A"], FAR[0])
    yield "real", 0, "missing_exponentials", None, float(needed - sizes.d)


def _anchors(sizes: CertificateSizes) -> Iterator[Row]:
    lengths = (*range(SHORTEST, LONGEST + 1), *FAR)
    for name, task in TASKS.items():
        for metric, anchor in (("ceiling", parikh_ceilings), ("chance", chances)):
            for n, value in anchor(task, lengths).items():
                yield name, 0, metric, n, float(value)
        for n, counts in enumerate(count_labels(task, sizes.enumerate), start=1):
            if counts.any():
                enumerated = best_given_parikh(task, count_by_enumeration(task, n))
                error = abs(enumerated - best_given_parikh(task, counts))
                yield name, 0, "ceiling_error", n, float(error)


def count_by_enumeration(task: Task, length: int) -> NDArray[np.object_]:
    """The numbers of strings ``[k, label]``, by listing all 2ⁿ strings."""
    words = np.array(list(itertools.product((0, 1), repeat=length)), dtype=np.uint8).T
    counts = np.zeros((length + 1, task.classes), dtype=object)
    for k, label in zip((words == 0).sum(0), label_words(task, words), strict=True):
        if label != UNLABELLED and not (task.halved and 2 * k != length):
            counts[k, label] += 1
    return counts


def _exact_margin(signs: tuple[int, ...]) -> Fraction:
    total = sum((sign * RADIX**-t for t, sign in enumerate(signs)), Fraction(0))
    return total * signs[0]


def _hardest(length: int) -> Tensor:
    """The strings abb…b and baa…a ``(length, 2)``, which have the least margin."""
    words = torch.zeros(length, 2, dtype=torch.uint8)
    words[1:, 0], words[0, 1] = 1, 1
    return words


def _draw(seed: int, length: int, strings: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(2, (length, strings), generator=generator, dtype=torch.uint8)


def _affine(matrix: NDArray[np.int_], shift: NDArray[np.int_] | None = None) -> Map:
    rows = [[int(x) for x in row] for row in matrix]
    added = [0] * len(rows) if shift is None else [int(x) for x in shift]

    def apply(point: Point) -> Point:
        return tuple(
            sum(x * y for x, y in zip(row, point, strict=True)) + extra
            for row, extra in zip(rows, added, strict=True)
        )

    return apply


def _permute(permutation: Permutation) -> Map:
    return lambda point: tuple(permutation[i] for i in point)


def _as_rotation(permutation: Permutation, d: int) -> NDArray[np.float64]:
    """The block-diagonal matrix of the permutation, its sign and ones; its determinant is 1."""
    size = len(permutation)
    matrix = np.eye(d)
    matrix[:size, :size] = np.eye(size)[:, list(permutation)]  # e_i to e_{g(i)}
    matrix[size, size] = np.linalg.det(matrix[:size, :size]).round()
    return matrix
