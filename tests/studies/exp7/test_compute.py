"""What is computed without training, floors, prompts and models."""

import pandas as pd
import pytest
import torch

from journeylab.claims.effects import Every
from journeylab.datasets.triples import COLUMNS
from journeylab.models import decoding
from journeylab.operators.journey import slot_angles
from journeylab.operators.rotary import standard_frequencies
from journeylab.streams import data_streams
from journeylab.studies.exp7_native_kg import compute as exp7
from journeylab.studies.exp7_native_kg.compute import best_split, compute, count, stored_scores
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.measure import generation_floors, unread
from journeylab.studies.exp7_native_kg.settings import (
    MODELS,
    Computation,
    Data,
    Job,
    Model,
    Training,
)

from ...made import registered

REGISTERED = {
    claim.effect.every.metric: claim.region
    for claim in registered().studies["exp7"].claims
    if isinstance(claim.effect, Every) and "quantity" not in claim.effect.every.at
}


def check(variant: str, **model: float) -> dict[str, list[float]]:
    sizes = {"draws": 1, "model": Model(d=16, **model)}
    table = compute(Computation(computed="algebra", variant=variant, **sizes), None)
    return {metric: rows["value"].tolist() for metric, rows in table.groupby("metric")}


def test_zero_slot_angles_have_no_effect_across_slots():
    assert max(check("slots", slot_scale=0.0)["slot_across_effect"]) == 0.0


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
    assert min(check(variant)[metric]) > REGISTERED[metric].high


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
    assert min(check("decoding")["decoding_mismatch"]) > 0.0


def world(*facts: tuple[str, str, str, str]) -> pd.DataFrame:
    """A table of (head, relation, tail, split)."""
    table = pd.DataFrame(facts, columns=["head", "relation", "tail", "split"])
    return table.reindex(columns=list(COLUMNS))


FAMILY = (
    ("Anna", "son_of", "Root", "base"),
    ("Bert", "son_of", "Root", "base"),
    ("Cora", "son_of", "Anna", "base"),
    ("Dora", "son_of", "Bert", "base"),
)


def test_the_guess_knows_the_relation_and_the_generation_but_not_the_head():
    likes = [
        ("Anna", "likes", "Xenia", "teaching"),
        ("Bert", "likes", "Xenia", "transfer"),
        ("Cora", "likes", "Yvo", "teaching"),
        ("Dora", "likes", "Yvo", "generalisation"),
    ]
    # of the taught facts, Anna's is that of Bert; Cora is alone, and Xenia is all that is left
    assert generation_floors(world(*FAMILY, *likes)) == {"T1": 0.5, "T2": 1.0, "T3": 1.0}
    other = [("Dora", "likes", "Xenia", "generalisation")]
    assert generation_floors(world(*FAMILY, *likes[:3], *other))["T3"] == 0.0


def test_equal_tails_count_once_and_other_relations_not_at_all():
    facts = [
        ("Anna", "likes", "Xenia", "teaching"),
        ("Bert", "likes", "Yvo", "teaching"),
        ("Emil", "son_of", "Root", "base"),
        ("Emil", "likes", "Yvo", "teaching"),
        ("Fred", "son_of", "Root", "base"),
        ("Fred", "likes", "Xenia", "generalisation"),
        ("Fred", "hates", "Zeno", "transfer"),
        ("Anna", "hates", "Xenia", "teaching"),
    ]
    floors = generation_floors(world(*FAMILY, *facts))
    assert floors["T3"] == 0.5
    assert floors["T2"] == 0.0


def test_a_world_of_the_study_has_the_floor_that_its_gates_name():
    floors = [
        generation_floors(generate(Data(), data_streams("exp7", "plan", seed)))
        for seed in range(1000, 1048)
    ]
    assert pd.DataFrame(floors).median()["T2"] == pytest.approx(0.13, abs=0.005)


def test_prompts_have_the_templates_that_a_model_has_not_read():
    read = {"A": (), "B": (1,), "B-all": (0, 1, 2)}
    rows = [
        ("hits@1", tier, "text", template, "all", value)
        for tier, first in (("T1", 0.0), ("T2", 0.1), ("T3", 0.4))
        for template, value in enumerate((first, first + 0.1, first + 0.2))
    ]
    rows += [("hits@1", "T2", "kg", None, "all", 1.0), ("perplexity", "T2", "text", 0, None, 9.0)]
    columns = ["metric", "tier", "format", "template", "candidates", "value"]
    tiers = pd.DataFrame(rows, columns=columns).astype({"template": "Int64"})
    expected = {"A": {"T2": 0.2, "T3": 0.5}, "B": {"T2": 0.2, "T3": 0.5}, "B-all": {"T3": 0.5}}
    tiers.loc[4, "value"] = 0.9  # template 1 at tier 2
    expected["A"]["T2"] = (0.1 + 0.9 + 0.3) / 3
    for variant in read:
        training = Training(steps=1, learning_rate=0.1)
        job = Job(variant=variant, data=Data(), model=Model(), training=training)
        means = unread(tiers, job)
        assert set(means["format"]) == {"unread"}
        assert means.set_index("tier")["value"].to_dict() == pytest.approx(expected[variant])


def test_only_native_models_read_no_sentence_of_a_transfer_fact():
    for name, (spec, templates) in MODELS.items():
        assert (spec.kg == "native") == (templates == ()), name
        job = Job(
            variant=name,
            data=Data(),
            model=Model(),
            training=Training(steps=1, learning_rate=0.1),
        )
        assert (job.spec, job.linearised_templates) == (spec, templates)


def test_primed_models_differ_in_value_aggregation_only():
    for name in ("A", "B", "C"):
        (plain, read), (prime, also) = MODELS[name], MODELS[f"{name}prime"]
        assert prime.values == "operator"
        assert (prime.model_copy(update={"values": plain.values}), also) == (plain, read)
