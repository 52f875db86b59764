"""The search of learning rates and initial scales of exp4, on pilot seeds.

``python tools/search_exp4.py TEXT`` prints the losses. They are kept here, because a study trains
with the chosen settings only. The best setting of a run has the smallest mean held-out loss.
"""

import pandas as pd

from journeylab.plotting import Table

SEEDS = (1000, 1001)
STEPS = 2000
RATES = (0.01, 0.03, 0.1)
SCALES = (0.25, 0.5, 1.0)

SEARCH: dict[tuple[str, str], tuple[tuple[float, ...], ...]] = {}
"""Printed run → mean held-out loss, one row for each rate and one column for each scale."""


def best(losses: tuple[tuple[float, ...], ...]) -> tuple[float, float]:
    """The rate and the initial scale with the smallest loss."""
    cells = {
        (rate, scale): loss
        for rate, row in zip(RATES, losses, strict=True)
        for scale, loss in zip(SCALES, row, strict=True)
    }
    return min(cells, key=lambda cell: cells[cell])


def tabulate_search() -> Table:
    """Every run and rate: the losses by initial scale, the chosen one marked."""
    rows = []
    for (arm, variant), losses in SEARCH.items():
        chosen = best(losses)
        for rate, row in zip(RATES, losses, strict=True):
            cells = [
                f"{loss:.3f}" + (" *" if (rate, scale) == chosen else "")
                for scale, loss in zip(SCALES, row, strict=True)
            ]
            rows.append([arm, variant, f"{rate:g}", *cells])
    heads = [f"Scale {scale:g}" for scale in SCALES]
    return Table(
        name="search",
        caption="Search of rate and initial scale: held-out loss, mean of two pilot seeds.",
        frame=pd.DataFrame(rows, columns=["Operators", "Start", "Rate", *heads]),
        notes=(
            f"After {STEPS} steps, nats per character. The grid and the seeds are the same for all "
            "runs. *: the smallest loss, the chosen setting."
        ),
        numeric=("Rate", *heads),
    )
