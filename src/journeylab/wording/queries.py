"""Numbers that a report's prose queries from the measurements.

``accuracy.A5.mamba3.max`` is the largest accuracy of the run A5/mamba3. A key begins with the
metric; levels of its factors follow, arms and variants among them, ``factor=level`` where two
factors have the level; values at several levels of a factor are pooled, and so are those of a
factor without any. The end is a reduction; without one it is the median. ``:`` and a form of print
may stand behind: ``#n("accuracy.A5.mamba3.max:2")`` has two decimals.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

_CITED = re.compile(r'\b(?:n\(|number\(report, )"([^":]+)(?::([^"]+))?"\)')
_REDUCTION = re.compile(r"^(.*)\.(max|min|median|size|count|(?:at-least|below|above)-[\w.-]+)$")
"""`size` is the median of absolute values; the last kinds count values, as `at-least-0.99`."""

Levels = Mapping[str, Collection[str]]
"""The levels of each factor, as text."""


def in_key(name: str) -> str:
    """A name as it stands in keys: “base facts” as base-facts, hits@1 as hits-1."""
    return "-".join(re.findall(r"[A-Za-z0-9_.]+", name))


class Query(NamedTuple):
    """A reduction of the values of a metric at some levels of factors, or at all."""

    metric: str
    where: Mapping[str, tuple[str, ...]]
    reduction: str


def cited(prose: str) -> dict[str, set[str]]:
    """The keys that the prose of a report writes out, and the forms in which it prints each."""
    found: dict[str, set[str]] = {}
    for key, form in _CITED.findall(prose):
        found.setdefault(key, set()).update([form] if form else [])
    return found


def readings(key: str, levels: Mapping[str, Levels]) -> list[Query]:
    """What a key can mean; ``levels`` are those of every metric."""
    found = _REDUCTION.match(key)
    key, reduction = found.groups() if found else (key, "median")
    queries = []
    for metric in levels:
        named = in_key(metric)
        if f"{key}.".startswith(f"{named}."):
            for where in _split(key[len(named) + 1 :], levels[metric]):
                query = Query(metric, where, reduction)
                queries += [query] * (query not in queries)
    return queries


def _split(rest: str, levels: Levels) -> Iterator[dict[str, tuple[str, ...]]]:
    """Every way to read a text as levels with dots between them."""
    if not rest:
        yield {}
    for factor, known in levels.items():
        for level in known:
            for text in (in_key(level), f"{factor}={in_key(level)}"):
                if f"{rest}.".startswith(f"{text}."):
                    for others in _split(rest[len(text) + 1 :], levels):
                        yield {**others, factor: tuple(sorted({level, *others.get(factor, ())}))}
