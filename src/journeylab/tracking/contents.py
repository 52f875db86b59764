"""The content of MLflow's runs: metrics, params and tags of records, medians, verdicts.

The seeds of a variant with the same settings and code form a *group*. A group has a run in MLflow
of its own, the parent of its seeds' runs, which is compared first.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from journeylab.config import build, canonical, leaves
from journeylab.records import files, runs
from journeylab.records.plans import plan_key, read_plan
from journeylab.records.verdicts import StudyVerdicts
from journeylab.wording.rows import StudyRows, in_planned_words
from journeylab.wording.verdicts import OUTCOMES, checks_text, meaning, sentence

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 8000
"""Characters of a description: MLflow cuts a longer one in mid-word, or refuses it."""
_MEASURED = ("study", "arm", "variant", "seed", "draw", "metric", "value")


class MetricPoint(NamedTuple):
    """A value of a metric at a step, and its time in milliseconds if it has one of its own."""

    metric: str
    step: int
    value: float
    moment: int = 0


class Chunk:
    """The records of one run on disk; ``seeds`` holds None where it was computed once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = runs.read_run(folder)
        self.host = runs.read_host(folder)
        self.seeds = self.run.seeds or (None,)
        self.measurements = folder / files.MEASUREMENTS
        exists = self.measurements.exists()
        self.measured = files.sha256(self.measurements)[:16] if exists else ""
        self.measured_at = int(self.measurements.stat().st_mtime * 1000) if exists else 0

    @property
    def group(self) -> str:
        """A hash of what the seeds of a variant share, 16 hexadecimal characters."""
        shared = {"arm", "variant", "settings", "code", "versions", "engine", "device", "cpu"}
        return plan_key(self.run.model_dump(mode="json", include=shared))

    def key(self, seed: runs.SeedRecord | None) -> str:
        """The key of a seed's result, or of the whole run without a seed."""
        return seed.run_key if seed else self.run.run_key

    def points(self, seed: int | None) -> list[MetricPoint]:
        """All numbers of one seed: curve, costs and final measurements."""
        return [*self._curve(seed), *self._costs(seed), *self._final(seed)]

    def params(self) -> dict[str, str]:
        """Settings and environment; `variant` includes the arm, since arms share variant names."""
        run = self.run
        params = flat_settings(run.settings)
        params |= {"engine": run.engine, "device": run.device, "threads": str(run.threads)}
        params |= {f"versions.{name}": text for name, text in run.versions.items()}
        return params | {"arm": run.arm, "variant": f"{run.arm}/{run.variant}"}

    def tags(self) -> dict[str, str]:
        """Where the run comes from; MLflow shows the commit as its source."""
        run, host = self.run, self.host
        commit = host.commit or "unknown"
        return {
            # the only part of the source that a list of runs shows
            "mlflow.source.name": commit[:7],
            "mlflow.source.type": "LOCAL",
            "mlflow.source.git.commit": commit,
            "study": run.study,
            "group": self.group,
            "plan_key": run.plan_key,
            "data": " ".join(run.inputs[name] for name in sorted(run.inputs)),
            "code": run.code,
            "dirty": str(host.dirty).lower(),
            "cpu": ", ".join(run.cpu),
            "measurements": self.measured,
            "measured_at": str(self.measured_at),
        }

    @cached_property
    def _curves(self) -> pd.DataFrame | None:
        trained = self.run.kind == "trained"
        return files.read_table(self.folder / "curves.parquet") if trained else None

    @cached_property
    def _table(self) -> pd.DataFrame | None:
        return files.read_table(self.measurements) if self.measured else None

    def _curve(self, seed: int | None) -> Iterator[MetricPoint]:
        if self._curves is None:
            return
        points = _of_seed(self._curves, seed)
        for step, metric, value in points[["step", "metric", "value"]].itertuples(index=False):
            yield MetricPoint(metric_name(metric), int(step), float(value))

    def _costs(self, seed: int | None) -> Iterator[MetricPoint]:
        trained = self.run.training
        costs = {
            "parameters": trained.parameters if trained else None,
            "training_flops": trained.flops if trained else None,
            "tokens": trained.tokens if trained else None,
            "seconds": self.host.seconds.get(seed) if seed is not None else None,
        }
        for name, cost in costs.items():
            if cost is not None:
                yield MetricPoint(f"resources/{name}", 0, float(cost))

    def _final(self, seed: int | None) -> Iterator[MetricPoint]:
        if self._table is None:
            return
        table = _of_seed(self._table, seed)
        factors = [name for name in table.columns if name not in _MEASURED]
        cases = table.groupby(["metric", *factors], dropna=False, sort=False)["value"]
        for case, values in cases:
            metric, *names = map(str, case)
            levels = [
                f"{name}.{level}"
                for name, level in zip(factors, names, strict=True)
                if level not in ("None", "<NA>", "nan")
            ]
            # an exact claim reads the largest of all draws of a case (at_most), or the smallest
            name = metric_name("/".join(["final", metric, *levels]))
            yield MetricPoint(name, 0, float(values.max()))
            if len(values) > 1:
                yield MetricPoint(f"{name}/smallest", 0, float(values.min()))


