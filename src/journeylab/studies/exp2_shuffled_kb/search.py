"""The search of learning rates and initial scales of exp2, on pilot seed 1000.

``python tools/search_exp2.py`` prints the rows.

Four runs were searched (None: not tried); no revision uses them.
"""

SEEDS = (1000,)
STEPS = {"20": 3000, "50": 3000, "100": 4000, "relations": 6000}
POINTS = {
    "0.001": (0.001, 1.0),
    "0.003 × ½": (0.003, 0.5),
    "0.003": (0.003, 1.0),
    "0.003 × 2": (0.003, 2.0),
    "0.01": (0.01, 1.0),
    "0.03": (0.03, 1.0),
}
"""The grid: learning rate and initial scale, by printed name."""

SEARCH = {
    "M20-sorted/rope-integer": (0.8066, 0.9758, 0.9670, 0.1462, 0.9796, 0.8727),
    "M20-shuffled/rope-integer": (0.4284, 0.7157, 0.6862, 0.1203, 0.9760, 0.2696),
    "M20-sorted/cumulative": (0.9994, 1.0, 1.0, 0.5343, 0.9998, None),
    "M20-shuffled/cumulative": (1.0, 1.0, 1.0, 0.3202, 1.0, None),
}
"""Run → held-out accuracy in the order of training at the points of the grid."""
