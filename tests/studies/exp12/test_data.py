from collections import Counter
from itertools import pairwise

import pytest

from journeylab.datasets.triples import HEAD, REL, TAIL, entities, facts_of
from journeylab.studies.exp12_native_kg_transfer.language import LETTERS, language_of
from journeylab.studies.exp12_native_kg_transfer.settings import Data

SHARES = (0.1, 0.3, 0.5, 0.7)


@pytest.mark.parametrize(("k", "sizes"), [(1, (30, 11, 6)), (3, (87, 30, 24))])
def test_family_world_is_k_times_as_large(draw, k, sizes):
    facts = draw(k=k)
    assert Counter(entities(facts).values()) == {"person": 30 * k, "city": 10 * k, "country": 5 * k}
    splits = facts["split"].value_counts()
    assert tuple(splits[["teaching", "transfer", "generalisation"]]) == sizes
    assert {len(name) for name in entities(facts)} == {LETTERS}


def test_bridged_share_grows_and_tested_facts_stay_the_same(draw):
    worlds = {share: draw(world="attributes", bridging=share) for share in SHARES}
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


def test_every_attribute_has_one_value_of_its_type_and_vocabularies_have_one_size(draw):
    sizes = set()
    for seed in range(1000, 1010):
        facts = draw(seed, world="attributes", k=1)
        assert not facts.duplicated(["head", "relation"]).any()
        assert facts.groupby("relation")["tail_type"].nunique().eq(1).all()
        assert not facts.duplicated(["head", "tail"]).any()
        sizes.add(len(entities(facts)))
    assert sizes == {30 + 3 * 5}


def test_values_are_uniform(draw):
    """Each of five values occurs in a fifth of 1020 draws, within four standard deviations."""
    counts = Counter()
    for seed in range(1000, 1034):
        facts = draw(seed, world="attributes", k=1)
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
def test_symbols_are_distinct_and_names_have_the_given_tokens(draw, world, tokens):
    names = list(entities(draw(world=world, k=1)))
    language = language_of(Data(world=world, k=1), tokens, names)
    assert len(set(language.symbols)) == len(language.symbols)
    for name in names:
        assert len(language.encode(name)) == tokens
