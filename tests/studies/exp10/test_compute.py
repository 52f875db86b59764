from collections import Counter

import numpy as np
import pytest
import torch

from journeylab.studies.exp10_circuit_encoders import compute as module
from journeylab.studies.exp10_circuit_encoders import document
from journeylab.studies.exp10_circuit_encoders.circuits import (
    degrees,
    enumerate_circuits,
    functions,
    tokens_of,
    values,
)
from journeylab.studies.exp10_circuit_encoders.compute import compute, encodings, features
from journeylab.studies.exp10_circuit_encoders.settings import Computation

from .results import make_problem


def rows(variant, draws=1):
    table = compute(Computation(computed="audit", variant=variant, draws=draws), None)
    return dict(iter(table.groupby("metric")))


@pytest.fixture(scope="module")
def counted():
    return rows("encodings")


def of(counted, metric, encoder):
    part = counted[metric]
    [value] = part.loc[part["encoder"] == encoder, "value"]
    return value


def test_numbers_of_encodings_equal_those_of_sets(counted):
    circuits = enumerate_circuits().tolist()
    types = {tuple(kind for kind, *_ in circuit) for circuit in circuits}
    assert of(counted, "distinct", "documented") == len(types) == 8
    ends = {(circuit[-1][0], tuple(sorted(kind for kind, *_ in circuit))) for circuit in circuits}
    assert of(counted, "distinct", "documented-neither") == len(ends) == 6
    bags = {(tuple(c[-1]), tuple(sorted(map(tuple, c)))) for c in circuits}
    assert of(counted, "distinct", "wiring-neither") == len(bags)
    for encoder in ("wiring", "wiring-no-value", "wiring-no-position", "wiring-no-node"):
        assert of(counted, "distinct", encoder) == 7200


def test_polynomials_that_share_an_encoding_are_counted(counted):
    shared = {}
    for circuit, function in zip(
        enumerate_circuits().tolist(), functions(enumerate_circuits()), strict=True
    ):
        shared.setdefault(tuple(kind for kind, *_ in circuit), set()).add(function)
    assert of(counted, "functions_per_encoding", "documented") == max(map(len, shared.values()))
    assert of(counted, "functions_per_encoding", "wiring") == 1
    assert of(counted, "functions_per_encoding", "wiring-neither") == 2


@pytest.mark.parametrize(("encoder", "rank"), [("documented", 4), ("wiring", 22)])
def test_rank_equals_that_of_the_whole_matrix(counted, encoder, rank):
    """A constant and a choice per operation; with wiring also 2(n − 1) inputs of n nodes."""
    matrix = features(encoder, tokens_of(enumerate_circuits()[::7])).astype(float)
    values = np.linalg.svd(matrix, compute_uv=False)
    assert (values > 1e-9 * values[0]).sum() == rank
    assert of(counted, "feature_rank", encoder) == rank


def test_logits_are_equal_if_and_only_if_encodings_are(build):
    tokens = tokens_of(enumerate_circuits()[::97])
    for variant, encoder in (("sum", "documented"), ("wiring-neither", "wiring-neither")):
        model = build(make_problem(variant)).double()
        with torch.no_grad():
            logits = model(torch.from_numpy(tokens)).round(decimals=9)
        _, group = np.unique(encodings(encoder, tokens), axis=0, return_inverse=True)
        assert len(torch.unique(logits, dim=0)) == group.max() + 1


def test_the_lift_of_types_equals_a_count(counted):
    lifts = counted["blind_lift"].set_index(["family", "task"])["value"]
    values_of = Counter(values(enumerate_circuits()).tolist())
    assert lifts["all", "value"] == pytest.approx((1972 - max(values_of.values())) / 7200)
    chains, best = enumerate_circuits(5, "previous"), 0
    for types in range(32):
        members = chains[(chains[..., 0] == 4) @ (1 << np.arange(5)) == types]
        best += max(Counter(degrees(members).tolist()).values())
    one = max(Counter(degrees(chains).tolist()).values())
    assert lifts["chains", "degree"] == pytest.approx((best - one) / len(chains))


def test_one_hot_rows_are_read_back(monkeypatch):
    def counted_now():
        metrics = rows("example")
        names = ("one_hot_error", "one_hot_control", "misread_fields", "misread_control")
        return [metrics[name]["value"].item() for name in names]

    assert counted_now()[:3] == [0, 2, 0]
    assert counted_now()[3] > 0
    monkeypatch.setattr(document, "ONE_HOT", (0, 0, 1, 0, 0))
    glue = module.OneHotFields.glue
    monkeypatch.setattr(module.OneHotFields, "glue", lambda self, x: glue(self, x).roll(1, -1))
    assert counted_now()[:2] == [2, 0]
    assert counted_now()[2] > 0


def test_a_broken_equality_is_detected(monkeypatch):
    broken = module.OneHotFields.forward

    def forward(self, tokens):
        return broken(self, tokens) + 2e-6

    monkeypatch.setattr(module.OneHotFields, "forward", forward)
    error = rows("equivalence")["equivalence_error"]
    assert error.loc[error["form"] == "lookup", "value"].min() > 1e-6


def test_memory_counts_the_parameters_of_the_modules(monkeypatch):
    monkeypatch.setattr(module, "DOCUMENTED", ("type", "value"))
    metrics = rows("example")
    assert metrics["memory_ratio"].set_index("part")["value"]["input"] == pytest.approx(2 / 7)
    narrow = module.OneHotFields

    class Wider(narrow):
        def __init__(self, width, fields, *, generator):
            super().__init__(width + 1, fields, generator=generator)

    monkeypatch.setattr(module, "OneHotFields", Wider)
    gap = rows("example")["weight_gap"].set_index("part")["value"]
    assert gap["weights"] == 7


def test_the_audit_counts_memory_and_wrong_entries():
    metrics = rows("example")
    ratio = metrics["memory_ratio"].set_index("part")["value"]
    assert ratio["input"] == pytest.approx(3 / (5 + 100 + 2))
    assert ratio["weights"] == 1.0
    assert metrics["weight_gap"].set_index("part")["value"].to_dict() == {
        "weights": 0.0,
        "weights and bias": module.D,
    }
    assert metrics["token_error_moved"]["value"].min() == 1.0
    assert metrics["printed_off"]["value"].max() == 1.0
    assert metrics["printed_off_moved"]["value"].min() >= 1.0
