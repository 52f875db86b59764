"""Enumeration, polynomials, ceilings and printed numbers, each against a second method."""

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

from journeylab.studies.exp10_circuit_encoders.circuits import (
    ceiling,
    degrees,
    digits,
    enumerate_circuits,
    functions,
    learned_rule,
    operation_types,
    tokens_of,
    values,
    write,
)
from journeylab.studies.exp10_circuit_encoders.document import (
    EXAMPLES,
    PrintedCell,
    X,
    audit,
    encode,
    token_errors,
    token_errors_shifted,
    undetermined,
)

ADD, MULTIPLY = 3, 4


def expand(circuit):
    """The polynomial as {(degree in x0, degree in x1): coefficient}."""
    known = [{(1, 0): 1}, {(0, 1): 1}, {(0, 0): 1}]
    for kind, i, j in circuit:
        polynomial = Counter()
        if kind == ADD:
            for part in (known[i], known[j]):
                polynomial.update(part)
        else:
            for ((a, b), m), ((c, d), n) in product(known[i].items(), known[j].items()):
                polynomial[a + c, b + d] += m * n
        known.append(dict(polynomial))
    return known[-1]


@pytest.fixture(scope="module")
def circuits():
    return enumerate_circuits()


@pytest.fixture(scope="module")
def expanded(circuits):
    return [expand(circuit) for circuit in circuits.tolist()]


def test_every_circuit_is_enumerated_once(circuits):
    assert circuits.shape == (2 * 6 * 2 * 10 * 2 * 15, 3, 3)
    assert len({circuit.tobytes() for circuit in circuits}) == 7200
    for operation, (kind, i, j) in enumerate(circuits.transpose(1, 2, 0)):
        assert set(kind) == {ADD, MULTIPLY}
        assert ((i >= 0) & (i <= j) & (j <= operation + 2)).all()


def test_degrees_values_and_functions_equal_those_of_expanded_polynomials(circuits, expanded):
    assert degrees(circuits).tolist() == [max(map(sum, p)) for p in expanded]
    at = [sum(n * 2**a * 3**b for (a, b), n in p.items()) % 5 for p in expanded]
    assert values(circuits).tolist() == at
    numbers, keys = functions(circuits), [frozenset(p.items()) for p in expanded]
    assert len(set(zip(numbers, keys, strict=True))) == len(set(numbers)) == len(set(keys)) == 307


def test_chains_are_the_circuits_that_read_the_node_before():
    chains = enumerate_circuits(3, "previous")
    every = enumerate_circuits(3)
    expected = every[(every[..., 2] == [2, 3, 4]).all(1)]
    assert chains.tolist() == expected.tolist()
    assert len(enumerate_circuits(5, "previous")) == 2**5 * 3 * 4 * 5 * 6 * 7


def test_digits_are_those_of_the_value_in_base_5():
    chains = enumerate_circuits(5, "previous")[::997]
    for chain, shown in zip(chains, digits(chains).tolist(), strict=True):
        value = sum(n * 2**a * 3**b for (a, b), n in expand(chain.tolist()).items())
        assert len(np.base_repr(value, 5)) == shown


def test_tokens_hold_the_wiring(circuits):
    tokens = tokens_of(circuits[[17]])[0]
    assert tokens[:3].tolist() == [[1, 0, 0, 0, 0], [1, 1, 1, 0, 0], [2, 1, 2, 0, 0]]
    for token, (kind, i, j) in zip(tokens[3:].tolist(), circuits[17].tolist(), strict=True):
        assert token[0] == kind
        assert token[3:] == [i + 1, j + 1]


def test_the_ceiling_is_the_best_of_all_answers_to_eight_groups(circuits):
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(circuits), 300, replace=False)
    groups, labels = operation_types(circuits[chosen]), values(circuits[chosen])
    right = defaultdict(Counter)
    for group, label in zip(groups.tolist(), labels.tolist(), strict=True):
        right[group][label] += 1
    best = sum(max(right[group][label] for label in range(5)) for group in range(8)) / 300
    assert ceiling(groups, labels) == best
    others = np.setdiff1d(np.arange(len(circuits)), chosen)
    rule = learned_rule(operation_types(circuits[others]), values(circuits[others]), groups, labels)
    assert rule < best


