"""Progress of training: a bar on a terminal, lines in a log, and the steps done in a small file.

No result depends on this module.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from datetime import timedelta
from io import TextIOBase
from pathlib import Path
from typing import IO, Protocol, cast, runtime_checkable

from journeylab.records.cost import Cost
from journeylab.records.files import json_bytes, write_atomic

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_FILES = 5.0
SECONDS_BETWEEN_UPDATES = 0.25


@runtime_checkable
class Progress(Protocol):
    """Receives the steps that a training loop has done."""

    def advance(self, step: int, loss: Callable[[], float]) -> None:
        """Report that `step` is done; `loss` is called only when it is shown."""


class StepFile:
    """A JSON file with the number of steps that a job has done over all its seeds.

    Keys: those of `records.live.JobProgress`.
    """

    def __init__(self, path: Path, total: int, cost: Callable[[], Cost]) -> None:
        self.path, self.total, self.cost = path, total, cost
        self.ended = self.before = 0
        self.due, self.began = 0.0, time.monotonic()

    @contextmanager
    def count(self, steps: int, done: int, seeds: int, shown: Progress) -> Iterator[Progress]:
        """Count the steps of `seeds` trained together from `done` to `steps`; also show them."""
        self.before += seeds * done
        self.write(seeds * done)
        outer = self

        class Counted:
            def advance(self, step: int, loss: Callable[[], float]) -> None:
                if time.monotonic() >= outer.due:
                    outer.write(seeds * step, seeds=seeds, step=step, loss=loss())
                shown.advance(step, loss)

        yield Counted()
        self.ended += seeds * steps  # a failed seed counts as done
        self.write(0)

    def write(self, more: int, *, seeds: int = 1, step: int = 0, loss: float | None = None) -> None:
        """Write the steps of the finished seeds plus `more`; errors of the disk are ignored."""
        now = time.monotonic()
        self.due = now + SECONDS_BETWEEN_FILES
        content = {
            "done": self.ended + more,
            "before": self.before,
            "total": self.total,
            "seconds": round(now - self.began, 3),
            "seeds": seeds,
            "step": step,
            "loss": loss if loss is not None and math.isfinite(loss) else None,
            "cost": dict(self.cost()),
        }
        with suppress(OSError), write_atomic(self.path, durable=False) as partial:
            partial.write_bytes(json_bytes(content, sealed=False))


_step_file: ContextVar[StepFile | None] = ContextVar("step_file", default=None)


@contextmanager
def count_steps(path: Path, total: int, cost: Callable[[], Cost]) -> Iterator[None]:
    """Within the block, `report_progress` keeps `path` up to date; `total` is over all seeds.

    `cost` returns the cost of the job so far.
    """
    token = _step_file.set(StepFile(path, total, cost))
    try:
        yield
    finally:
        _step_file.reset(token)


@contextmanager
def report_progress(
    label: str, steps: int, done: int = 0, *, seeds: int = 1, stream: TextIOBase | None = None
) -> Iterator[Progress]:
    """Show the progress of `label` from step `done` to `steps` on `stream` (default: stderr).

    `seeds`: how many seeds every step advances.
    """
    stream = cast(TextIOBase, sys.stderr) if stream is None else stream
    showing = (
        _bar(label, steps, done, stream)
        if stream.isatty()
        else nullcontext(Lines(label, steps, done, seeds, stream))
    )
    with showing as shown:
        step_file = _step_file.get()
        if step_file is None:
            yield shown
        else:
            with step_file.count(steps, done, seeds, shown) as counted:
                yield counted


class Lines:
    """Prints a line at the first step, every ten seconds, and at the last step."""

    def __init__(self, label: str, steps: int, done: int, seeds: int, stream: TextIOBase) -> None:
        self.label, self.steps, self.start, self.stream = label, steps, done, stream
        self.began = time.monotonic()
        self.due = self.began
        resumed = f", resumed after step {done}" if done else ""
        together = f" of {seeds} models" if seeds > 1 else ""
        print(f"{label}: {steps} steps{together}{resumed}", file=stream, flush=True)

    def advance(self, step: int, loss: Callable[[], float]) -> None:
        """Print a line if one is due."""
        now = time.monotonic()
        if now < self.due and step < self.steps:
            return
        self.due = now + SECONDS_BETWEEN_LINES
        rate = (step - self.start) / max(now - self.began, 1e-9)
        left = timedelta(seconds=round((self.steps - step) / rate))
        print(
            f"{self.label}: step {step}/{self.steps}, loss {loss():.4f}, "
            f"{rate:.1f} steps/s, {left} left",
            file=self.stream,
            flush=True,
        )


@contextmanager
def _bar(label: str, steps: int, done: int, stream: TextIOBase) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Display

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    began = time.monotonic()
    with Display(
        *columns, console=Console(file=cast(IO[str], stream)), refresh_per_second=4
    ) as display:
        task = display.add_task(label, total=steps, completed=done, loss="–", rate="")

        class Bar:
            due = began

            def advance(self, step: int, loss: Callable[[], float]) -> None:
                now = time.monotonic()
                if now < self.due and step < steps:
                    return
                self.due = now + SECONDS_BETWEEN_UPDATES
                rate = f"{(step - done) / max(now - began, 1e-9):.1f} steps/s"
                display.update(task, completed=step, loss=f"{loss():.4f}", rate=rate)

        yield Bar()
