"""Tables of exp12, and the numbers of its prose that are no reductions of measurements."""

from typing import cast

from journeylab.knowledge.tables import PRIMARY, gate_of, hits_table, undertrained, worlds_per_seed
from journeylab.plotting import RunName, StudyResults, Table
from journeylab.studies.exp12_native_kg_transfer.settings import SPECS, Variant


def tabulate(results: StudyResults) -> dict[str, Table]:
    """hits@1 of every run by tier, in text and in the form of its KG rows."""
    return {"hits": hits_table(results, ("Arm", "Model"), _own_format)}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The gate, worlds of a seed, and undertrained runs."""
    return {"gate": gate_of(results), "worlds": worlds_per_seed(results), **undertrained(results)}


def _own_format(run: RunName) -> dict[str, str | int]:
    """The factor levels of the form in which a run read its KG facts."""
    if SPECS[cast(Variant, run[1])].kg == "native":
        return {"format": "kg", "candidates": "all"}
    return PRIMARY | {"template": 1}
