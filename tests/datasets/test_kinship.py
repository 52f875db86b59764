from collections import Counter

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeylab.datasets.kinship import DOCUMENTED_COUNTS, SENTENCES, assert_lawful
from journeylab.datasets.triples import (
    Corpus,
    Fact,
    assert_no_leak,
    entities,
    facts_of,
    write_corpus,
)
from journeylab.knowledge.settings import LINEARISED_TEMPLATES
from journeylab.studies.exp7_native_kg.language import ENGLISH, RELATIONS
from journeylab.studies.exp7_native_kg.settings import Data

from ..knowledge.conftest import draw

SEEDS = st.integers(min_value=0, max_value=10**6)


@pytest.fixture(scope="module")
def facts():
    return draw(Data(), 1000)


def written(facts, linearisation="none"):
    """The rows of a native model, or of a model of linearised triples."""
    linearised = LINEARISED_TEMPLATES[linearisation]
    return write_corpus(facts, ENGLISH, linearised=linearised, native=not linearised)


@settings(max_examples=60)
@given(SEEDS)
def test_every_world_has_the_documented_facts_and_longest_sentence(seed: int):
    facts = draw(Data(), seed)
    assert facts["relation"].value_counts().to_dict() == DOCUMENTED_COUNTS
    splits = facts["split"].value_counts().to_dict()
    assert splits == {"base": 55, "teaching": 30, "transfer": 11, "generalisation": 6}
    assert Counter(entities(facts).values()) == {"person": 30, "city": 10, "country": 5}
    known = facts_of(facts, "base", "teaching", "transfer", "generalisation")
    assert max(map(len, entities(facts))) == 6
    assert max(len(ENGLISH.sentence(*fact, t)) for fact in known for t in range(3)) == 33


@settings(max_examples=40)
@given(SEEDS)
def test_derived_facts_follow_from_base_facts_and_are_complete(seed: int):
    facts = draw(Data(), seed)
    tail = {(f.relation, f.head): f.tail for f in facts_of(facts, "base")}
    derived = set(facts_of(facts, "teaching", "transfer", "generalisation"))

    def follow(head: str, *path: str) -> str | None:
        for relation in path:
            head = tail.get((relation, head), "")
        return head or None

    paths = {
        "grandson_of": ("son_of", "son_of"),
        "great_grandson_of": ("son_of", "son_of", "son_of"),
        "nephew_of": ("son_of", "brother_of"),
        "citizen_of": ("lives_in", "located_in"),
    }
    expected = {
        Fact(head, relation, end)
        for relation, path in paths.items()
        for head in entities(facts)
        if (end := follow(head, *path))
    }
    assert derived == expected


@settings(max_examples=40)
@given(SEEDS)
def test_brothers_are_mutual_and_share_a_father(seed: int):
    base = facts_of(draw(Data(), seed), "base")
    father = {f.head: f.tail for f in base if f.relation == "son_of"}
    brothers = {(f.head, f.tail) for f in base if f.relation == "brother_of"}
    assert brothers == {(b, a) for a, b in brothers}
    assert all(a != b and father[a] == father[b] for a, b in brothers)


def test_worlds_of_other_sizes_are_lawful():
    data = Data(generations=(3, 5, 8, 12), cities=7, countries=3)
    facts = draw(data, 3)
    assert facts["relation"].value_counts()["son_of"] == 25


def test_every_sentence_ends_with_its_tail():
    for relation in RELATIONS:
        for template in range(3):
            whole = ENGLISH.sentence("Bado", relation, "Mirelo", template)
            assert whole == ENGLISH.prompt("Bado", relation, template) + "Mirelo."
            assert whole.index("Bado") < whole.index("Mirelo")
    forms = [form for forms in SENTENCES.values() for form in forms]
    assert len(set(forms)) == len(forms)


@pytest.mark.parametrize(
    ("linearisation", "linearised", "triples"),
    [("none", 0, 96), ("all", 288, 0), ("held", 96, 0), ("same", 96, 0)],
)
def test_rows_of_each_arm_are_allowed_facts(facts, linearisation, linearised, triples):
    rows = written(facts, linearisation)
    assert (len(rows.text), len(rows.linearised), len(rows.triples)) == (255, linearised, triples)
    assert rows.text == written(facts).text
    shown = facts_of(facts, "base", "teaching", "transfer")
    assert set(rows.triples) <= set(shown)
    assert set(rows.linearised) <= {ENGLISH.sentence(*fact, t) for fact in shown for t in (0, 1, 2)}


def test_held_and_same_show_transfer_facts_in_one_template_each(facts):
    for linearisation, template in (("held", 1), ("same", 0)):
        rows = written(facts, linearisation)
        for fact in facts_of(facts, "transfer"):
            seen = [
                t for t in range(3) if ENGLISH.sentence(*fact, t) in {*rows.text, *rows.linearised}
            ]
            assert seen == [template]


@pytest.mark.parametrize("kind", ["text", "linearised", "triples"])
@pytest.mark.parametrize("reversed_", [False, True])
def test_generalisation_fact_in_any_row_is_a_leak(facts, kind, reversed_):
    fact = facts_of(facts, "generalisation")[0]
    if reversed_:
        fact = Fact(fact.tail, "son_of", fact.head)
    rows = written(facts)
    shown = fact if kind == "triples" else ENGLISH.sentence(*fact, 2)
    with pytest.raises(AssertionError, match="occurs in training"):
        assert_no_leak(facts, rows._replace(**{kind: (*getattr(rows, kind), shown)}))


def test_transfer_fact_is_a_leak_in_text_rows_only(facts):
    fact = facts_of(facts, "transfer")[0]
    rows = written(facts)
    assert fact in rows.triples
    with pytest.raises(AssertionError, match="text row"):
        assert_no_leak(facts, rows._replace(text=(*rows.text, ENGLISH.sentence(*fact, 1))))
    assert_no_leak(facts, Corpus(rows.text, (ENGLISH.sentence(*fact, 1),), ()))


def test_tables_that_break_a_rule_are_rejected(facts):
    data = Data()
    with pytest.raises(AssertionError, match="functional"):
        assert_lawful(pd.concat([facts, facts.iloc[:1]]), data)
    with pytest.raises(AssertionError, match="numbers of facts"):
        assert_lawful(facts[facts.index != facts.index[facts["relation"] == "brother_of"][0]], data)
    renamed = facts.copy()
    first, second = list(entities(facts))[-2:]
    renamed[["head", "tail"]] = renamed[["head", "tail"]].replace({second: first + "x"})
    with pytest.raises(AssertionError, match="prefix"):
        assert_lawful(renamed, data)
    longer = facts.copy()
    longer[["head", "tail"]] = longer[["head", "tail"]].replace({second: second + "x"})
    with pytest.raises(AssertionError, match=f"{second}x: a person has 4 letters"):
        assert_lawful(longer, data)
    siblings = facts[(facts["relation"] == "grandson_of")]
    father = {f.head: f.tail for f in facts_of(facts, "base") if f.relation == "son_of"}
    pair = siblings["head"].map(father).duplicated(keep=False)
    chosen = siblings.index[pair][0]
    torn = facts.copy()
    others = {"teaching": "transfer", "transfer": "teaching", "generalisation": "teaching"}
    torn.loc[chosen, "split"] = others[torn.loc[chosen, "split"]]
    with pytest.raises(AssertionError, match="siblings"):
        assert_lawful(torn, data)
