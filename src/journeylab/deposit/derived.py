"""How the numbers of a report that no claim has follow from the measurements.

Most are queries of the report's prose (:mod:`journeylab.wording.queries`): their keys name metric,
levels and reduction. verify.py, which does not run a study's own code, computes these again, and
counts the others.
"""

from collections.abc import Mapping
from typing import Any

from journeylab.deposit.cells import Cells, agrees, derive
from journeylab.wording.queries import readings

_NO_FACTORS = {"study", "seed", "draw", "metric", "value"}


def derivations(table: Cells, numbers: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Metric, levels and reduction of each number that is found, by its key."""
    levels: dict[str, dict[str, dict[str, str]]] = {}
    for factor, cells in table.columns.items():
        if factor not in _NO_FACTORS:
            for metric, level in sorted(set(zip(table.columns["metric"], cells, strict=True))):
                known = levels.setdefault(metric, {}).setdefault(factor, {})
                if level:
                    known[level.removesuffix(".0")] = level
    derived = {}
    for key, stated in numbers.items():
        for query in readings(key.partition(".")[2], levels):
            of_metric = levels[query.metric]
            where = {name: [of_metric[name][x] for x in of] for name, of in query.where.items()}
            how = {"metric": query.metric, "where": where, "reduce": query.reduction}
            value = derive(table, how)
            if value is not None and agrees(stated, value):
                derived[key] = how
    return derived
