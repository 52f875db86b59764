"""The search of learning rates and initial scales of exp2, on a pilot seed.

``python tools/search_exp2.py`` prints the rows of the table. They are kept here, because a study
trains with the chosen settings only.
"""

from collections.abc import Mapping

SEEDS = (1000,)
STEPS = {"20": 3000, "50": 3000, "100": 4000, "relations": 6000}
TIE = 0.01
"""A difference of accuracy that is too small to leave the common setting."""
POINTS = {
    "0.001": (0.001, 1.0),
    "0.003 × ½": (0.003, 0.5),
    "0.003": (0.003, 1.0),
    "0.003 × 2": (0.003, 2.0),
    "0.01": (0.01, 1.0),
    "0.03": (0.03, 1.0),
}
"""The grid: learning rate and initial scale, by printed name."""
CENTRE = "0.003"

SEARCH: Mapping[str, tuple[float, ...]] = {
    "M100-sorted/rope": (0.9588, 1.0, 1.0, 0.0772, 1.0, 0.7567),
    "M100-shuffled/rope": (0.8638, 1.0, 1.0, 0.0648, 1.0, 0.5353),
    "M100-shuffled/position-free": (0.9266, 1.0, 1.0, 0.0828, 1.0, 0.6674),
    "M20-sorted/rope-integer": (0.8066, 0.9758, 0.9670, 0.1462, 0.9796, 0.8727),
    "M20-sorted/cumulative": (0.9994, 1.0, 1.0, 0.5343, 0.9998, 0.5739),
    "M20-shuffled/rope": (0.9993, 1.0, 1.0, 0.3425, 1.0, 0.9843),
    "M20-shuffled/rope-integer": (0.4284, 0.7157, 0.6862, 0.1203, 0.9760, 0.2696),
    "M20-shuffled/cumulative": (1.0, 1.0, 1.0, 0.3202, 1.0, 0.0971),
    "M20-shuffled/position-free": (0.9997, 1.0, 1.0, 0.5134, 1.0, 0.9946),
    "relations/untagged": (0.3308, 0.3367, 0.3366, 0.1986, 0.3367, 0.0978),
    "relations/operator": (1.0, 1.0, 1.0, 0.8017, 1.0, 0.9923),
}
"""Run → held-out accuracy in the order of training at the points of the grid."""
LONGER: Mapping[str, tuple[int, float]] = {
    "M20-sorted/rope-integer": (6000, 0.9891),
    "M20-shuffled/rope-integer": (6000, 1.0),
}
"""Run → a larger number of steps, and the accuracy with it at the chosen point."""


def choose(run: str) -> str:
    """The point of the highest accuracy, or the centre if that is within ``TIE`` of it."""
    accuracies = dict(zip(POINTS, SEARCH[run], strict=True))
    best = max(accuracies, key=accuracies.__getitem__)
    return best if accuracies[best] - accuracies[CENTRE] > TIE else CENTRE
