from fractions import Fraction
from math import cos, sqrt, tanh

import pytest
import torch

from journeylab.studies.exp2_shuffled_kb import compute as module
from journeylab.studies.exp2_shuffled_kb.anchors import expected_multiplicity
from journeylab.studies.exp2_shuffled_kb.compute import compute, witness_change
from journeylab.studies.exp2_shuffled_kb.models import Retriever
from journeylab.studies.exp2_shuffled_kb.settings import Computation, Lookups, Model

DATA = Lookups(task="lookup", sizes=(20, 50))
SCALE = 64 / sqrt(32)
OMEGA = 10000 ** (-2 / 32)


def job(check: str, variant: str) -> Computation:
    return Computation(computed=check, variant=variant, draws=2, data=DATA, model=Model())


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("position-free", 0.0),
        ("content", 0.0),
        ("rope", tanh(SCALE * (cos(OMEGA) - cos(2 * OMEGA)) / 2)),
        ("rope-integer", tanh(SCALE * (cos(1) - cos(2)) / 2)),
        ("cumulative", tanh(SCALE * (1 - cos(1)) / 2)),
        ("cumulative-as-shipped", tanh(SCALE * (1 - cos(1)) / 2)),
    ],
)
def test_witness_change_equals_its_closed_form(variant: str, expected: float):
    assert witness_change(job("witness", variant)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
def test_a_content_operator_that_leaks_slots_exceeds_the_tolerance(
    monkeypatch, precision, tolerance
):
    """By a place in a thousand: far less than RoPE, and still seen in either precision."""
    turns = Retriever._turns

    def leaking(self, episodes, questions):
        places = 1e-3 * torch.arange(episodes.keys.shape[1])[None, :, None].expand(1, -1, 16)
        return turns(self, episodes, questions)._replace(places=places.to(self.frequencies))

    monkeypatch.setattr(Retriever, "_turns", leaking)
    table = compute(job("invariance", "content"), None)
    assert len(table) == 2 * 2 * 2
    assert table.loc[table["precision"] == precision, "value"].min() > tolerance


def test_recursion_equals_enumeration_exactly():
    table = compute(job("recursion", "all"), None)
    assert set(table["metric"]) == {"ceiling_error"}
    assert len(table) == table["draw"].nunique() > 3
    assert (table["value"] == 0.0).all()


def test_a_recursion_off_by_one_string_has_an_error(monkeypatch):
    def off(draws, values):
        return expected_multiplicity(draws, values) + Fraction(1, values**draws)

    monkeypatch.setattr(module, "expected_multiplicity", off)
    assert (compute(job("recursion", "all"), None)["value"] > 0).all()
