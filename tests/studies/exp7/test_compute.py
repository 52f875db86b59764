import pytest
import torch

from journeylab.claims.effects import Every
from journeylab.knowledge.settings import Model
from journeylab.models import decoding
from journeylab.operators.journey import slot_angles
from journeylab.operators.rotary import standard_frequencies
from journeylab.studies.exp7_native_kg import compute as exp7
from journeylab.studies.exp7_native_kg.compute import (
    best_split,
    compute,
    count,
    stored_scores,
)
from journeylab.studies.exp7_native_kg.settings import Computation, Data

from ...made import registered

CHECKS = {
    "slots": {"slot_within_error", "slot_across_effect"},
    "text": {"text_equivalence_error", "text_equivalence_control"},
    "keys": {"baked_key_error", "baked_key_control"},
    "decoding": {"decoding_mismatch", "decoding_control"},
    "counts": {"count", "count_deviation", "split_deviation"},
}
CONTROLS = {
    "slot_within_error": "slot_across_effect",
    "text_equivalence_error": "text_equivalence_control",
    "baked_key_error": "baked_key_control",
    "decoding_mismatch": "decoding_control",
}
REGISTERED = {
    claim.effect.every.metric: claim.region
    for claim in registered().studies["exp7"].claims
    if isinstance(claim.effect, Every) and "quantity" not in claim.effect.every.at
}


def job_of(variant: str, draws: int = 1, **model: float) -> Computation:
    return Computation(computed="algebra", variant=variant, draws=draws, model=Model(d=16, **model))


def check(variant: str, draws: int = 3, **model: float) -> dict[str, list[float]]:
    table = compute(job_of(variant, draws, **model), None)
    return {metric: rows["value"].tolist() for metric, rows in table.groupby("metric")}


@pytest.fixture(scope="module")
def measured() -> dict[str, list[float]]:
    return {metric: values for variant in CHECKS for metric, values in check(variant).items()}


def test_every_identity_holds_and_its_control_exceeds_the_tolerance(measured):
    limits = {metric: REGISTERED[metric].high for metric in CONTROLS}
    exact = {metric for metric, region in REGISTERED.items() if region.kind == "at_most"}
    assert exact == {*limits, "split_deviation"}
    assert limits.keys() == CONTROLS.keys()
    for metric, limit in limits.items():
        assert max(measured[metric]) <= limit, metric
        control = CONTROLS[metric]
        assert min(measured[control]) >= 1e-2 > limit, control


def test_zero_slot_angles_have_no_effect_across_slots():
    assert max(check("slots", draws=1, slot_scale=0.0)["slot_across_effect"]) == 0.0


def growing_slot_angles(positions, slots, frequencies, offsets):
    """The slot angle grows within the slot."""
    return slot_angles(positions, slots, frequencies, offsets) + positions[:, None] * offsets[0]


def stretched_slot_angles(positions, slots, frequencies, offsets):
    """The positions of a slot are stretched by a millionth."""
    return slot_angles(positions * (1.0 + 1e-6), slots, frequencies, offsets)


def unrotated_keys(q, k, query_angles, key_angles):
    """Keys are stored without rotation."""
    return stored_scores(q, k, query_angles, torch.zeros_like(key_angles))


@pytest.mark.parametrize(
    ("variant", "metric", "name", "broken"),
    [
        ("slots", "slot_within_error", "slot_angles", growing_slot_angles),
        ("text", "text_equivalence_error", "slot_angles", stretched_slot_angles),
        ("keys", "baked_key_error", "stored_scores", unrotated_keys),
    ],
)
def test_broken_operator_exceeds_the_tolerance(
    variant, metric, name, broken, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(f"{exp7.__name__}.{name}", broken)
    assert min(check(variant, draws=1)[metric]) > REGISTERED[metric].high


def test_counts_are_those_of_the_world_and_deviations_are_relative():
    table = {(metric, quantity): value for metric, quantity, value in count(Data(), 0)}
    assert table["count", "triples"] == 102
    assert table["count_deviation", "triples"] == pytest.approx(11 / 91)
    assert table["count_deviation", "people"] == 0.0
    assert table["count", "transfer share"] == pytest.approx(11 / 47)
    larger = {(m, q): value for m, q, value in count(Data(generations=(5, 8, 9, 9)), 0)}
    assert larger["count_deviation", "people"] == pytest.approx(1 / 30)


def test_best_split_divides_as_evenly_as_whole_numbers_allow():
    assert best_split(10) == best_split(50) == pytest.approx(0.0, abs=1e-12)
    # 29, 9 and 9 of 47
    assert best_split(47) == pytest.approx(1 - 45 / 47)
    assert best_split(4) > 0.05


def test_timed_forms_have_the_same_result(monkeypatch: pytest.MonkeyPatch):
    results = {}

    def compare(fast, slow, pairs):
        results["same"] = torch.allclose(fast().double(), slow().double(), atol=1e-4)
        return {"ratio": 1.0}

    monkeypatch.setattr(exp7, "compare", compare)
    for variant in ("keys", "decoding"):
        assert exp7.time_forms(job_of(variant)) == {"ratio": 1.0}
        assert results.pop("same")
    assert exp7.time_forms(job_of("slots")) == {}


def late(rows, cache):
    """Every new position has the angles of the next position."""
    return rows._replace(angles=rows.angles + standard_frequencies(16).double()), cache


def stale(rows, cache):
    """Every cached value is that of the preceding position."""
    return rows, cache._replace(values=tuple(values.roll(1, 1) for values in cache.values))


def mixed(rows, cache):
    """The coordinates of cached keys are shifted."""
    return rows, cache._replace(keys=tuple(keys.roll(1, -1) for keys in cache.keys))


@pytest.mark.parametrize("broken", [late, stale, mixed])
def test_broken_cache_changes_decoded_tokens(broken, monkeypatch: pytest.MonkeyPatch):
    bake = decoding.bake

    def bake_wrongly(model, rows, cache=None):
        return bake(model, *((rows, None) if cache is None else broken(rows, cache)))

    monkeypatch.setattr(decoding, "bake", bake_wrongly)
    assert min(check("decoding", draws=1)["decoding_mismatch"]) > 0.0