def test_circuits_of_one_group_have_the_same_types(circuits):
    groups = operation_types(circuits)
    types = {g: set(map(bytes, circuits[groups == g][..., 0].copy())) for g in range(8)}
    assert [len(sequences) for sequences in types.values()] == [1] * 8
    assert len(set.union(*types.values())) == 8


def test_a_circuit_is_written_node_by_node():
    circuit = np.array([[ADD, 0, 1], [MULTIPLY, 3, 3], [ADD, 2, 4]])
    assert write(circuit) == "n3 = x0 + x1, n4 = n3·n3, n5 = 1 + n4"


def impossible_entries(convention):
    return {
        (c.matrix, c.row, c.column) for c in audit() if c.convention == convention and c.error()
    }


def test_impossible_entries_are_those_of_an_exhaustive_search():
    """Every thousandth of a hundredth that X may stand for, added to P and printed again."""
    p = {
        (row, column): np.float64(
            np.sin(row / 10000 ** (column / 8))
            if column % 2 == 0
            else np.cos(row / 10000 ** ((column - 1) / 8))
        )
        for row in range(3)
        for column in range(8)
    }
    steps = np.arange(1, 1000) / 1000
    for convention, spread, show in (
        ("rounded", steps - 0.5, lambda y: np.floor(y + 0.5)),
        ("truncated", None, np.trunc),
        ("truncated-rounded", None, lambda y: np.floor(y + 0.5)),
    ):
        impossible = set()
        for cell in audit():
            if cell.matrix == "Y" and cell.convention == convention:
                x = X[cell.row][cell.column]
                around = (steps if x > 0 else -steps) if spread is None else spread
                sums = np.append(x + around, x) + 100 * p[cell.row, cell.column]
                if cell.printed not in show(np.round(sums, 7)):
                    impossible.add(("Y", cell.row, cell.column))
        assert impossible == {
            entry for entry in impossible_entries(convention) if entry[0] == "Y"
        }, convention


def test_printed_entries_are_impossible_in_known_places_only():
    assert impossible_entries("rounded") == {("P", 1, 3)}
    assert {entry for entry in impossible_entries("truncated") if entry[0] == "Y"} == {
        ("Y", 1, 7),
        ("Y", 2, 0),
        ("Y", 2, 5),
    }
    assert impossible_entries("truncated-rounded") == impossible_entries("printed") == {("Y", 2, 1)}


def test_the_error_of_a_shifted_entry_is_its_distance():
    cell = PrintedCell("Y", "rounded", 0, 0, 107, 106, 108)
    assert [cell.error(shift) for shift in (-4, -1, 0, 1, 4)] == [3, 0, 0, 0, 3]


def test_tokens_of_the_examples():
    assert [token_errors(example) for example in EXAMPLES] == [0, 0]
    assert [undetermined(example) for example in EXAMPLES] == [0, 1]
    wrong = ((1, -1, -1), (1, -1, -1), (2, -1, -1), (3, 0, 2), (3, 3, 2))
    assert encode(wrong)[3] == (3, 0, 3, 0, 2)


def test_every_single_change_of_a_printed_number_is_counted(monkeypatch):
    assert [token_errors_shifted(example) for example in EXAMPLES] == [1, 1]
    # A printed field that is 1 too small becomes right if it is increased.
    fields = (*EXAMPLES[1].fields[:2], (3, 0, 2, 0, 0))
    monkeypatch.setitem(EXAMPLES, 1, EXAMPLES[1]._replace(fields=fields))
    assert token_errors_shifted(1) == 0


def test_a_wrong_token_is_counted(monkeypatch):
    monkeypatch.setitem(EXAMPLES, 1, EXAMPLES[1]._replace(nodes=(0, 2, 1)))
    assert token_errors(1) == 2
    actions = (*EXAMPLES[2].actions[:3], (3, 0, 0), (3, 3, 2))
    monkeypatch.setitem(EXAMPLES, 2, EXAMPLES[2]._replace(actions=actions))
    assert token_errors(2) == 1
