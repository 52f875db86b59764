"""Tables of exp12, and the numbers of its prose that are no reductions of measurements."""

from typing import cast

from journeylab import plotting as plot
from journeylab.knowledge.tables import PRIMARY, gate_of, hits_table, undertrained, worlds_per_seed
from journeylab.plotting import RunName, StudyResults, Table
from journeylab.studies.exp12_native_kg_transfer.settings import SPECS, Variant

_CHECKS = (
    *("cache_error", "cache_control", "order_error", "order_control"),
    *("leaks", "leak_control", "moved", "moved_control"),
)


def tabulate(results: StudyResults) -> dict[str, Table]:
    """hits@1 of every run by tier, in text and in the form of its KG rows; the search."""
    return {
        "hits": hits_table(results, ("Arm", "Model"), _own_format),
        "ranks": plot.medians(
            results,
            {
                "Tier 1": ("log_rank", PRIMARY | {"tier": "T1"}),
                "Tier 2": ("log_rank", PRIMARY | {"tier": "T2"}),
                "Tier 3": ("log_rank", PRIMARY | {"tier": "T3"}),
                "Floor": ("floor_marginal", {"tier": "T3"}),
            },
        ),
        "checks": plot.ranges(results, dict.fromkeys(_CHECKS, ())),
        "search": plot.tabulate_trials(results, __file__, "log rank"),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The gate, worlds of a seed, and undertrained runs."""
    return {"gate": gate_of(results), "worlds": worlds_per_seed(results), **undertrained(results)}


def _own_format(run: RunName) -> dict[str, str | int]:
    """The factor levels of the form in which a run read its KG facts."""
    if SPECS[cast(Variant, run[1])].kg == "native":
        return {"format": "kg", "candidates": "all"}
    return PRIMARY | {"template": 1}
