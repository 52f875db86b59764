"""The content of MLflow's runs: metrics, params and tags of records, medians, verdicts.

The seeds of a variant with the same settings and code form a *group*. A group has a run in MLflow
of its own, the parent of its seeds' runs, which is compared first.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from journeylab.claims.schema import Register
from journeylab.config import build, canonical, leaves
from journeylab.records import files, runs
from journeylab.records.plans import plan_key, read_plan
from journeylab.records.verdicts import StudyVerdicts
from journeylab.wording.effects import Names
from journeylab.wording.rows import StudyRows, in_planned_words
from journeylab.wording.verdicts import checks_text, meaning, sentence, tally

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 8000
"""Characters of a description: MLflow cuts a longer one in mid-word, or refuses it."""
_MEASURED = ("study", "arm", "variant", "seed", "draw", "metric", "value")
_NO_LEVEL = ("None", "<NA>", "nan")


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
        path = folder / files.MEASUREMENTS
        self.measured = files.sha256(path)[:16] if path.exists() else ""
        self.measured_at = int(path.stat().st_mtime * 1000) if path.exists() else 0
        self._tables: dict[str, pd.DataFrame] = {}

    @property
    def group(self) -> str:
        """A hash of what the seeds of a variant share, 16 hexadecimal characters."""
        shared = {"arm", "variant", "settings", "code", "versions", "engine", "device", "cpu"}
        return plan_key(self.run.model_dump(mode="json", include=shared))

    def key(self, seed: runs.SeedRecord | None) -> str:
        """The key of a seed's result, or of the whole run without a seed."""
        return seed.run_key if seed else self.run.run_key

    def points(self, seed: int | None) -> Iterator[MetricPoint]:
        """All numbers of one seed: curve, costs and final measurements."""
        if self.run.kind == "trained":
            curve = self._of_seed("curves.parquet", seed)[["step", "metric", "value"]]
            for step, metric, value in curve.itertuples(index=False):
                yield MetricPoint(metric_name(metric), int(step), float(value))
        costs = {"seconds": None if seed is None else self.host.seconds.get(seed)}
        if trained := self.run.training:
            costs |= {"parameters": trained.parameters, "tokens": trained.tokens}
            costs["training_flops"] = trained.flops
        for name, cost in costs.items():
            if cost is not None:
                yield MetricPoint(f"resources/{name}", 0, float(cost))
        if self.measured:
            yield from self._final(self._of_seed(files.MEASUREMENTS, seed))

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
            "mlflow.source.name": commit[:7],  # lists of runs show nothing else of the source
            "mlflow.source.type": "LOCAL",
            "mlflow.source.git.commit": commit,
            "group": self.group,
            "plan_key": run.plan_key,
            "code": run.code,
            "data": " ".join(run.inputs[name] for name in sorted(run.inputs)),
            "dirty": str(host.dirty).lower(),
            "cpu": ", ".join(run.cpu),
            "measurements": self.measured,
            "measured_at": str(self.measured_at),
        }

    def _of_seed(self, name: str, seed: int | None) -> pd.DataFrame:
        if name not in self._tables:
            self._tables[name] = files.read_table(self.folder / name)
        table = self._tables[name]
        return table if seed is None else table[table["seed"] == seed]

    def _final(self, table: pd.DataFrame) -> Iterator[MetricPoint]:
        factors = [name for name in table.columns if name not in _MEASURED]
        cases = table.groupby(["metric", *factors], dropna=False, sort=False)["value"]
        for case, values in cases:
            metric, *names = map(str, case)
            levels = zip(factors, names, strict=True)
            held = [f"{name}.{level}" for name, level in levels if level not in _NO_LEVEL]
            # an exact claim reads the largest of all draws of a case (at_most), or the smallest
            name = metric_name("/".join(["final", metric, *held]))
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
    settings = read_plan(planned, "typeset").settings
    content = _content(root, study)
    names = Names(content.get("labels", {}), content.get("arms", {}))
    register = Register.model_validate(settings["register"])
    return in_planned_words(verdicts, register, settings, names)


def _content(root: Path, study: str) -> dict[str, Any]:
    """What the report of a study says; nothing before it is made."""
    path = root / "reports" / study / "content.json"
    return files.read_json(path) if path.exists() else {}


def look_tags(verdicts: StudyRows | None) -> dict[str, str]:
    """Look, seeds and state of every claim that is judged at looks, as tags."""
    tags: dict[str, str] = {}
    for row in verdicts.verdicts if verdicts else ():
        if verdicts and row.state:
            look = {"look": verdicts.look_of(row), "seeds": row.n, "state": row.state}
            tags |= {f"{row.id}.{name}": str(value) for name, value in look.items()}
    return tags


def describe_study(root: Path, study: str, verdicts: StudyRows | None) -> str:
    """A study's title and verdicts in Markdown; lists of studies show the first line only."""
    title = _content(root, study).get("title", study)
    if verdicts is None:
        return f"{title} – not judged yet"
    counts = tally([row.word for row in verdicts.judged])
    outcome = ", ".join(f"{number} {word}" for word, number in counts)
    claims = "\n".join(f"- **{row.id}, {row.word}:** {sentence(row)}" for row in verdicts.judged)
    head = f"{title} – {outcome or 'no claim is judged'}"
    text = "\n\n".join((head, claims, meaning(verdicts), checks_text(verdicts.checks)))
    while len(text) > _LONGEST:
        text = text.rpartition("\n")[0]
    return text


def describe_trials(place: str, experiment: str, trials: Mapping[str, str]) -> str:
    """What a search is, with a link to MLflow's comparison of its trials, or one for each arm.

    ``trials`` maps the runs of trials to their arms.
    """

    def link(name: str, runs: Iterable[str]) -> str:
        compared, of = (quote(json.dumps(each)) for each in (sorted(runs), [experiment]))
        return f"[{name}](#/compare-runs?runs={compared}&experiments={of})"

    head = f"Trials of the search of {place.rpartition('/')[2]}, in parallel coordinates\n\n"
    whole = head + link("all trials", trials)
    if len(whole) <= _LONGEST:
        return whole
    arms = dict.fromkeys(trials.values())
    return head + ", ".join(link(arm, (r for r, of in trials.items() if of == arm)) for arm in arms)


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
