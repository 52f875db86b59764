"""All circuits of some operations, their polynomials, and the ceiling of encoders without wiring.

    node 0  x0        node 3  add or multiply, of two nodes i ≤ j ≤ 2
    node 1  x1        node 4  add or multiply, of two nodes i ≤ j ≤ 3
    node 2  1         node 5  add or multiply, of two nodes i ≤ j ≤ 4

There are (2·6)·(2·10)·(2·15) = 7200 of three operations. If j is the previous node, there are
2·3 · 2·4 · … · 2·7 = 80640 of five. A circuit is an array ``(operations, 3)``: type, i, j.

    3 0 1 · 4 3 3 · 3 4 2     (x0 + x1)² + 1     degree 2, at (2, 3) it is 26, which is 1 modulo 5
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from journeylab.models.circuits import ADD, CONSTANT, FIELDS, INPUT, MULTIPLY
from journeylab.studies.exp10_circuit_encoders.settings import MODULUS, OPERATIONS, Wiring

LEAVES = 3
NODES = LEAVES + OPERATIONS
"""Number of nodes of the circuits of the audit."""
POINT = (2, 3)
_BASE, _STRIDE = 32, 9
"""Larger than any coefficient (at most 16) and any degree (at most 8) after three operations."""

Integers = NDArray[np.int64]
Operation = tuple[int, int, int]


@cache
def enumerate_circuits(operations: int = OPERATIONS, wiring: Wiring = "any") -> Integers:
    """All circuits ``(circuits, operations, 3)`` in lexicographic order."""
    choices = [
        [
            (kind, i, j)
            for kind in (ADD, MULTIPLY)
            for i in range(n)
            for j in range(i if wiring == "any" else n - 1, n)
        ]
        for n in range(LEAVES, LEAVES + operations)
    ]
    return np.array(list(product(*choices)), dtype=np.int64)


def tokens_of(circuits: Integers) -> Integers:
    """The tokens ``(circuits, nodes, 5)``, as `journeylab.models.circuits` defines them."""
    nodes = LEAVES + circuits.shape[1]
    tokens = np.zeros((len(circuits), nodes, len(FIELDS)), dtype=np.int64)
    tokens[:, :LEAVES, 0] = INPUT, INPUT, CONSTANT
    tokens[:, :LEAVES, 1] = 0, 1, 1
    tokens[:, :, 2] = np.arange(nodes)
    tokens[:, LEAVES:, 0] = circuits[..., 0]
    tokens[:, LEAVES:, 3:] = circuits[..., 1:] + 1
    return tokens


def degrees(circuits: Integers) -> Integers:
    """The degree ``(circuits,)`` of the last node's polynomial.

    A sum has the larger degree of its inputs, a product the sum of both: coefficients are positive,
    so that no terms cancel.
    """
    return _fold(circuits, (1, 1, 0), np.maximum, np.add)


def values(circuits: Integers) -> Integers:
    """The value ``(circuits,)`` of the last node at (2, 3), modulo 5."""
    return _evaluate_all(circuits) % MODULUS


def digits(circuits: Integers) -> Integers:
    """The number of digits ``(circuits,)`` of that value in base 5."""
    value = _evaluate_all(circuits)
    # a value is at least 1 and below 2⁶³ < 5²⁸
    return np.searchsorted(MODULUS ** np.arange(28), value, side="right")


def functions(circuits: Integers) -> list[int]:
    """A number per circuit; two circuits share it if and only if they compute the same polynomial.

    It is the polynomial at x0 = 2⁵, x1 = 2⁴⁵ (Kronecker substitution). The coefficients are at most
    16 and are therefore the digits in base 32.
    """
    leaves = (_BASE, _BASE**_STRIDE, 1)
    return [_evaluate(circuit, leaves) for circuit in circuits.tolist()]


def operation_types(circuits: Integers) -> Integers:
    """The sequence of types as a number below 2ᵏ: all that an encoder without wiring reads."""
    products: Integers = circuits[..., 0] == MULTIPLY
    return products @ (1 << np.arange(circuits.shape[1]))


def ceiling(groups: Integers, labels: Integers) -> float:
    """The best accuracy of any answer that depends on the group only: the mode of every group."""
    counts = np.zeros((groups.max() + 1, labels.max() + 1), dtype=np.int64)
    np.add.at(counts, (groups, labels), 1)
    return int(counts.max(axis=1).sum()) / len(labels)


def learned_rule(
    groups: Integers, labels: Integers, new_groups: Integers, new_labels: Integers
) -> float:
    """The accuracy on new circuits of the mode of every group among the first circuits."""
    counts = np.zeros((max(groups.max(), new_groups.max()) + 1, labels.max() + 1), dtype=np.int64)
    np.add.at(counts, (groups, labels), 1)
    return float((counts.argmax(axis=1)[new_groups] == new_labels).mean())


def write(circuit: Integers) -> str:
    """A circuit as a formula of its nodes: n3 = x0 + x1, n4 = n3·n3, n5 = n4 + 1."""
    names = ["x0", "x1", "1", *(f"n{node}" for node in range(LEAVES, LEAVES + len(circuit)))]
    signs = {ADD: " + ", MULTIPLY: "·"}
    return ", ".join(_write_nodes(circuit.tolist(), names, signs))


def _write_nodes(
    circuit: Sequence[Operation], names: Sequence[str], signs: dict[int, str]
) -> Iterator[str]:
    for node, (kind, i, j) in enumerate(circuit, start=LEAVES):
        yield f"{names[node]} = {names[i]}{signs[kind]}{names[j]}"


def _evaluate_all(circuits: Integers) -> Integers:
    return _fold(circuits, (*POINT, 1), np.add, np.multiply)


def _fold(
    circuits: Integers, leaves: tuple[int, int, int], add: np.ufunc, multiply: np.ufunc
) -> Integers:
    known = np.empty((len(circuits), LEAVES + circuits.shape[1]), dtype=np.int64)
    known[:, :LEAVES] = leaves
    every = np.arange(len(circuits))
    for node, (kind, i, j) in enumerate(circuits.transpose(1, 2, 0), start=LEAVES):
        first, second = known[every, i], known[every, j]
        known[:, node] = np.where(kind == ADD, add(first, second), multiply(first, second))
    return known[:, -1]


def _evaluate(circuit: Sequence[Operation], leaves: tuple[int, int, int]) -> int:
    known = [*leaves]
    for kind, i, j in circuit:
        known.append(known[i] + known[j] if kind == ADD else known[i] * known[j])
    return known[-1]
