"""Small results of exp3."""

import pandas as pd

from journeylab.plotting import StudyResults
from journeylab.studies.exp3_order_information import settings as own

from ..gathering import computed, gather, untrained

RUNS = {"C2-d4": ("sum", "standard"), "C2-d16": ("standard",)}


def enumerate_sets() -> list[pd.DataFrame]:
    """The enumeration of every set of frequencies."""
    sizes = {"draws": 1, "lengths": (8, 16), "strings": 2**16}
    return [*computed("exp3", "enumeration", own.SETS, **sizes)]


def make_results() -> StudyResults:
    """Untrained probes of two seeds, invented curves and a small enumeration."""
    off = {"enabled": False}
    arms = {
        "C2-d4": own.Arm(colours=2, d=4, variants={"sum": {}, "mean": off, "standard": {}}),
        "C2-d16": own.Arm(colours=2, d=16, variants={"sum": off, "standard": {}}),
        "C3-d4": own.Arm(colours=3, d=4, enabled=False, variants={"sum": {}}),
        "C4-d4": own.Arm(colours=4, d=4, enabled=False, variants={"sum": {}}),
    }
    settings = own.Settings(
        arms=arms,
        datasets={"strings": own.Data(held_out=20, seen=20)},
        model=own.Model(hidden=8),
        training=own.Training(steps=2, learning_rate=0.1),
    )
    tables, curves = untrained("exp3", settings, range(2), own.Evaluation())
    return gather("exp3", settings, [*enumerate_sets(), *tables], curves)
