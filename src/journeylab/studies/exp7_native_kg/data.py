"""One synthetic world per seed: a family tree of males, and a small geography.

Four generations of 4, 8, 9 and 9 people. The father of the i-th child of a generation is
``shuffled parents[i mod n]``, n the number of parents, so a father has one or two sons::

    4 → 8   every father has two sons       4 pairs of brothers
    8 → 9   one father has two sons         1 pair  of brothers
    9 → 9   every father has one son        none

A brother_of fact names *the other* son of one's father: five pairs, so 10 facts, and the relation
is functional. nephew_of = brother_of applied to one's father: all 9 people of the third generation
(each of their fathers has a brother) and the 2 of the fourth whose fathers are brothers, so 11.

A worked row: ``Bado grandson_of Mire`` follows from ``Bado son_of Kelu`` and ``Kelu son_of Mire``.
Base facts are always taught; a derived fact is taught in text (teaching), seen as a triple or in
the linearised rows only (transfer), or never seen (generalisation). Siblings share a derived fact,
so they share its split.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np
import pandas as pd

from journeylab.streams import Streams
from journeylab.studies.exp7_native_kg.language import CONSONANTS, VOWELS, sentence
from journeylab.studies.exp7_native_kg.settings import LINEARISED_TEMPLATES, TEMPLATES, Data, Job

COLUMNS = ("relation", "head", "tail", "head_type", "tail_type", "kind", "split")
BASE = {
    "son_of": ("person", "person"),
    "brother_of": ("person", "person"),
    "located_in": ("city", "country"),
    "lives_in": ("person", "city"),
}
DERIVED = {
    "grandson_of": ("person", "person"),
    "great_grandson_of": ("person", "person"),
    "nephew_of": ("person", "person"),
    "citizen_of": ("person", "country"),
}
TYPES = BASE | DERIVED
SYLLABLES = {"person": 2, "city": 3, "country": 3}
LETTERS = {kind: 2 * syllables for kind, syllables in SYLLABLES.items()}
"""Every name of a type has as many letters, so that rows are as long in every world."""

NAME_WIDTH = max(LETTERS.values())
"""The width of a slot: letters of the longest name."""

SENTENCE_LENGTH = 1 + max(
    len(sentence("x" * LETTERS[head], relation, "x" * LETTERS[tail], template))
    for relation, (head, tail) in TYPES.items()
    for template in TEMPLATES
)
"""Tokens of the longest sentence, BEGIN included."""

DOCUMENTED_COUNTS = {
    "son_of": 26,
    "brother_of": 10,
    "located_in": 10,
    "lives_in": 9,
    "grandson_of": 18,
    "great_grandson_of": 9,
    "nephew_of": 11,
    "citizen_of": 9,
}
"""Facts per relation in the world of the plan: 55 base, 47 derived."""

SPLITS = ("teaching", "transfer", "generalisation")


class Fact(NamedTuple):
    """Head and tail of a relation."""

    head: str
    relation: str
    tail: str


class Corpus(NamedTuple):
    """What one model trains on: sentences, linearised KG rows, and native triples."""

    text: tuple[str, ...]
    linearised: tuple[str, ...]
    triples: tuple[Fact, ...]


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """The facts of one seed's world with columns relation, head, tail, their types, kind, split.

    Raises AssertionError if a law of the world does not hold.
    """
    rng = streams.numpy("world")
    world = _world(data, rng)
    split = _split(world, data, rng)
    facts = pd.DataFrame(
        [
            {
                **fact._asdict(),
                "head_type": TYPES[relation][0],
                "tail_type": TYPES[relation][1],
                "kind": "base" if relation in BASE else "derived",
                "split": split.get(fact, "base"),
            }
            for relation, related in world.items()
            for fact in (Fact(head, relation, tail) for head, tail in related.items())
        ],
        columns=list(COLUMNS),
    )
    assert_lawful(facts, data)
    return facts


def entities(facts: pd.DataFrame) -> dict[str, str]:
    """Every entity and its type, in alphabetical order by type and name."""
    pairs = {*zip(facts["head"], facts["head_type"], strict=True)}
    pairs |= {*zip(facts["tail"], facts["tail_type"], strict=True)}
    return {name: kind for kind, name in sorted((kind, name) for name, kind in pairs)}


def facts_of(facts: pd.DataFrame, *splits: str) -> list[Fact]:
    """The facts of the given splits (``base`` or one of SPLITS), in the order of the table."""
    chosen = facts[facts["split"].isin(splits)]
    return [
        Fact(*row) for row in zip(chosen["head"], chosen["relation"], chosen["tail"], strict=True)
    ]


def training_rows(facts: pd.DataFrame, job: Job) -> Corpus:
    """The rows of one model; text is the same for all, KG facts add the transfer facts.

    Raises AssertionError if a fact leaks into rows that must not show it.
    """
    known = facts_of(facts, "base", "teaching")
    native = job.spec.kg == "native"
    kg = facts_of(facts, "base", "teaching", "transfer")
    rows = Corpus(
        text=tuple(sentence(*fact, template) for fact in known for template in TEMPLATES),
        linearised=tuple(
            sentence(*fact, template)
            for fact in kg
            for template in LINEARISED_TEMPLATES[job.linearisation]
        ),
        triples=tuple(kg) if native else (),
    )
    assert_no_leak(facts, rows)
    return rows


def assert_no_leak(facts: pd.DataFrame, rows: Corpus) -> None:
    """Refuse rows that show a fact they must not.

    A generalisation pair {head, tail} occurs in no row of any kind, under any relation and in
    either order; a transfer pair occurs in no text row.
    """
    text = _pairs(rows.text)
    everything = text | _pairs(rows.linearised)
    everything |= {frozenset((fact.head, fact.tail)) for fact in rows.triples}
    for fact in facts_of(facts, "generalisation"):
        assert frozenset((fact.head, fact.tail)) not in everything, f"{fact} occurs in training"
    for fact in facts_of(facts, "transfer"):
        assert frozenset((fact.head, fact.tail)) not in text, f"{fact} occurs in a text row"


def assert_lawful(facts: pd.DataFrame, data: Data) -> None:
    """Refuse a table that breaks a law of the world: relations, names, counts, splits."""
    assert not facts.duplicated(["relation", "head"]).any(), "a relation is not functional"
    assert not facts.duplicated(["head", "tail"]).any(), "two relations hold between one pair"
    known = entities(facts)
    sizes = {"person": sum(data.generations), "city": data.cities, "country": data.countries}
    assert pd.Series(known).value_counts().to_dict() == sizes, "an entity is missing"
    ordered = sorted(known)
    for name, following in pairwise(ordered):
        assert not following.startswith(name), f"{name} is a prefix of {following}"
    for name, kind in known.items():
        assert len(name) == LETTERS[kind], f"{name}: a {kind} has {LETTERS[kind]} letters"
    if data.generations == Data().generations and data.cities == Data().cities:
        counts = facts["relation"].value_counts().to_dict()
        assert counts == DOCUMENTED_COUNTS, f"unexpected numbers of facts: {counts}"
    father = {fact.head: fact.tail for fact in facts_of(facts, "base") if fact.relation == "son_of"}
    derived = facts[facts["kind"] == "derived"]
    family = derived["head"].map(father)
    splits = derived.groupby([derived["relation"], family])["split"].nunique()
    assert (splits == 1).all(), "siblings are split"
    shares = derived.groupby("relation")["split"].nunique()
    assert (shares == len(SPLITS)).all(), "a relation lacks a split"


def _world(data: Data, rng: np.random.Generator) -> dict[str, dict[str, str]]:
    used: list[str] = []
    people = [_names("person", size, rng, used) for size in data.generations]
    cities = _names("city", data.cities, rng, used)
    countries = _names("country", data.countries, rng, used)
    father: dict[str, str] = {}
    for parents, children in pairwise(people):
        shuffled = rng.permutation(parents).tolist()
        father |= {child: shuffled[i % len(parents)] for i, child in enumerate(children)}
    brother = {
        one: other
        for one in father
        for other in father
        if one != other and father[one] == father[other]
    }
    country = {city: countries[i % len(countries)] for i, city in enumerate(cities)}
    home = {person: cities[int(rng.integers(len(cities)))] for person in people[-1]}
    grandfather = _compose(father, father)
    return {
        "son_of": father,
        "brother_of": brother,
        "located_in": country,
        "lives_in": home,
        "grandson_of": grandfather,
        "great_grandson_of": _compose(father, grandfather),
        "nephew_of": _compose(father, brother),
        "citizen_of": _compose(home, country),
    }


def _compose(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    return {head: second[middle] for head, middle in first.items() if middle in second}


def _names(kind: str, count: int, rng: np.random.Generator, used: list[str]) -> list[str]:
    names: list[str] = []
    while len(names) < count:
        syllables = [
            str(rng.choice(list(CONSONANTS))) + str(rng.choice(list(VOWELS)))
            for _ in range(SYLLABLES[kind])
        ]
        name = "".join(syllables).capitalize()
        if not any(name.startswith(other) or other.startswith(name) for other in used):
            names.append(name)
            used.append(name)
    return names


def _split(
    world: Mapping[str, Mapping[str, str]], data: Data, rng: np.random.Generator
) -> dict[Fact, str]:
    father = world["son_of"]
    split: dict[Fact, str] = {}
    for relation in DERIVED:
        families: dict[str, list[Fact]] = defaultdict(list)
        for head, tail in world[relation].items():
            families[father[head]].append(Fact(head, relation, tail))
        count = len(world[relation])
        teaching, transfer = ceil(data.teaching * count), ceil(data.transfer * count)
        places = [teaching, transfer, count - teaching - transfer]
        for family in _largest_first(families.values(), rng):
            chosen = _draw_split(places, len(family), rng)
            places[chosen] -= len(family)
            split |= dict.fromkeys(family, SPLITS[chosen])
    return split


def _largest_first(
    families: Iterable[Sequence[Fact]], rng: np.random.Generator
) -> list[Sequence[Fact]]:
    listed = list(families)
    shuffled = [listed[i] for i in rng.permutation(len(listed))]
    return sorted(shuffled, key=len, reverse=True)


def _draw_split(places: Sequence[int], size: int, rng: np.random.Generator) -> int:
    """A split with room for ``size`` facts, in proportion to its free places."""
    room = np.array([free if free >= size else 0 for free in places], dtype=float)
    if not room.any():
        return int(np.argmax(places))
    return int(rng.choice(len(places), p=room / room.sum()))


def _pairs(sentences: Iterable[str]) -> set[frozenset[str]]:
    return {frozenset(re.findall(r"[A-Z][a-z]+", text)) for text in sentences}
