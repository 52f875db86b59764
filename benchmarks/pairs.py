"""Timing in interleaved pairs, the hardware rates that bound it, and a table of results.

Times are CPU times; a ratio is the median over pairs, with its quartiles.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import torch

from journeylab.operators.affine import product, weight_gradient
from journeylab.records.cost import Step, timed
from journeylab.records.runs import cpu_model

Row = dict[str, object]


def median_time(step: Step, repeats: int = 50) -> float:
    """Return the median CPU time of a step, in seconds."""
    return sorted(timed(step) for _ in range(repeats))[repeats // 2]


def product_rate(width: int, tokens: int) -> float:
    """Return the operations per second of the map d → 4d, forward and backward."""
    x, grad = torch.randn(tokens, width), torch.randn(tokens, 4 * width)
    weight, bias = torch.randn(4 * width, width), torch.randn(4 * width)

    def products() -> None:
        product(x, weight, bias)
        product(grad, weight.mT)
        weight_gradient(grad, x)

    with torch.no_grad():
        return 3 * 2.0 * tokens * width * 4 * width / median_time(products)


def batched_product_rate(count: int, width: int) -> float:
    """Return how many products of two d×d matrices per second a call with `count` reaches."""
    left, right = torch.randn(2, count, width, width)
    return count / median_time(lambda: torch.bmm(left, right))


def copy_rate(size: float) -> float:
    """Return the bytes per second, read or written, of a copy that touches `size` bytes."""
    source = torch.randn(max(1, int(size) // 8))
    target = torch.empty_like(source)
    return 8.0 * len(source) / median_time(lambda: target.copy_(source))


def print_table(rows: Sequence[Row]) -> None:
    """Print pairs with their ratio and floor, other rows with wall and CPU time."""
    for row in rows:
        if "ratio" not in row:
            print(f"{row['name']:62}{row['wall_s']:8.1f} s wall{row['cpu_s']:8.1f} s CPU")
            continue
        floor = f"{row['floor_ms']:9.2f} ms ({row['of_floor']:.0%})" if "floor_ms" in row else ""
        print(
            f"{row['name']:62}{row['fast_ms']:8.2f} ms{row['slow_ms']:9.2f} ms  "
            f"{row['ratio']:5.2f} ({row['low']:.2f} – {row['high']:.2f}) {floor}"
        )


def with_floor(result: dict[str, float], seconds: float) -> dict[str, float]:
    """Add the floor, a lower bound of the time, and the fraction floor / time of the fast form."""
    floor = 1e3 * seconds
    return result | {"floor_ms": floor, "of_floor": floor / result["fast_ms"]}


def write(path: Path, rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    machine = {"processor": cpu_model(), "gpu": gpu}
    record = {"torch": torch.__version__, "machine": machine, "results": rows}
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
