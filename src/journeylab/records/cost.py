"""CPU time and memory of a process, and paired timing of two implementations."""

import os
import resource
import sys
import time
from collections.abc import Callable
from statistics import median, quantiles

from journeylab.config import Frozen

RSS_BYTES = 1 if sys.platform == "darwin" else 1024
"""Bytes of the unit of `ru_maxrss`."""


class Cost(Frozen):
    """Cost of a process and its children; `imports_seconds` is CPU time before the work began."""

    cpu_seconds: float
    imports_seconds: float
    wall_seconds: float
    peak_mib: float


def cpu_seconds() -> float:
    """CPU time of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def start_counting(earlier: Cost | None = None) -> Callable[[], Cost]:
    """Mark the end of the imports; return a function that returns the cost so far.

    It includes the cost of ``earlier`` attempts at the same run; the peak is the largest of all.
    """
    imports, began = cpu_seconds(), time.monotonic() - _age()
    spent = earlier or Cost(cpu_seconds=0.0, imports_seconds=0.0, wall_seconds=0.0, peak_mib=0.0)

    def cost() -> Cost:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_BYTES / 2**20
        return Cost(
            cpu_seconds=round(spent.cpu_seconds + cpu_seconds(), 3),
            imports_seconds=round(spent.imports_seconds + imports, 3),
            wall_seconds=round(spent.wall_seconds + time.monotonic() - began, 3),
            peak_mib=round(max(spent.peak_mib, peak), 1),
        )

    return cost


Step = Callable[[], object]
Clock = Callable[[], float]


def compare(
    fast: Step, slow: Step, pairs: int, clock: Clock = time.process_time
) -> dict[str, float]:
    """Time two implementations in alternation, ``pairs`` (two or more) times.

    Other load of the machine slows both alike. Returns medians in milliseconds of CPU time, and the
    ratio slow : fast with its quartiles over pairs.
    """
    for warm_up in (fast, slow) * 3:
        warm_up()
    times = [(timed(fast, clock), timed(slow, clock)) for _ in range(pairs)]
    low, ratio, high = quantiles([b / a for a, b in times], n=4, method="inclusive")
    fast_ms, slow_ms = (1e3 * median(each) for each in zip(*times, strict=True))
    return {"fast_ms": fast_ms, "slow_ms": slow_ms, "ratio": ratio, "low": low, "high": high}


def timed(step: Step, clock: Clock = time.process_time) -> float:
    """Seconds of a step by a clock; the default is CPU time."""
    start = clock()
    step()
    return clock() - start


def _age() -> float:
    """Seconds since this process began, where the system says so; else its CPU time."""
    try:
        with open("/proc/self/stat", encoding="utf-8") as status:  # noqa: PTH123
            ticks = int(status.read().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return time.process_time()
