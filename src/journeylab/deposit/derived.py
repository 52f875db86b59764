"""How the numbers of a report that no claim has follow from the measurements.

A study computes them in its own code, which verify.py does not run. Most are a reduction, such as
the maximum, of the values of a metric at some levels of its factors, and their keys name metric,
levels and reduction: ``exp5.identity_error.max`` is over all levels. verify.py computes again what
is derived here, and counts the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

from journeylab.deposit.cells import REDUCTIONS, Cells, agrees, derive

_NO_FACTORS = {"study", "seed", "draw", "metric", "value"}


def derivations(
    table: Cells, numbers: Mapping[str, Any]
) -> dict[str, dict[str, str | dict[str, str]]]:
    """Metric, levels and reduction of each number that is found, by its key."""
    derived = {}
    columns = {name: set(cells) for name, cells in table.columns.items()}
    for key, stated in numbers.items():
        for how in _candidates(columns, key.partition(".")[2]):
            value = derive(table, how)
            if value is not None and agrees(stated, value):
                derived[key] = how
                break
    return derived


def _candidates(columns: Mapping[str, set[Any]], key: str) -> Iterator[dict[str, Any]]:
    """What a key may stand for: all levels that it names, then fewer.

    ``columns`` holds the levels of every factor.
    """
    reductions = sorted(REDUCTIONS, key=lambda name: not key.endswith(f".{name}"))
    for metric in sorted(filter(lambda name: _names(key, name), columns["metric"]), key=len)[::-1]:
        rest = re.sub(rf"(^|\.){re.escape(metric)}(?=\.|$)", "", key, count=1)
        named = {
            factor: sorted(level for level in levels if level and _names(rest, level))
            for factor, levels in columns.items()
            if factor not in _NO_FACTORS
        }
        factors = [factor for factor, levels in named.items() if levels]
        for size in range(len(factors), -1, -1):
            for some in combinations(factors, size):
                for levels in product(*(named[factor] for factor in some)):
                    where = dict(zip(some, levels, strict=True))
                    for reduction in reductions:
                        yield {"metric": metric, "where": where, "reduce": reduction}


def _names(key: str, text: str) -> bool:
    return f".{text}." in f".{key}."
