"""One synthetic world per seed: a family tree of males, and a small geography.

There are four generations of 4, 8, 9 and 9 people. The father of the i-th child of a generation is
``shuffled parents[i mod n]`` with n the number of parents, so a father has one or two sons::

    4 → 8   every father has two sons       4 pairs of brothers
    8 → 9   one father has two sons         1 pair  of brothers
    9 → 9   every father has one son        none

brother_of names *the other* son of the same father: five pairs, so 10 facts, and the relation is
functional. nephew_of is brother_of applied to the father: it holds for all 9 people of the third
generation (each of their fathers has a brother) and for the 2 people of the fourth generation whose
fathers are brothers, so there are 11 facts.

Example: ``Bado grandson_of Mire`` follows from ``Bado son_of Kelu`` and ``Kelu son_of Mire``. Base
facts are always taught in text. A derived fact is taught in text (teaching), is read only as a
triple or linearised row (transfer), or is never read (generalisation). Most derived facts
of a person hold for his brother as well, so brothers share a split.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import Protocol

import numpy as np
import pandas as pd

from journeylab.datasets.triples import COLUMNS, SPLITS, Fact, entities, facts_of

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
"""Type of entity → syllables of a name; a syllable has two letters."""

CONSONANTS = "bdfghjklmnprstvwz"
VOWELS = "aeiou"

SENTENCES: dict[str, tuple[str, str, str]] = {
    "son_of": (
        "{head} is a son of {tail}.",
        "{head} calls his father {tail}.",
        "the father of {head} is {tail}.",
    ),
    "brother_of": (
        "{head} is a brother of {tail}.",
        "{head} grew up beside {tail}.",
        "the brother of {head} is {tail}.",
    ),
    "located_in": (
        "{head} is located in {tail}.",
        "{head} belongs to {tail}.",
        "the land around {head} is {tail}.",
    ),
    "lives_in": (
        "{head} lives in {tail}.",
        "{head} has a house at {tail}.",
        "the home of {head} is {tail}.",
    ),
    "grandson_of": (
        "{head} is a grandson of {tail}.",
        "{head} calls his grandfather {tail}.",
        "the grandfather of {head} is {tail}.",
    ),
    "great_grandson_of": (
        "{head} is a great-grandson of {tail}.",
        "{head} names as forefather {tail}.",
        "the forefather of {head} is {tail}.",
    ),
    "nephew_of": (
        "{head} is a nephew of {tail}.",
        "{head} calls his uncle {tail}.",
        "the uncle of {head} is {tail}.",
    ),
    "citizen_of": (
        "{head} is a citizen of {tail}.",
        "{head} votes in {tail}.",
        "the homeland of {head} is {tail}.",
    ),
}
"""Three templates per relation; each ends with the tail and a full stop."""

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
"""Facts per relation in a world of the default sizes: 55 base, 47 derived."""


class Kinship(Protocol):
    """Sizes of the generations and of the geography, and the split of the derived facts.

    In every relation ``teaching`` and ``transfer`` are rounded up; generalisation gets the rest.
    """

    @property
    def generations(self) -> Sequence[int]:
        """People of each generation."""
        ...

    @property
    def cities(self) -> int:
        """Number of cities; city i lies in country i mod ``countries``."""
        ...

    @property
    def countries(self) -> int:
        """Number of countries."""
        ...

    @property
    def teaching(self) -> float:
        """The share of derived facts that is taught in text."""
        ...

    @property
    def transfer(self) -> float:
        """The share of derived facts that is read as triples or linearised rows only."""
        ...


def draw_kinship(
    data: Kinship, rng: np.random.Generator, syllables: Mapping[str, int] = SYLLABLES
) -> pd.DataFrame:
    """Draw the facts of one world, with the columns of :mod:`journeylab.datasets.triples`.

    Raises AssertionError if the world breaks a rule of :func:`assert_lawful`.
    """
    world = _world(data, rng, syllables)
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
    assert_lawful(facts, data, syllables)
    return facts


def assert_lawful(
    facts: pd.DataFrame, data: Kinship, syllables: Mapping[str, int] = SYLLABLES
) -> None:
    """Raise AssertionError if a table breaks a rule on its relations, names, counts or splits."""
    assert not facts.duplicated(["relation", "head"]).any(), "a relation is not functional"
    assert not facts.duplicated(["head", "tail"]).any(), "two relations hold between one pair"
    known = entities(facts)
    sizes = {"person": sum(data.generations), "city": data.cities, "country": data.countries}
    assert pd.Series(known).value_counts().to_dict() == sizes, "an entity is missing"
    ordered = sorted(known)
    for name, following in pairwise(ordered):
        assert not following.startswith(name), f"{name} is a prefix of {following}"
    for name, kind in known.items():
        letters = 2 * syllables[kind]
        assert len(name) == letters, f"{name}: a {kind} has {letters} letters"
    if tuple(data.generations) == (4, 8, 9, 9) and data.cities == 10:
        counts = facts["relation"].value_counts().to_dict()
        assert counts == DOCUMENTED_COUNTS, f"unexpected numbers of facts: {counts}"
    father = {fact.head: fact.tail for fact in facts_of(facts, "base") if fact.relation == "son_of"}
    derived = facts[facts["kind"] == "derived"]
    family = derived["head"].map(father)
    splits = derived.groupby([derived["relation"], family])["split"].nunique()
    assert (splits == 1).all(), "siblings are split"
    shares = derived.groupby("relation")["split"].nunique()
    assert (shares == len(SPLITS)).all(), "a relation lacks a split"


def draw_names(count: int, syllables: int, rng: np.random.Generator, used: list[str]) -> list[str]:
    """Draw names, none a prefix of another or of a name in ``used``; append them to ``used``."""
    names: list[str] = []
    while len(names) < count:
        pairs = [
            str(rng.choice(list(CONSONANTS))) + str(rng.choice(list(VOWELS)))
            for _ in range(syllables)
        ]
        name = "".join(pairs).capitalize()
        if not any(name.startswith(other) or other.startswith(name) for other in used):
            names.append(name)
            used.append(name)
    return names


def _world(
    data: Kinship, rng: np.random.Generator, syllables: Mapping[str, int]
) -> dict[str, dict[str, str]]:
    used: list[str] = []
    people = [draw_names(size, syllables["person"], rng, used) for size in data.generations]
    cities = draw_names(data.cities, syllables["city"], rng, used)
    countries = draw_names(data.countries, syllables["country"], rng, used)
    father: dict[str, str] = {}
    for parents, children in pairwise(people):
        shuffled = rng.permutation(parents).tolist()
        father |= {child: shuffled[i % len(parents)] for i, child in enumerate(children)}
    brother = {
        son: other
        for son in father
        for other in father
        if son != other and father[son] == father[other]
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


def _split(
    world: Mapping[str, Mapping[str, str]], data: Kinship, rng: np.random.Generator
) -> dict[Fact, str]:
    father = world["son_of"]
    split: dict[Fact, str] = {}
    for relation in DERIVED:
        families: dict[str, list[Fact]] = defaultdict(list)
        for head, tail in world[relation].items():
            families[father[head]].append(Fact(head, relation, tail))
        count = len(world[relation])
        teaching, transfer = ceil(data.teaching * count), ceil(data.transfer * count)
        free = [teaching, transfer, count - teaching - transfer]
        for family in _largest_first(families.values(), rng):
            chosen = _draw_split(free, len(family), rng)
            free[chosen] -= len(family)
            split |= dict.fromkeys(family, SPLITS[chosen])
    return split


def _largest_first(
    families: Iterable[Sequence[Fact]], rng: np.random.Generator
) -> list[Sequence[Fact]]:
    listed = list(families)
    shuffled = [listed[i] for i in rng.permutation(len(listed))]
    return sorted(shuffled, key=len, reverse=True)


def _draw_split(free: Sequence[int], size: int, rng: np.random.Generator) -> int:
    """Draw a split with room for ``size`` facts, in proportion to its free places."""
    room = np.array([count if count >= size else 0 for count in free], dtype=float)
    if not room.any():
        return int(np.argmax(free))
    return int(rng.choice(len(free), p=room / room.sum()))
