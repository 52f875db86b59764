"""The search of learning rates and initial scales of exp2, on pilot seeds."""

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
