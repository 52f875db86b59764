"""What rows of the other tasks give away without their order or their pairs.

A model that has not learned a task can still know how often tokens occurred. These are floors of
accuracy, over the positions that are measured; :mod:`.ceilings` has those of word problems::

    parity, arithmetic   a constant answer
    flip-flop            the bit that was written most often so far; of equally many, either one
    associative          the most frequent value of the row
"""

import math

import numpy as np
from scipy.stats import binom

from journeylab.studies.exp13_published_mixers.settings import TaskName

# As in datasets.sequences and in tasks.py, which generate data: drawing does not load them, and the
# tests compare with drawn rows.
IGNORED = 0.8
MODULUS = 5
KEYS, VALUES = 32, 16


def floor(task: TaskName, length: int) -> float:
    """The floor on rows of ``length`` tokens. Raises ValueError for a word problem."""
    match task:
        case "parity":
            return 1 / 2
        case "arithmetic":
            return 1 / MODULUS
        case "flip-flop":
            return _most_written(length)
        case "associative":
            return _most_frequent(min(length // 4, KEYS))
    raise ValueError(f"{task}: the floor of a word problem is in ceilings.py")


def _most_written(length: int) -> float:
    """P(the last of k fair bits is their majority) = ½ + C(k − 1, ⌊(k − 1)/2⌋) / 2ᵏ, averaged.

    The instruction t is w for t = 0, else with probability (1 − IGNORED)/2, and reads are equally
    frequent at all t of the second half.
    """
    pairs = length // 2
    further = np.arange(pairs)  # writes beside the first
    right = [0.5 + math.comb(k, k // 2) / 2 ** (k + 1) for k in range(pairs)]
    reads = range(pairs // 2, pairs)
    written = [binom.pmf(further, t - 1, (1 - IGNORED) / 2) for t in reads]
    return float(np.mean(written, axis=0) @ right)


def _most_frequent(pairs: int) -> float:
    """E[max_v n_v] / pairs for counts n_v of ``pairs`` values that are uniform and independent.

    P(max ≤ m) = pairs! / VALUESᵖᵃⁱʳˢ · [zᵖᵃⁱʳˢ] (Σ_{j ≤ m} zʲ / j!)^VALUES.
    """
    below = 0.0
    for most in range(pairs):
        term = [1 / math.factorial(j) for j in range(most + 1)]
        power = np.ones(1)
        for _ in range(VALUES):
            power = np.convolve(power, term)[: pairs + 1]
        below += power[pairs] if len(power) > pairs else 0.0
    share = below * math.factorial(pairs) / VALUES**pairs
    return float(pairs - share) / pairs
