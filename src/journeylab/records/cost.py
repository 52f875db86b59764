"""What a process has cost, as the operating system counts it, and what of two ways costs more."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from statistics import median, quantiles

from journeylab.config import Frozen

_BYTES = 1 if sys.platform == "darwin" else 1024


class Cost(Frozen):
    """Seconds since the process began, children included; `imports` is CPU time before its work."""

    cpu_seconds: float
    imports_seconds: float
    wall_seconds: float
    peak_mib: float


def cpu_seconds() -> float:
    """CPU time of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def start_counting() -> Callable[[], Cost]:
    """Say that imports are done; what is returned tells the cost so far whenever it is called."""
    imports, began = cpu_seconds(), time.monotonic() - _age()

    def cost() -> Cost:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _BYTES / 2**20
        return Cost(
            cpu_seconds=round(cpu_seconds(), 3),
            imports_seconds=round(imports, 3),
            wall_seconds=round(time.monotonic() - began, 3),
            peak_mib=round(peak, 1),
        )

    return cost


Step = Callable[[], object]
Clock = Callable[[], float]


def compare(
    fast: Step, slow: Step, pairs: int, clock: Clock = time.process_time
) -> dict[str, float]:
    """Time two ways to the same result, one after the other, ``pairs`` (two or more) times over.

    Whatever else the machine does slows both. Medians in milliseconds of CPU time, and the ratio
    slow : fast with its quartiles over pairs.
    """
    for warm_up in (fast, slow) * 3:
        warm_up()
    times = [(timed(fast, clock), timed(slow, clock)) for _ in range(pairs)]
    low, ratio, high = quantiles([b / a for a, b in times], n=4, method="inclusive")
    fast_ms, slow_ms = (1e3 * median(each) for each in zip(*times, strict=True))
    return {"fast_ms": fast_ms, "slow_ms": slow_ms, "ratio": ratio, "low": low, "high": high}


def timed(step: Step, clock: Clock = time.process_time) -> float:
    """Seconds that a step takes by a clock, CPU time where none is named."""
    start = clock()
    step()
    return clock() - start


def _age() -> float:
    """Seconds since this process began, where the system tells; else since it used the CPU."""
    try:
        with open("/proc/self/stat", encoding="utf-8") as status:  # noqa: PTH123
            ticks = int(status.read().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return time.process_time()
