"""Tables of exp7, and the numbers of its prose that are no reductions of measurements."""

from journeylab.knowledge.tables import undertrained, worlds_per_seed
from journeylab.plotting import StudyResults, Table, table
from journeylab.studies.exp7_native_kg.settings import DOCUMENTED


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Documented and actual sizes."""
    return {"counts": _tabulate_counts(results)} if len(results.select("count")) else {}


def _tabulate_counts(results: StudyResults) -> Table:
    """The documented sizes against those of a world with the documented generations."""
    counted = results.select("count").groupby("quantity")["value"].first()
    off = results.select("count_deviation").groupby("quantity")["value"].max()
    rows = [
        {"Quantity": name, "Reviewer plan": _print_size(name, size)}
        | {"Here": _print_size(name, counted[name]), "Deviation": f"{100 * off[name]:.0f} %"}
        for name, size in DOCUMENTED.items()
    ]
    return table(rows)


def _print_size(quantity: str, value: float) -> str:
    return f"{100 * value:.0f} %" if quantity.endswith("share") else f"{value:.0f}"


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Worlds, the derived facts of the documented one, and undertrained runs."""
    total, base = (
        results.anchor("world_size", arm="characters", quantity=quantity)
        for quantity in ("facts", "base facts")
    )
    return {
        "worlds": worlds_per_seed(results),
        "facts.derived": round(total - base) if total and base else "n/a",
        **undertrained(results),
    }
