import torch

from journeylab.operators.journey import slot_angles
from journeylab.operators.rotary import standard_frequencies
from journeylab.studies.exp7_native_kg.certify import bake, certify, stored_scores
from journeylab.studies.exp7_native_kg.metrics import METRICS
from journeylab.studies.exp7_native_kg.settings import Certificates, Model

FEW = Certificates(draws=3, model=Model(d=16))


def test_the_algebra_holds_to_rounding():
    found = certify(FEW).groupby("metric")["value"]
    assert found.max()["slot_within_error"] < 1e-12
    assert found.max()["text_equivalence_error"] == 0.0
    assert found.max()["baked_key_error"] < 1e-12
    assert found.min()["slot_across_effect"] > 1e-3


def test_certificates_are_tidy():
    found = certify(FEW)
    assert list(found.columns) == ["variant", "seed", "metric", "value"]
    assert set(found["metric"]) <= set(METRICS)
    assert found.groupby("metric")["seed"].nunique().eq(3).all()


def test_stored_keys_serve_every_later_query():
    generator = torch.Generator().manual_seed(0)
    k = torch.randn(13, 16, dtype=torch.float64, generator=generator)
    q = torch.randn(20, 16, dtype=torch.float64, generator=generator)
    frequencies = standard_frequencies(16).double()
    offsets = torch.randn(3, 8, dtype=torch.float64, generator=generator)
    places = torch.cat((torch.arange(6), torch.zeros(1), torch.arange(6)))
    slots = torch.tensor([0] * 6 + [1] + [2] * 6)
    stored = bake(k, slot_angles(places, slots, frequencies, offsets))
    angles = torch.arange(20)[:, None] * frequencies
    together = stored_scores(q, stored, angles)
    one_by_one = [stored_scores(q[[i]], stored, angles[[i]]) for i in range(20)]
    torch.testing.assert_close(together, torch.cat(one_by_one))
