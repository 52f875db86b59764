import pytest
import torch

from journeylab.models import decoding
from journeylab.operators.journey import slot_angles
from journeylab.operators.rotary import standard_frequencies
from journeylab.studies.exp7_native_kg.compute import (
    COLUMNS,
    compute,
    recomputed_scores,
    stored_scores,
)
from journeylab.studies.exp7_native_kg.metrics import METRICS
from journeylab.studies.exp7_native_kg.settings import Computation, Model

LAWS = {
    "slots": {"slot_within_error", "slot_across_effect"},
    "text": {"text_equivalence_error"},
    "keys": {"baked_key_error"},
    "decoding": {"decoding_mismatch"},
}


def check(law: str, draws: int = 3) -> dict[str, list[float]]:
    job = Computation(computed="algebra", variant=law, draws=draws, model=Model(d=16))
    table = compute(job, None)
    assert list(table.columns) == list(COLUMNS)
    assert not table.duplicated(["draw", "metric"]).any()
    return {metric: rows["value"].tolist() for metric, rows in table.groupby("metric")}


@pytest.mark.parametrize("law", LAWS)
def test_a_law_has_its_metrics_once_per_draw(law: str):
    found = check(law)
    assert set(found) == LAWS[law] <= set(METRICS)
    assert {len(values) for values in found.values()} == {3}


def test_the_algebra_holds_to_rounding():
    slots = check("slots")
    assert max(slots["slot_within_error"]) < 1e-12
    assert min(slots["slot_across_effect"]) > 1e-3
    assert max(check("text")["text_equivalence_error"]) == 0.0
    assert max(check("keys")["baked_key_error"]) < 1e-12
    assert max(check("decoding")["decoding_mismatch"]) == 0.0


def late(rows, cache):
    """New positions are taken for the next ones."""
    return rows._replace(angles=rows.angles + standard_frequencies(16).double()), cache


def stale(rows, cache):
    """Values are those of the position before."""
    return rows, cache._replace(values=tuple(values.roll(1, 1) for values in cache.values))


def mixed(rows, cache):
    """Keys are turned as if their coordinates were others."""
    return rows, cache._replace(keys=tuple(keys.roll(1, -1) for keys in cache.keys))


@pytest.mark.parametrize("broken", [late, stale, mixed])
def test_a_broken_cache_is_seen_in_what_is_decoded(broken, monkeypatch: pytest.MonkeyPatch):
    bake = decoding.bake

    def bake_wrongly(model, rows, cache=None):
        return bake(model, *((rows, None) if cache is None else broken(rows, cache)))

    monkeypatch.setattr(decoding, "bake", bake_wrongly)
    assert min(check("decoding", draws=1)["decoding_mismatch"]) > 0.0


def test_stored_keys_serve_every_later_query():
    generator = torch.Generator().manual_seed(0)
    k = torch.randn(13, 16, dtype=torch.float64, generator=generator)
    q = torch.randn(20, 16, dtype=torch.float64, generator=generator)
    frequencies = standard_frequencies(16).double()
    offsets = torch.randn(3, 8, dtype=torch.float64, generator=generator)
    places = torch.cat((torch.arange(6), torch.zeros(1), torch.arange(6)))
    slots = torch.tensor([0] * 6 + [1] + [2] * 6)
    keys = slot_angles(places, slots, frequencies, offsets)
    angles = torch.arange(20)[:, None] * frequencies
    together = stored_scores(q, k, angles, keys)
    one_by_one = [stored_scores(q[[i]], k, angles[[i]], keys) for i in range(20)]
    torch.testing.assert_close(together, torch.cat(one_by_one))
    torch.testing.assert_close(together, recomputed_scores(q, k, angles, keys))
