"""The search for rates and initial scales, as ``tools/search_exp8.py`` makes it."""

from __future__ import annotations

from typing import NamedTuple

PILOT, PILOTS = 1000, (1000, 1001, 1002)
"""The seed of the search, and the seeds of its finals. A table fails on some seeds only."""
RATES = (0.001, 0.003, 0.01)
SCALES = (0.3, 1.0, 3.0)
STEPS = {"axial": 200, "full": 600}
"""Attention → steps of a run of the search."""
FINAL_STEPS = {"axial": 800, "full": 800}
"""The same for finals: all steps of the study with axial attention, a quarter of them with full."""
FINALISTS = 2
"""Initial scales of an embedding in the finals."""
WAVES = (1.0, 3.0, 10.0)
"""Root mean squares of the sinusoids of a hybrid: each is tried while the one before is best."""


class SearchRun(NamedTuple):
    """A run of the search: its settings, its training loss, and rates that decide nothing."""

    arm: str
    variant: str
    steps: int
    scale: float
    rate: float
    loss: float
    """Mean over the last tenth of the steps."""
    optimal: float
    held_out: float


TRIALS = tuple(
    SearchRun(*values)
    for values in (
        ("axial", "scalar", 200, 1.0, 0.001, 0.1128, 0.822, 0.828),
        ("axial", "scalar", 200, 0.1, 0.003, 0.1253, 0.801, 0.824),
        ("axial", "scalar", 200, 0.3, 0.003, 0.0883, 0.857, 0.878),
        ("axial", "scalar", 200, 1.0, 0.003, 0.0993, 0.874, 0.912),
        ("axial", "scalar", 200, 3.0, 0.003, 0.1532, 0.690, 0.706),
        ("axial", "scalar", 200, 0.3, 0.01, 0.2640, 0.255, 0.258),
        ("axial", "scalar", 200, 1.0, 0.01, 0.1283, 0.850, 0.843),
        ("axial", "discrete", 200, 1.0, 0.001, 0.3950, 0.056, 0.000),
        ("axial", "discrete", 200, 0.03, 0.003, 0.3208, 0.071, 0.009),
        ("axial", "discrete", 200, 0.1, 0.003, 0.2734, 0.141, 0.016),
        ("axial", "discrete", 200, 0.3, 0.003, 0.2740, 0.244, 0.006),
        ("axial", "discrete", 200, 1.0, 0.003, 0.2947, 0.288, 0.001),
        ("axial", "discrete", 200, 3.0, 0.003, 0.2984, 0.178, 0.000),
        ("axial", "discrete", 200, 1.0, 0.01, 0.5001, 0.003, 0.000),
        ("axial", "hybrid25", 200, 1.0, 0.001, 0.3603, 0.096, 0.022),
        ("axial", "hybrid25", 200, 0.001, 0.003, 0.1553, 0.494, 0.158),
        ("axial", "hybrid25", 200, 0.01, 0.003, 0.1814, 0.656, 0.483),
        ("axial", "hybrid25", 200, 0.03, 0.003, 0.1459, 0.741, 0.536),
        ("axial", "hybrid25", 200, 0.1, 0.003, 0.1216, 0.757, 0.480),
        ("axial", "hybrid25", 200, 0.3, 0.003, 0.1294, 0.776, 0.284),
        ("axial", "hybrid25", 200, 1.0, 0.003, 0.2128, 0.455, 0.021),
        ("axial", "hybrid25", 200, 3.0, 0.003, 0.2898, 0.225, 0.004),
        ("axial", "hybrid25", 200, 1.0, 0.01, 0.5003, 0.005, 0.000),
        ("axial", "hybrid50", 200, 1.0, 0.001, 0.3755, 0.049, 0.002),
        ("axial", "hybrid50", 200, 0.0003, 0.003, 0.1151, 0.826, 0.801),
        ("axial", "hybrid50", 200, 0.001, 0.003, 0.1083, 0.825, 0.813),
        ("axial", "hybrid50", 200, 0.003, 0.003, 0.1143, 0.840, 0.790),
        ("axial", "hybrid50", 200, 0.01, 0.003, 0.1176, 0.812, 0.778),
        ("axial", "hybrid50", 200, 0.03, 0.003, 0.1242, 0.820, 0.796),
        ("axial", "hybrid50", 200, 0.1, 0.003, 0.1251, 0.798, 0.667),
        ("axial", "hybrid50", 200, 0.3, 0.003, 0.1448, 0.665, 0.332),
        ("axial", "hybrid50", 200, 1.0, 0.003, 0.2331, 0.440, 0.045),
        ("axial", "hybrid50", 200, 3.0, 0.003, 0.3000, 0.188, 0.003),
        ("axial", "hybrid50", 200, 1.0, 0.01, 0.4998, 0.010, 0.001),
        ("axial", "hybrid75", 200, 1.0, 0.001, 0.3662, 0.110, 0.023),
        ("axial", "hybrid75", 200, 0.001, 0.003, 0.1657, 0.694, 0.622),
        ("axial", "hybrid75", 200, 0.01, 0.003, 0.1569, 0.761, 0.699),
        ("axial", "hybrid75", 200, 0.03, 0.003, 0.1686, 0.645, 0.555),
        ("axial", "hybrid75", 200, 0.1, 0.003, 0.1636, 0.698, 0.615),
        ("axial", "hybrid75", 200, 0.3, 0.003, 0.2028, 0.551, 0.427),
        ("axial", "hybrid75", 200, 1.0, 0.003, 0.2689, 0.345, 0.273),
        ("axial", "hybrid75", 200, 3.0, 0.003, 0.3308, 0.167, 0.027),
        ("axial", "hybrid75", 200, 1.0, 0.01, 0.5002, 0.009, 0.005),
        ("axial", "sinusoidal", 200, 1.0, 0.001, 0.1516, 0.716, 0.706),
        ("axial", "sinusoidal", 200, 0.3, 0.003, 0.5002, 0.040, 0.039),
        ("axial", "sinusoidal", 200, 1.0, 0.003, 0.1138, 0.801, 0.785),
        ("axial", "sinusoidal", 200, 3.0, 0.003, 0.1271, 0.851, 0.873),
        ("axial", "sinusoidal", 200, 1.0, 0.01, 0.5004, 0.006, 0.001),
        ("axial", "fourier-high", 200, 1.0, 0.001, 0.2663, 0.307, 0.263),
        ("axial", "fourier-high", 200, 0.3, 0.003, 0.3228, 0.204, 0.212),
        ("axial", "fourier-high", 200, 1.0, 0.003, 0.1862, 0.578, 0.592),
        ("axial", "fourier-high", 200, 3.0, 0.003, 0.2212, 0.410, 0.376),
        ("axial", "fourier-high", 200, 1.0, 0.01, 0.3079, 0.200, 0.226),
        ("full", "scalar", 600, 1.0, 0.001, 0.2787, 0.155, 0.146),
        ("full", "scalar", 600, 0.3, 0.003, 0.1360, 0.774, 0.778),
        ("full", "scalar", 600, 1.0, 0.003, 0.1192, 0.777, 0.809),
        ("full", "scalar", 600, 3.0, 0.003, 0.3457, 0.074, 0.066),
        ("full", "scalar", 600, 1.0, 0.01, 0.3070, 0.047, 0.053),
        ("full", "discrete", 600, 1.0, 0.001, 0.3659, 0.044, 0.002),
        ("full", "discrete", 600, 0.01, 0.003, 0.1297, 0.700, 0.000),
        ("full", "discrete", 600, 0.03, 0.003, 0.1286, 0.715, 0.001),
        ("full", "discrete", 600, 0.1, 0.003, 0.1389, 0.691, 0.021),
        ("full", "discrete", 600, 0.3, 0.003, 0.1714, 0.603, 0.034),
        ("full", "discrete", 600, 1.0, 0.003, 0.3166, 0.077, 0.001),
        ("full", "discrete", 600, 3.0, 0.003, 0.3671, 0.037, 0.000),
        ("full", "discrete", 600, 1.0, 0.01, 0.4166, 0.016, 0.000),
        ("full", "hybrid50", 600, 1.0, 0.001, 0.3558, 0.057, 0.016),
        ("full", "hybrid50", 600, 0.003, 0.003, 0.1802, 0.587, 0.490),
        ("full", "hybrid50", 600, 0.01, 0.003, 0.1768, 0.585, 0.511),
        ("full", "hybrid50", 600, 0.03, 0.003, 0.1784, 0.538, 0.498),
        ("full", "hybrid50", 600, 0.1, 0.003, 0.1586, 0.676, 0.550),
        ("full", "hybrid50", 600, 0.3, 0.003, 0.1651, 0.647, 0.292),
        ("full", "hybrid50", 600, 1.0, 0.003, 0.2301, 0.391, 0.016),
        ("full", "hybrid50", 600, 1.0, 0.01, 0.3780, 0.028, 0.000),
        ("full", "sinusoidal", 600, 1.0, 0.001, 0.2119, 0.440, 0.429),
        ("full", "sinusoidal", 600, 0.3, 0.003, 0.1776, 0.648, 0.674),
        ("full", "sinusoidal", 600, 1.0, 0.003, 0.1987, 0.465, 0.508),
        ("full", "sinusoidal", 600, 3.0, 0.003, 0.1718, 0.606, 0.618),
        ("full", "sinusoidal", 600, 10.0, 0.003, 0.3592, 0.044, 0.057),
        ("full", "sinusoidal", 600, 1.0, 0.01, 0.4135, 0.012, 0.006),
    )
)
"""As the tool prints them, in the order of the table."""


