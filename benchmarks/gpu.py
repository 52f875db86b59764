"""exp7's models on a CUDA GPU: 20 seeds in one captured step against a loop over seeds.

Variant A reads triples; variant C sums its angles along the text, which needs another operator.
"""

import gc
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch
from ensembles import STEPS, both_ways
from pairs import Row

from journeylab import catalogue
from journeylab.config import TrainingSettings
from journeylab.knowledge.problem import Knowledge
from journeylab.records.cost import compare
from journeylab.streams import Streams, data_streams
from journeylab.training import Problem

SEEDS = 20
PILOT = 1000
MODELS = (("characters", "A"), ("characters", "C"))


def seeds_on_a_gpu(
    pairs: int, seeds: int = SEEDS, device: str = "cuda", config: Path = Path("config.yaml")
) -> list[Row]:
    """Return wall times of one step of one seed, after synchronisation; none without a GPU."""
    if device == "cuda" and not torch.cuda.is_available():
        print("no CUDA GPU here: nothing to measure on it")
        return []
    return [_row(arm, variant, pairs, seeds, device, config) for arm, variant in MODELS]


def exp7_problems(arm: str, variant: str, seeds: int, config: Path) -> list[Knowledge]:
    settings = catalogue.load(config).studies["exp7"]
    run = catalogue.resolve_run("exp7", settings, arm, variant)
    job = catalogue.trained_job("exp7", run.settings)
    data = catalogue.dataset_settings("exp7", run.data)
    generate, problem = catalogue.data_part("exp7").generate, catalogue.models_part("exp7").problem
    problems = [
        problem(job, generate(data, data_streams("exp7", "plan", seed)), Streams("exp7", seed))
        for seed in range(PILOT, PILOT + seeds)
    ]
    return cast(list[Knowledge], problems)


def _row(arm: str, variant: str, pairs: int, seeds: int, device: str, config: Path) -> Row:
    problems = exp7_problems(arm, variant, seeds, config)
    training = problems[0].job.training

    def now() -> float:
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    memory = _peaks(problems, training) if device == "cuda" else {}
    fast, slow = both_ways(problems, training, torch.device(device))
    result = compare(fast, slow, max(3, pairs // 4), now)
    for key in ("fast_ms", "slow_ms"):
        result[key] /= seeds * STEPS
    speed = {"seed_steps_per_second": 1e3 / result["fast_ms"]}
    named: Row = {"name": f"exp7 {variant}, {seeds} seeds, {device}", "work": seeds}
    return named | result | speed | memory


def _peaks(problems: Sequence[Problem], settings: TrainingSettings) -> Row:
    """Return the peak memory, in MiB, of all seeds in one batch and of a single seed."""
    peaks: Row = {}
    for name, chosen in (("peak_mib", problems), ("peak_alone_mib", problems[:1])):
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        together, alone = both_ways(chosen, settings, torch.device("cuda"))
        for _ in range(3):
            (together if name == "peak_mib" else alone)()
        peaks[name] = torch.cuda.max_memory_reserved() / 2**20
        del together, alone
    return peaks
