"""The search for initial scale and rate of the routers, as ``tools/search_exp9.py`` makes it.

The first grid has one start per pilot seed. Where the chosen setting had no neighbour within 0.01,
chance may have chosen it: a second grid with three starts per pilot was added, and decides where it
contains the first choice. Estimators that only secondary rows compare have no second grid.
"""

import math
from collections.abc import Sequence

from journeylab.studies.exp9_router_gradients.settings import Trained

Errors = tuple[tuple[float, ...], ...]

PILOTS = (1000, 1001)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1)
SCALES = (0.1, 0.5, 2.0)
AGAIN = ((0.003, 0.1, 0.3), (0.5, 2.0))
"""Rates and scales of the second grid."""
LAST = 5
"""The error is the mean over this many steps, spread over the last fifth of the training."""
CLOSE = 0.001
"""Errors this close to the lowest are equal; of these settings, the most central is chosen."""
CENTRE = (0.5, 0.01)
"""The centre of the grid: scale and rate."""

SEARCH: dict[Trained, Errors] = {
    "straight-through": (
        (0.2251, 0.2318, 0.2422, 0.2353, 0.2230),
        (0.2137, 0.2224, 0.2269, 0.2266, 0.2052),
        (0.2298, 0.2267, 0.2345, 0.2229, 0.2311),
    ),
    "gumbel-1": (
        (0.2030, 0.2020, 0.2025, 0.2029, 0.2159),
        (0.1822, 0.2014, 0.1935, 0.2032, 0.2228),
        (0.1572, 0.2104, 0.2040, 0.2037, 0.2152),
    ),
    "gumbel-0.5": (
        (0.2014, 0.2023, 0.1639, 0.1346, 0.1109),
        (0.1382, 0.1383, 0.1527, 0.1098, 0.1115),
        (0.1539, 0.1113, 0.1093, 0.1100, 0.1115),
    ),
    "gumbel-0.1": (
        (0.1613, 0.1137, 0.1100, 0.1099, 0.1117),
        (0.1530, 0.1138, 0.1095, 0.1094, 0.1477),
        (0.1619, 0.1502, 0.1458, 0.1104, 0.1468),
    ),
    "annealing": (
        (0.2138, 0.2242, 0.2363, 0.2402, 0.1133),
        (0.2330, 0.2247, 0.2152, 0.2246, 0.1150),
        (0.1529, 0.1094, 0.2355, 0.2188, 0.1130),
    ),
    "annealing-10": (
        (0.2185, 0.2182, 0.2236, 0.2253, 0.2221),
        (0.2279, 0.2051, 0.2140, 0.2343, 0.2083),
        (0.1545, 0.1475, 0.2288, 0.2246, 0.2316),
    ),
    "annealing-100": (
        (0.2263, 0.2223, 0.1656, 0.1104, 0.1105),
        (0.1830, 0.2198, 0.1437, 0.1099, 0.1095),
        (0.1497, 0.1093, 0.1870, 0.1102, 0.1110),
    ),
    "annealing-noisy": (
        (0.1922, 0.1844, 0.1097, 0.1097, 0.1114),
        (0.1311, 0.1376, 0.1486, 0.1097, 0.1110),
        (0.1559, 0.1162, 0.1094, 0.1095, 0.1106),
    ),
    "soft": (
        (0.1097, 0.1100, 0.1097, 0.1098, 0.1103),
        (0.1114, 0.1096, 0.1097, 0.1099, 0.1103),
        (0.1251, 0.1096, 0.1096, 0.1100, 0.1103),
    ),
    "reinforce": (
        (0.1412, 0.1126, 0.1106, 0.1098, 0.1101),
        (0.1462, 0.1105, 0.1099, 0.1101, 0.1099),
        (0.1601, 0.1437, 0.1099, 0.1101, 0.1096),
    ),
    "straight-through-sampled": (
        (0.2106, 0.2113, 0.2080, 0.2049, 0.2220),
        (0.1920, 0.2105, 0.2095, 0.2029, 0.2310),
        (0.1609, 0.2039, 0.2072, 0.2144, 0.2197),
    ),
    "straight-through-balanced": (
        (0.2084, 0.2376, 0.2208, 0.2273, 0.2302),
        (0.2379, 0.2315, 0.2239, 0.2328, 0.2335),
        (0.2204, 0.2215, 0.2303, 0.2397, 0.2306),
    ),
    "three-phase": (
        (0.2234, 0.2316, 0.1651, 0.1095, 0.1107),
        (0.1992, 0.2149, 0.1476, 0.1101, 0.1107),
        (0.1499, 0.1097, 0.1363, 0.1105, 0.1114),
    ),
    "reinforce-literal": (
        (0.1592, 0.1724, 0.1099, 0.1095, 0.1115),
        (0.1443, 0.1114, 0.1106, 0.1098, 0.1102),
        (0.1595, 0.1314, 0.1104, 0.1101, 0.1109),
    ),
    "rloo": (
        (0.1102, 0.1096, 0.1453, 0.1095, 0.1092),
        (0.1147, 0.1094, 0.1100, 0.1095, 0.1092),
        (0.1490, 0.1102, 0.1094, 0.1098, 0.1090),
    ),
    "reinmax": (
        (0.1134, 0.1101, 0.1101, 0.1101, 0.1482),
        (0.1301, 0.1108, 0.1101, 0.1102, 0.1106),
        (0.1547, 0.1473, 0.1454, 0.1442, 0.1448),
    ),
}
"""Hard validation errors of the first grid by estimator; a row is a scale, a column a rate."""
SECOND: dict[Trained, Errors] = {
    "straight-through": (
        (0.2408, 0.2264, 0.2295),
        (0.2308, 0.2153, 0.2304),
    ),
    "gumbel-1": (
        (0.2114, 0.2060, 0.2070),
        (0.2108, 0.2001, 0.2081),
    ),
    "annealing": (
        (0.2360, 0.1135, 0.1137),
        (0.1809, 0.1197, 0.1157),
    ),
}
"""The same of the second grid."""


def decided_again(name: Trained) -> bool:
    """Whether the second grid decides: it contains the first choice."""
    scale, rate = choose(SEARCH[name], RATES, SCALES)
    return name in SECOND and rate in AGAIN[0] and scale in AGAIN[1]


def chosen(name: Trained) -> tuple[float, float]:
    """Return the chosen scale and rate of an estimator."""
    if decided_again(name):
        return choose(SECOND[name], *AGAIN)
    return choose(SEARCH[name], RATES, SCALES)


def choose(errors: Errors, rates: Sequence[float], scales: Sequence[float]) -> tuple[float, float]:
    """Return the scale and rate of the most central of the lowest errors."""
    lowest = min(min(row) for row in errors)
    near = [
        (scale, rate)
        for scale, row in zip(scales, errors, strict=True)
        for rate, error in zip(rates, row, strict=True)
        if error <= lowest + CLOSE
    ]
    return min(near, key=_eccentricity)


def _eccentricity(setting: tuple[float, float]) -> tuple[float, float]:
    off = [abs(math.log(of / centre)) for of, centre in zip(setting, CENTRE, strict=True)]
    return (round(sum(off), 9), -setting[1])