def medians(seeds: Iterable[Iterable[MetricPoint]]) -> Iterator[MetricPoint]:
    """The median of every metric at every step, over the seeds with a finite value there."""
    finite: dict[tuple[str, int], list[float]] = {}
    for points in seeds:
        for metric, step, value, _ in points:
            if math.isfinite(value):
                finite.setdefault((metric, step), []).append(value)
    for (metric, step), values in finite.items():
        yield MetricPoint(metric, step, statistics.median(values))


def read_study(root: Path, study: str) -> StudyRows | None:
    """The verdicts of a study in the words that are planned; None if it is not judged yet."""
    path = root / "results" / study / files.VERDICTS
    planned = root / "plans" / study / "typeset.json"
    if not path.exists() or not planned.exists():
        return None
    verdicts = build(StudyVerdicts, files.read_json(path), str(path))
    plan = read_plan(planned, "typeset")
    content = root / "reports" / study / "content.json"
    return in_planned_words(
        verdicts, plan.settings, files.read_json(content) if content.exists() else {}
    )


def look_tags(verdicts: StudyRows | None) -> dict[str, str]:
    """Look, seeds and state of every claim that is judged at looks, as tags."""
    if verdicts is None:
        return {}
    return {
        f"{row.id}.{name}": str(value)
        for row in verdicts.verdicts
        if row.state
        for name, value in (("look", verdicts.look_of(row)), ("seeds", row.n), ("state", row.state))
    }


def describe_study(root: Path, study: str, verdicts: StudyRows | None) -> str:
    """A study's title and verdicts in Markdown; lists of studies show the first line only."""
    content = root / "reports" / study / "content.json"
    title = files.read_json(content)["title"] if content.exists() else study
    if verdicts is None:
        return f"{title} – not judged yet"
    judged = [(row, row.word) for row in verdicts.judged]
    counts = Counter(word for _, word in judged)
    outcome = ", ".join(f"{counts[word]} {word}" for word in OUTCOMES if counts[word])
    claims = [f"- **{row.id}, {word}:** {sentence(row)}" for row, word in judged]
    head = f"{title} – {outcome or 'no claim is judged'}"
    text = "\n\n".join((head, "\n".join(claims), meaning(verdicts), checks_text(verdicts.checks)))
    while len(text) > _LONGEST:
        text = text.rpartition("\n")[0]
    return text


def flat_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings as params: names of nested keys are joined by dots."""
    return {
        metric_name(".".join(path)): value if isinstance(value, str) else canonical(value)
        for path, value in leaves(settings)
        if value != {}
    }


def metric_name(text: str) -> str:
    """A name of a metric or param with the characters that MLflow accepts."""
    return re.sub(r"[^/\w.\- ]", "_", text.replace("@", "_at_"), flags=re.ASCII)


def _of_seed(table: pd.DataFrame, seed: int | None) -> pd.DataFrame:
    return table if seed is None else table[table["seed"] == seed]
