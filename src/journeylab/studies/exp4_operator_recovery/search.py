"""The search of learning rates and initial scales of exp4, on pilot seeds.

``python tools/search_exp4.py TEXT`` prints the losses. They are kept here, because a study trains
with the chosen settings only.
"""

import math

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

SEARCH: dict[tuple[str, str], dict[Point, float]] = {
    ("single-0", "near-identity"): {
        (0.01, 0.5): 2.2451,
        (0.03, 0.25): 2.2107,
        (0.03, 0.5): 2.2110,
        (0.03, 1.0): 2.2353,
        (0.1, 0.5): 2.2485,
    },
    ("positions-free", "near-identity"): {
        (0.01, 0.5): 2.2591,
        (0.03, 0.25): 2.2340,
        (0.03, 0.5): 2.2353,
        (0.03, 1.0): 2.2393,
        (0.1, 0.5): math.inf,
    },
    ("controls", "rope"): {
        (0.01, 0.5): 2.2240,
        (0.03, 0.25): 2.2126,
        (0.03, 0.5): 2.2111,
        (0.03, 1.0): 2.2324,
        (0.1, 0.5): 2.2383,
    },
    ("controls", "frozen"): {
        (0.01, 0.5): 2.2763,
        (0.03, 0.25): 2.2225,
        (0.03, 0.5): 2.2151,
        (0.03, 1.0): 2.2080,
        (0.03, 2.0): 2.2662,
        (0.1, 0.5): 2.2293,
    },
}
"""Arm and variant → held-out loss after ``STEPS`` steps, mean over ``SEEDS``.

The loss is infinite if a seed diverged. Runs under pressure are not here: no judged claim compares
them with a run without pressure, and they have its settings.

Where the best scale was at the edge of the grid, the next one was added. A first, coarser part of
the search had rate 0.003 and scale 2 for the fixed operators, and all pairs of the other rates and
scales for some runs; none of these points was better than the chosen one.
"""


def choose(losses: dict[Point, float]) -> Point:
    """The point with the smallest loss; the centre, if it is within ``TIE`` of it."""
    best = min(losses, key=lambda point: losses[point])
    return best if losses[CENTRE] - losses[best] > TIE else CENTRE


def _cell(loss: float) -> str:
    return "–" if math.isnan(loss) else "failed" if math.isinf(loss) else f"{loss:.3f}"


def tabulate_search(arms: dict[str, str], labels: dict[str, str]) -> Table:
    """The losses of every run, by point; the chosen one is marked."""
    extra = {point for losses in SEARCH.values() for point in losses} - set(GRID)
    points = sorted(extra | set(GRID))
    heads = [f"{rate:g}, {scale:g}" for rate, scale in points]
    rows = []
    for (arm, variant), losses in SEARCH.items():
        chosen = choose(losses)
        cells = [
            _cell(losses.get(point, math.nan)) + (" *" if point == chosen else "")
            for point in points
        ]
        rows.append([arms[arm], labels[variant], *cells])
    return Table(
        name="search",
        caption="Search of peak rate and initial scale (column heads): held-out loss.",
        frame=pd.DataFrame(rows, columns=["Operators", "Start", *heads]),
        notes=(
            f"Nats per character after {STEPS} steps, mean of two pilot seeds. The grid is the "
            "same for all: rates 0.01, 0.03 and 0.1 at scale 0.5, and scales 0.25 and 1 at rate "
            "0.03; where scale 1 was the best, scale 2 was added. –: not trained. failed: a seed "
            "diverged. *: the chosen point, with the smallest loss, or rate 0.03 and scale 0.5 if "
            f"they are within {TIE:g} of it. Runs under pressure were not searched and have the "
            "settings of the same operators without it."
        ),
        numeric=tuple(heads),
    )
