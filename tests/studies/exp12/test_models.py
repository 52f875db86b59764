"""Models and data of the study, and what is computed without training."""

from collections import Counter
from itertools import pairwise

import pytest
import torch

from journeylab.claims.effects import Every, cells
from journeylab.datasets.triples import HEAD, MASK, REL, TAIL, entities, facts_of
from journeylab.knowledge.settings import Model
from journeylab.studies.exp12_native_kg_transfer import compute as exp12
from journeylab.studies.exp12_native_kg_transfer.language import LETTERS, language_of
from journeylab.studies.exp12_native_kg_transfer.settings import Computation, Data

from ...made import registered
from .results import draw_world, make_problem


def test_tail_objective_masks_the_tail_only(draw_batch):
    problem = make_problem("A-tail", tokens=2)
    batch = draw_batch(problem)
    hidden = batch["kg_inputs"] == problem.language.identifiers[MASK]
    assert torch.equal(hidden, (problem.kg.parts[0] == TAIL).expand_as(hidden))
    assert torch.equal(batch["kg_weights"].bool(), hidden)


def test_both_readings_have_the_same_rows(draw_batch):
    problem, other = make_problem("A-plus-causal", tokens=4), make_problem("A", tokens=4)
    batch, masked = draw_batch(problem), draw_batch(other)
    assert all(torch.equal(batch[name], rows) for name, rows in masked.items())
    assert torch.equal(batch["causal_inputs"], batch["kg_targets"][:, :-1])
    assert torch.equal(batch["causal_targets"], batch["kg_targets"][:, 1:])


def test_causal_reading_adds_its_mean_loss(build, draw_batch):
    problem = make_problem("A-plus-causal", tokens=2, dropout=0.0)
    model = build(problem)
    batch = draw_batch(problem)
    alone = {name: rows for name, rows in batch.items() if not name.startswith("causal")}
    rows = model.causal_triples(batch["causal_inputs"])
    logits = model([rows])[0].flatten(0, 1)
    added = torch.nn.functional.cross_entropy(logits, batch["causal_targets"].flatten())
    expected = problem.loss(model, alone) + problem.job.training.kg_weight * added
    torch.testing.assert_close(problem.loss(model, batch), expected)
    seen_before = batch["causal_inputs"].clone()
    seen_before[:, -1] = 0
    changed = model([model.causal_triples(seen_before)])[0]
    torch.testing.assert_close(changed[:, :-1], model([rows])[0][:, :-1])


SHARES = (0.1, 0.3, 0.5, 0.7)


@pytest.mark.parametrize(("k", "sizes"), [(1, (30, 11, 6)), (3, (87, 30, 24))])
def test_family_world_is_k_times_as_large(k, sizes):
    facts = draw_world(k=k)
    assert Counter(entities(facts).values()) == {"person": 30 * k, "city": 10 * k, "country": 5 * k}
    splits = facts["split"].value_counts()
    assert tuple(splits[["teaching", "transfer", "generalisation"]]) == sizes
    assert {len(name) for name in entities(facts)} == {LETTERS}


def test_bridged_share_grows_and_tested_facts_stay_the_same():
    worlds = {share: draw_world(world="attributes", bridging=share) for share in SHARES}
    bridged = []
    for share, facts in worlds.items():
        assert len(facts) == 270
        assert (facts["split"] == "teaching").mean() == pytest.approx(share)
        assert facts.drop(columns="split").equals(worlds[0.1].drop(columns="split"))
        for tier, count in (("transfer", 54), ("generalisation", 27)):
            assert facts_of(facts, tier) == facts_of(worlds[0.1], tier)
            assert len(facts_of(facts, tier)) == count
        bridged.append(set(facts_of(facts, "teaching")))
    assert all(smaller < larger for smaller, larger in pairwise(bridged))


def test_every_attribute_has_one_value_of_its_type_and_vocabularies_have_one_size():
    sizes = set()
    for seed in range(1000, 1010):
        facts = draw_world(seed, world="attributes", k=1)
        assert not facts.duplicated(["head", "relation"]).any()
        assert facts.groupby("relation")["tail_type"].nunique().eq(1).all()
        assert not facts.duplicated(["head", "tail"]).any()
        sizes.add(len(entities(facts)))
    assert sizes == {30 + 3 * 5}


def test_values_are_uniform():
    """Each of five values occurs in a fifth of 1020 draws, within four standard deviations."""
    counts = Counter()
    for seed in range(1000, 1034):
        facts = draw_world(seed, world="attributes", k=1)
        towns = sorted(facts.loc[facts["relation"] == "born_in", "tail"].unique())
        counts.update(facts.loc[facts["relation"] == "born_in", "tail"].map(towns.index))
    total = sum(counts.values())
    assert all(abs(count / total - 0.2) < 4 * (0.16 / total) ** 0.5 for count in counts.values())


@pytest.mark.parametrize(
    ("tokens", "pieces"), [(1, ["Bado"]), (2, ["Ba", "·do"]), (4, ["B", "·a", "·d", "·o"])]
)
def test_name_has_the_given_number_of_tokens_and_a_word_has_one(tokens, pieces):
    language = language_of(Data(world="attributes"), tokens, ["Bado", "Mire"])
    read, parts = language.read("Bado pays his dues to Mire.")
    symbols = [language.symbols[token] for token in read]
    assert symbols[1 : 1 + tokens] == pieces
    assert symbols[1 + tokens : 5 + tokens] == ["pays", "his", "dues", "to"]
    assert symbols[-1] == "."
    assert parts == [-1, *[HEAD] * tokens, *[REL] * 4, *[TAIL] * tokens, REL]
    assert read[: 5 + tokens] == [0, *language.encode("Bado pays his dues to ")]


@pytest.mark.parametrize("world", ["family", "attributes"])
@pytest.mark.parametrize("tokens", [1, 2, 4])
def test_symbols_are_distinct_and_names_have_the_given_tokens(world, tokens):
    names = list(entities(draw_world(world=world, k=1)))
    language = language_of(Data(world=world, k=1), tokens, names)
    assert len(set(language.symbols)) == len(language.symbols)
    for name in names:
        assert len(language.encode(name)) == tokens


STUDY = registered().studies["exp12"]
EXACT = [claim for claim in STUDY.claims if isinstance(claim.effect, Every)]


def check(variant: str) -> dict[str, list[float]]:
    job = Computation(computed="certificates", variant=variant, draws=1, model=Model(d=16))
    table = exp12.compute(job, None)
    return {metric: rows["value"].tolist() for metric, rows in table.groupby("metric")}


def test_every_judged_model_has_a_gate():
    for claim in STUDY.claims:
        if claim.primary and claim not in EXACT:
            gated = {STUDY.gates[name].run for name in claim.gate}
            assert gated == {cell.run for cell in cells(claim.terms)}, claim.id


def test_unrotated_keys_exceed_the_tolerance(monkeypatch: pytest.MonkeyPatch):
    store = exp12.store

    def store_unrotated(model, entries, *rest, **more):
        return store(model, entries._replace(angles=entries.angles * 0.0), *rest, **more)

    monkeypatch.setattr(exp12, "store", store_unrotated)
    assert min(check("cache")["cache_error"]) > 1e-3


def test_worlds_that_differ_between_shares_are_detected(monkeypatch: pytest.MonkeyPatch):
    generate = exp12.generate

    def other_world(data, streams):
        return generate(
            data, type(streams)(streams.study, streams.seed + round(10 * data.bridging))
        )

    monkeypatch.setattr(exp12, "generate", other_world)
    assert min(check("splits")["moved"]) > 0
