"""How many reflections the generators of a group need, in the smallest faithful orthogonal form.

An orthogonal map R of ℝᵐ is a product of rank(I − R) reflections and of no fewer (Scherk). A token
of a delta product with n steps multiplies the state by n maps I − β k kᵀ, which are reflections at
β = 2. S3, S5 act on ℝ^{m−1}, the vectors of ℝᵐ with sum 0; A5 acts on ℝ³ as the rotations of an
icosahedron.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from journeylab.datasets.groups import GENERATORS, GROUPS

Matrix = NDArray[np.float64]
GOLDEN = (1.0 + 5.0**0.5) / 2.0
TOLERANCE = 1e-9
REPRESENTED = ("S3", "A5", "S5")


def represent(group: str) -> tuple[Matrix, Matrix]:
    """Orthogonal maps of the two generators, whose products are a copy of the group."""
    if group == "A5":
        return _icosahedral()
    points = int(group[1:])
    basis = np.linalg.svd(np.ones((1, points)))[2][1:]  # orthonormal, orthogonal to (1, …, 1)
    elements = list(permutations(range(points)))
    first, second = (
        basis @ np.eye(points)[:, list(elements[g])] @ basis.T for g in GENERATORS[group]
    )
    return first, second


def needed(operator: Matrix) -> int:
    """The number of reflections whose product is an orthogonal map."""
    return int(np.linalg.matrix_rank(np.eye(len(operator)) - operator, tol=1e-6))


def factor(operator: Matrix) -> list[NDArray[np.float64]]:
    """Unit vectors w with Π (I − 2 w wᵀ) = R, as many as `needed`, for R ≠ I without eigenvalue.

    Each step reflects a vector x to R x; what it moved stays fixed. Raises ValueError if rounding
    leaves a rest.
    """
    rest, vectors = operator.copy(), []
    for _ in range(needed(operator)):
        moved = rest - np.eye(len(rest))
        w = moved[:, int(np.abs(moved).max(0).argmax())]
        w = w / np.linalg.norm(w)
        vectors.append(w)
        rest = reflect(w) @ rest
    if np.abs(rest - np.eye(len(rest))).max() > 1e-6:
        raise ValueError("the map is no product of the reflections that were found")
    return vectors


def reflect(w: NDArray[np.float64]) -> Matrix:
    """I − 2 w wᵀ."""
    mirrored: Matrix = np.eye(len(w)) - 2.0 * np.outer(w, w)
    return mirrored


def homomorphism_error(group: str, operators: tuple[Matrix, Matrix]) -> float:
    """The largest difference between two products of the operators that name one element.

    Infinite if two elements have the same map, so that states could not tell them apart.
    """
    table, letters = GROUPS[group], GENERATORS[group]
    maps, worst = {0: np.eye(len(operators[0]))}, 0.0
    waiting = [0]
    for element in waiting:  # the list grows while the loop reads it: a queue
        for letter, operator in zip(letters, operators, strict=True):
            reached, image = int(table[letter, element]), operator @ maps[element]
            if reached not in maps:
                maps[reached] = image
                waiting.append(reached)
            worst = max(worst, float(np.abs(image - maps[reached]).max()))
    distinct = {tuple(np.round(image, 6).ravel() + 0.0) for image in maps.values()}
    return worst if len(distinct) == len(table) else float("inf")


def _icosahedral() -> tuple[Matrix, Matrix]:
    """Rotations of order 3 about (1, 1, 1) and of order 5 about a corner, as in A5."""
    third = _turn(np.ones(3), 2.0 * np.pi / 3.0)
    for signs in product((1.0, -1.0), repeat=2):
        for shift in range(3):
            corner = np.roll([0.0, signs[0], signs[1] * GOLDEN], shift)
            for steps in (1, 2, 3, 4):
                fifth = _turn(corner, 2.0 * np.pi * steps / 5.0)
                if homomorphism_error("A5", (third, fifth)) < TOLERANCE:
                    return third, fifth
    raise ValueError("no rotations of the icosahedron have the relations of the generators")


def _turn(axis: NDArray[np.float64], angle: float) -> Matrix:
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turned: Matrix = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
    return turned
