from pathlib import Path

import pytest
import torch

from journeylab.claims.register import AtMost, Every, read_register
from journeylab.knowledge.settings import Model
from journeylab.models import decoding
from journeylab.operators.journey import slot_angles
from journeylab.operators.rotary import rotary_angles, standard_frequencies
from journeylab.studies.exp7_native_kg import compute as exp7
from journeylab.studies.exp7_native_kg.compute import (
    COLUMNS,
    compute,
    count,
    recomputed_scores,
    stored_scores,
)
from journeylab.studies.exp7_native_kg.metrics import METRICS
from journeylab.studies.exp7_native_kg.settings import PLANNED, Computation, Data

LAWS = {
    "slots": {"slot_within_error", "slot_across_effect"},
    "text": {"text_equivalence_error", "text_equivalence_control"},
    "keys": {"baked_key_error", "baked_key_control"},
    "decoding": {"decoding_mismatch", "decoding_control"},
    "counts": {"count", "count_deviation"},
}
CONTROLS = {
    "slot_within_error": "slot_across_effect",
    "text_equivalence_error": "text_equivalence_control",
    "baked_key_error": "baked_key_control",
    "decoding_mismatch": "decoding_control",
}
[REGISTERED] = [
    {
        claim.effect.every.metric: claim.region
        for claim in registered.claims
        if isinstance(claim.effect, Every) and "quantity" not in claim.effect.every.at
    }
    for study, registered in read_register(Path(__file__).parents[3] / "claims").studies.items()
    if study == "exp7"
]


def job_of(law: str, draws: int = 1, **model: float) -> Computation:
    return Computation(computed="algebra", variant=law, draws=draws, model=Model(d=16, **model))


def check(law: str, draws: int = 3, **model: float) -> dict[str, list[float]]:
    table = compute(job_of(law, draws, **model), None)
    assert list(table.columns) == list(COLUMNS)
    assert not table.duplicated(["draw", "metric", "quantity"]).any()
    return {metric: rows["value"].tolist() for metric, rows in table.groupby("metric")}


@pytest.fixture(scope="module")
def found() -> dict[str, list[float]]:
    return {metric: values for law in LAWS for metric, values in check(law).items()}


def test_a_law_has_its_metrics_once_per_draw(found):
    assert set(found) == set().union(*LAWS.values()) <= set(METRICS)
    sizes = len(PLANNED)
    for metric, values in found.items():
        assert len(values) == 3 * (sizes if metric in LAWS["counts"] else 1), metric


def test_every_certificate_holds_and_its_broken_operator_exceeds_the_tolerance(found):
    limits = {m: r.at_most for m, r in REGISTERED.items() if isinstance(r, AtMost)}
    assert limits.keys() == CONTROLS.keys()
    for metric, limit in limits.items():
        assert max(found[metric]) <= limit, metric
        control = CONTROLS[metric]
        assert min(found[control]) >= REGISTERED[control].at_least > limit, control


def test_slots_of_angle_zero_have_no_effect_across_slots():
    assert max(check("slots", draws=1, slot_scale=0.0)["slot_across_effect"]) == 0.0


def slot_of_each_place(places, slots, frequencies, offsets):
    """The slot angle grows within the slot."""
    return slot_angles(places, slots, frequencies, offsets) + places[:, None] * offsets[0]


def text_in_a_slot(self, tokens):
    """Native models stretch their text by a millionth."""
    stretched = 1.0 + 1e-6 * (self.spec.kg == "native")
    return stretched * rotary_angles(torch.arange(tokens.shape[1]), self.frequencies)[None]


def stored_unturned(q, k, query_angles, key_angles):
    """Keys are stored as they are."""
    return stored_scores(q, k, query_angles, torch.zeros_like(key_angles))


@pytest.mark.parametrize(
    ("law", "metric", "name", "broken"),
    [
        ("slots", "slot_within_error", "slot_angles", slot_of_each_place),
        ("text", "text_equivalence_error", "Reader.text_angles", text_in_a_slot),
        ("keys", "baked_key_error", "stored_scores", stored_unturned),
    ],
)
def test_a_broken_operator_is_more_than_rounding(
    law, metric, name, broken, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(f"{exp7.__name__}.{name}", broken)
    assert min(check(law, draws=1)[metric]) > REGISTERED[metric].at_most


def test_counts_are_those_of_the_world_and_a_deviation_is_relative():
    table = {(metric, quantity): value for metric, quantity, value in count(Data(), 0)}
    assert table["count", "triples"] == 102
    assert table["count_deviation", "triples"] == pytest.approx(11 / 91)
    assert table["count_deviation", "people"] == 0.0
    assert table["count", "transfer share"] == pytest.approx(11 / 47)
    larger = {(m, q): value for m, q, value in count(Data(generations=(5, 8, 9, 9)), 0)}
    assert larger["count_deviation", "people"] == pytest.approx(1 / 30)


def test_what_is_timed_are_two_ways_to_one_result(monkeypatch: pytest.MonkeyPatch):
    said = {}

    def compare(fast, slow, pairs):
        said["same"] = torch.allclose(fast().double(), slow().double(), atol=1e-4)
        return {"ratio": 1.0}

    monkeypatch.setattr(exp7, "compare", compare)
    for law in ("keys", "decoding"):
        assert exp7.time_forms(job_of(law)) == {"ratio": 1.0}
        assert said.pop("same")
    assert exp7.time_forms(job_of("slots")) == {}


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
