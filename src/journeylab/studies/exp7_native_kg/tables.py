"""Tables of exp7, and the numbers of its prose that are no reductions of measurements."""

import pandas as pd

from journeylab.knowledge.settings import LINEARISED_TEMPLATES
from journeylab.knowledge.tables import (
    PRIMARY,
    gate_of,
    hits_table,
    undertrained,
    world_size,
    worlds_per_seed,
)
from journeylab.plotting import RunName, StudyResults, Table
from journeylab.studies.exp7_native_kg.settings import DOCUMENTED, SPECS, Arm


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Documented and actual sizes, and hits@1 by tier."""
    return ({"counts": _tabulate_counts(results)} if len(results.select("count")) else {}) | {
        "hits": hits_table(results, ("Model", "KG rows"), lambda run: own_form(results, run))
    }


def _tabulate_counts(results: StudyResults) -> Table:
    """The documented sizes against those of a world with the documented generations."""
    counted = results.select("count").groupby("quantity")["value"].first()
    off = results.select("count_deviation").groupby("quantity")["value"].max()
    return Table(
        frame=pd.DataFrame(
            {
                "Quantity": list(DOCUMENTED),
                "Reviewer plan": [_print_size(*size) for size in DOCUMENTED.items()],
                "Here": [_print_size(name, counted[name]) for name in DOCUMENTED],
                "Deviation": [f"{100 * off[name]:.0f} %" for name in DOCUMENTED],
            }
        ),
        numeric=("Reviewer plan", "Here", "Deviation"),
    )


def _print_size(quantity: str, value: float) -> str:
    return f"{100 * value:.0f} %" if quantity.endswith("share") else f"{value:.0f}"


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The gate, worlds, the derived facts of one, and undertrained runs."""
    total, base = (world_size(results, name) for name in ("facts", "base facts"))
    measured = isinstance(total, int) and isinstance(base, int)
    return {
        "gate": gate_of(results),
        "worlds": worlds_per_seed(results),
        "facts.derived": int(total) - int(base) if measured else "n/a",
        **undertrained(results),
    }


def own_form(results: StudyResults, run: RunName) -> dict[str, str | int]:
    """The factor levels of the form in which a model read the transfer facts."""
    if SPECS[run[1]].kg == "native":
        return {"format": "kg", "candidates": "all"}
    arm = results.settings.arms[run[0]]
    assert isinstance(arm, Arm)
    return PRIMARY | {"template": LINEARISED_TEMPLATES[arm.linearisation][0]}