def ranked(arm: str, variant: str) -> list[SearchRun]:
    """The trials of a run, the smallest loss first."""
    tried = [trial for trial in TRIALS if (trial.arm, trial.variant) == (arm, variant)]
    return sorted(tried, key=lambda trial: trial.loss)


class Final(NamedTuple):
    """A setting on several pilot seeds."""

    arm: str
    variant: str
    steps: int
    scale: float
    waves: float
    rate: float
    losses: tuple[float, ...]
    """Of PILOTS."""

    @property
    def loss(self) -> float:
        """The mean over the seeds."""
        return sum(self.losses) / len(self.losses)


FINALS = tuple(
    Final(*values)
    for values in (
        ("axial", "scalar", 800, 0.3, 1.0, 0.003, (0.0389, 0.0444, 0.0414)),
        ("axial", "scalar", 800, 1.0, 1.0, 0.003, (0.0376, 0.0681, 0.0423)),
        ("axial", "scalar", 800, 0.3, 1.0, 0.0015, (0.0463, 0.0382, 0.0431)),
        ("axial", "discrete", 800, 0.1, 1.0, 0.003, (0.2567, 0.0624, 0.0764)),
        ("axial", "discrete", 800, 0.3, 1.0, 0.003, (0.0665, 0.0616, 0.0702)),
        ("axial", "discrete", 800, 0.3, 1.0, 0.0015, (0.0722, 0.0693, 0.0723)),
        ("axial", "hybrid25", 800, 0.1, 1.0, 0.003, (0.0397, 0.0599, 0.1375)),
        ("axial", "hybrid25", 800, 0.3, 1.0, 0.003, (0.0481, 0.0538, 0.0731)),
        ("axial", "hybrid25", 800, 0.3, 3.0, 0.003, (0.0559, 0.0545, 0.0668)),
        ("axial", "hybrid25", 800, 0.3, 1.0, 0.0015, (0.0648, 0.0662, 0.0710)),
        ("axial", "hybrid50", 800, 0.001, 1.0, 0.003, (0.0568, 0.0635, 0.0672)),
        ("axial", "hybrid50", 800, 0.003, 1.0, 0.003, (0.0596, 0.0565, 0.0568)),
        ("axial", "hybrid50", 800, 0.003, 3.0, 0.003, (0.0745, 0.0458, 0.0508)),
        ("axial", "hybrid50", 800, 0.003, 10.0, 0.003, (0.0679, 0.0623, 0.0692)),
        ("axial", "hybrid50", 800, 0.003, 3.0, 0.0015, (0.0513, 0.0439, 0.0700)),
        ("axial", "hybrid50", 800, 0.003, 3.0, 0.00075, (0.0621, 0.0630, 0.0678)),
        ("axial", "hybrid75", 800, 0.01, 1.0, 0.003, (0.0417, 0.0594, 0.0361)),
        ("axial", "hybrid75", 800, 0.1, 1.0, 0.003, (0.0886, 0.0525, 0.0599)),
        ("axial", "hybrid75", 800, 0.01, 3.0, 0.003, (0.0456, 0.0478, 0.0671)),
        ("axial", "hybrid75", 800, 0.01, 1.0, 0.0015, (0.0683, 0.0621, 0.0403)),
        ("axial", "sinusoidal", 800, 1.0, 1.0, 0.003, (0.0622, 0.0533, 0.0347)),
        ("axial", "sinusoidal", 800, 3.0, 1.0, 0.003, (0.0586, 0.0443, 0.0486)),
        ("axial", "sinusoidal", 800, 1.0, 1.0, 0.0015, (0.0599, 0.0536, 0.0375)),
        ("axial", "fourier-high", 800, 1.0, 1.0, 0.003, (0.0863, 0.1012, 0.0823)),
        ("axial", "fourier-high", 800, 3.0, 1.0, 0.003, (0.1219, 0.1356, 0.1221)),
        ("axial", "fourier-high", 800, 1.0, 1.0, 0.0015, (0.0922, 0.0918, 0.1056)),
        ("full", "scalar", 800, 0.3, 1.0, 0.003, (0.1108, 0.0832, 0.0968)),
        ("full", "scalar", 800, 1.0, 1.0, 0.003, (0.0946, 0.1439, 0.0965)),
        ("full", "scalar", 800, 0.3, 1.0, 0.0015, (0.1459, 0.1145, 0.1842)),
        ("full", "discrete", 800, 0.01, 1.0, 0.003, (0.1049, 0.0876, 0.1507)),
        ("full", "discrete", 800, 0.03, 1.0, 0.003, (0.0977, 0.1053, 0.1480)),
        ("full", "discrete", 800, 0.01, 1.0, 0.0015, (0.1277, 0.1736, 0.1734)),
        ("full", "hybrid50", 800, 0.1, 1.0, 0.003, (0.1135, 0.1121, 0.1273)),
        ("full", "hybrid50", 800, 0.3, 1.0, 0.003, (0.1318, 0.1224, 0.1416)),
        ("full", "hybrid50", 800, 0.1, 3.0, 0.003, (0.1757, 0.1605, 0.1311)),
        ("full", "hybrid50", 800, 0.1, 1.0, 0.0015, (0.1655, 0.1926, 0.1411)),
        ("full", "sinusoidal", 800, 0.3, 1.0, 0.003, (0.1215, 0.1177, 0.2808)),
        ("full", "sinusoidal", 800, 3.0, 1.0, 0.003, (0.1392, 0.0949, 0.0952)),
        ("full", "sinusoidal", 800, 3.0, 1.0, 0.0015, (0.1298, 0.1517, 0.1224)),
    )
)
"""As the tool prints them, in the order of the table; trained on a GPU with torch 2.11."""


class Chosen(NamedTuple):
    """The settings of a run."""

    scale: float
    waves: float
    rate: float


def chosen(arm: str, variant: str) -> Chosen:
    """The final with the smallest mean loss; the best trial of a run that has no finals."""
    finals = [final for final in FINALS if (final.arm, final.variant) == (arm, variant)]
    if finals:
        best = min(finals, key=lambda final: final.loss)
        return Chosen(best.scale, best.waves, best.rate)
    first = ranked(arm, variant)[0]
    return Chosen(first.scale, WAVES[0], first.rate)
