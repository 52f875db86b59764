from math import cos, sqrt, tanh

import pytest

from journeylab.studies.exp2_shuffled_kb.certify import certify, witness_change
from journeylab.studies.exp2_shuffled_kb.metrics import METRICS
from journeylab.studies.exp2_shuffled_kb.settings import VARIANTS, Certificates, Data

SMALL = Certificates(draws=2, data=Data(sizes=(20, 50)))
SCALE = 64 / sqrt(32)
OMEGA = 10000 ** (-2 / 32)


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("position-free", 0.0),
        ("content", 0.0),
        ("rope", tanh(SCALE * (cos(OMEGA) - cos(2 * OMEGA)) / 2)),
        ("rope-integer", tanh(SCALE * (cos(1) - cos(2)) / 2)),
        ("cumulative", tanh(SCALE * (1 - cos(1)) / 2)),
    ],
)
def test_a_witness_changes_its_logits_as_computed_by_hand(variant: str, expected: float):
    assert witness_change(variant, SMALL) == pytest.approx(expected, abs=1e-6)


def test_certificates_hold():
    table = certify(SMALL)
    assert set(table["metric"]) <= set(METRICS)
    invariant = table[table["metric"] == "invariance_error"]
    assert len(invariant) == 2 * 2 * 2 * 2
    assert invariant.loc[invariant["precision"] == "float64", "value"].max() < 1e-12
    assert invariant.loc[invariant["precision"] == "float32", "value"].max() < 1e-4
    assert (table.loc[table["metric"] == "ceiling_error", "value"] == 0.0).all()
    assert len(table[table["metric"] == "witness_change"]) == len(VARIANTS["lookup"])
