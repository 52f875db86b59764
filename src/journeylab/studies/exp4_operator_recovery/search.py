"""The search of learning rates and initial scales of exp4, on pilot seeds.

``python tools/search_exp4.py TEXT`` prints the losses. They are kept here, because a study trains
with the chosen settings only.
"""

import pandas as pd

from journeylab.plotting import Table

SEEDS = (1000, 1001)
STEPS = 2000
CENTRE = (0.03, 0.5)
GRID = (CENTRE, (0.01, 0.5), (0.1, 0.5), (0.03, 0.25), (0.03, 1.0))
"""The points that every run is trained at: peak learning rate and initial scale."""
TIE = 0.005
"""A difference of losses that is too small to leave the centre: a quarter of the margins."""

Point = tuple[float, float]

SEARCH: dict[tuple[str, str], dict[Point, float]] = {}
"""Arm and variant → held-out loss after ``STEPS`` steps, mean over ``SEEDS``; some have points
beside the grid."""


def choose(losses: dict[Point, float]) -> Point:
    """The point with the smallest loss; the centre, if it is within ``TIE`` of it."""
    best = min(losses, key=lambda point: losses[point])
    return best if losses[CENTRE] - losses[best] > TIE else CENTRE


def tabulate_search(arms: dict[str, str], labels: dict[str, str]) -> Table:
    """The losses of every run, by point; the chosen one is marked."""
    extra = {point for losses in SEARCH.values() for point in losses} - set(GRID)
    points = sorted(extra | set(GRID))
    heads = [f"{rate:g}, {scale:g}" for rate, scale in points]
    rows = []
    for (arm, variant), losses in SEARCH.items():
        chosen = choose(losses)
        cells = [
            f"{losses[point]:.3f}" + (" *" if point == chosen else "") if point in losses else "–"
            for point in points
        ]
        rows.append([arms[arm], labels[variant], *cells])
    return Table(
        name="search",
        caption="Search of peak rate and initial scale (column heads): held-out loss.",
        frame=pd.DataFrame(rows, columns=["Operators", "Start", *heads]),
        notes=(
            f"Nats per character after {STEPS} steps, mean of two pilot seeds. All runs have the "
            "same grid, rates 0.01, 0.03 and 0.1 at scale 0.5 and scales 0.25 and 1 at rate 0.03; "
            "–: a point beside it that was not trained. *: the chosen point, with the smallest "
            f"loss, or rate 0.03 and scale 0.5 if they are within {TIE:g} of it."
        ),
        numeric=tuple(heads),
    )
