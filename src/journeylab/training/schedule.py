"""The learning rate as a function of the step."""

from __future__ import annotations

import math


def learning_rate(step: int, *, peak: float, warmup: int, steps: int) -> float:
    """Return the rate of step 1 … `steps`: linear warm-up to `peak`, then half a cosine to 0.

    η(t) = peak · t / warmup for t ≤ warmup, and
    η(t) = peak · ½(1 + cos π(t − warmup)/(steps + 1 − warmup)) after it. The rate would reach 0 one
    step after the last, so it is positive at every step. Raises ValueError for a step outside the
    budget.
    """
    if not 1 <= step <= steps:
        raise ValueError(f"step {step} is outside the budget 1 … {steps}")
    if step <= warmup:
        return peak * step / warmup
    return peak * 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / (steps + 1 - warmup)))
