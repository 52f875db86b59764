"""The runs of all studies that tests train, and how small results of a study are put together."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor

from journeylab import catalogue
from journeylab.chunks.tables import labelled
from journeylab.chunks.train import TrainedChunk, train
from journeylab.config import RunSettings, StudySettings
from journeylab.plotting import StudyResults, draw_figures, read_trials, styled
from journeylab.streams import Streams, data_streams

from ..made import configured

QUICK = configured("quick")
PILOTS = (1000, 1001)


def first_of_each_arm_and_variant() -> Iterator[tuple[str, RunSettings]]:
    """The study and the settings of few runs that have every arm and every variant."""
    for study, settings in QUICK.studies.items():
        runs = [run for run in catalogue.runs_of(study, settings) if not run.computed]
        seen: set[str] = set()
        for least in (2, 1):  # first the runs in which both are new
            for run in runs:
                new = {f"arm {run.arm}", f"variant {run.variant}"} - seen
                if len(new) >= least:
                    seen |= new
                    yield study, run


def of_seed(study: str, arm: str, variant: str, seed: int) -> dict[str, Any]:
    """The columns that name one seed of a run."""
    return {"study": study, "arm": arm, "variant": variant, "seed": seed}


@cache
def draw_data(study: str, data: Any, dataset: str, seed: int = 1000) -> pd.DataFrame:
    """The rows of a dataset for one seed.

    A text has syllables, in which a character predicts something of the next one.
    """
    generate, streams = catalogue.data_part(study).generate, data_streams(study, dataset, seed)
    if "file" not in type(data).model_fields:
        return generate(data, streams)
    words = np.random.default_rng(0).choice(["la ", "so ", "mi", "re", "do"], 2500)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text"
        file.write_text("".join(words), encoding="utf-8")
        return generate(data, streams, file)


def small_problem(study: str, job: Any, dataset: str, seed: int = 1000) -> Any:
    """The training problem of a job and one seed."""
    rows = draw_data(study, job.data, dataset, seed)
    return catalogue.models_part(study).problem(job, rows, Streams(study, seed))


def computed(
    study: str,
    arm: str,
    variants: Iterable[str] = ("all",),
    *,
    seed: int | None = None,
    **settings: Any,
) -> Iterator[pd.DataFrame]:
    """The rows of computed runs, or of one of their seeds, labelled as by their stage.

    What they compute is named as their arm, if the settings do not say it.
    """
    for variant in variants:
        job = catalogue.computation(study, {"computed": arm, "variant": variant} | settings)
        streams = None if seed is None else Streams(study, seed)
        table = catalogue.compute_part(study).compute(job, streams)
        yield labelled(table, (study, arm, variant), seed)


def values_of(table: pd.DataFrame, metric: str, **where: object) -> pd.Series:
    """The values of a metric in the rows that have these levels."""
    chosen = table["metric"] == metric
    for factor, level in where.items():
        chosen &= table[factor] == level
    return table.loc[chosen, "value"]


def train_chunk(
    study: str,
    job: Any,
    dataset: pd.DataFrame,
    folder: Path,
    engine: Literal["sequential", "batched"] = "batched",
    device: Literal["cpu", "cuda"] = "cpu",
) -> TrainedChunk:
    """The models of the pilot seeds, trained as in a job."""
    how = {"engine": engine, "device": device, "label": "x", "identity": "", "processor": ""}
    return train(catalogue.models_part(study), job, dataset, study, PILOTS, folder, **how)


def assert_causal(read: Callable[[Tensor], Tensor], inputs: Tensor, symbols: int) -> None:
    """A changed token changes the logits at its place and none before."""
    with torch.no_grad():
        before = read(inputs)
        inputs[:, 9] = (inputs[:, 9] + 1) % symbols
        changed = (read(inputs) != before).any(-1)
    assert not changed[:, :9].any()
    assert changed[:, 9].all()


def flat_curve(
    run: Mapping[str, Any], values: Mapping[str, float], steps: Sequence[int] = (1, 2)
) -> Iterator[dict[str, Any]]:
    """Invented rows of a learning curve that keeps its values."""
    for metric, value in values.items():
        yield from ({**run, "metric": metric, "value": value, "step": step} for step in steps)


def untrained(
    study: str,
    settings: StudySettings,
    seeds: Iterable[int],
    evaluation: Any,
    values: Mapping[str, float] | None = None,
    steps: Sequence[int] = (1, 2),
) -> tuple[list[pd.DataFrame], list[dict[str, Any]]]:
    """Measurements of the untrained models of all runs, and curves that stay at their values.

    These are the given ones, or those to which the models evaluate.
    """
    tables: list[pd.DataFrame] = []
    curves: list[dict[str, Any]] = []
    for (arm, variant), seed in product(settings.trained(), seeds):
        resolved = catalogue.resolve_run(study, settings, arm, variant)
        job = catalogue.trained_job(study, resolved.settings)
        problem = small_problem(study, job, resolved.dataset or "", seed)
        model = problem.build(Streams(study, seed).generator("init")).eval()
        run = of_seed(study, arm, variant, seed)
        table = catalogue.measure_part(study).measure(job, evaluation, problem, model)
        tables.append(table.assign(**run))
        curves += flat_curve(run, problem.evaluate(model) if values is None else values, steps)
    return tables, curves


def gather(
    study: str,
    settings: StudySettings,
    tables: Sequence[pd.DataFrame],
    curves: Sequence[Mapping[str, Any]] = (),
) -> StudyResults:
    """The results of a study, with the printed names of its variants and arms."""
    trials = catalogue.study_folder(study) / "trials.csv"
    return StudyResults(
        study,
        settings,
        pd.concat(tables, ignore_index=True),
        catalogue.printed_names(study),
        curves=pd.DataFrame(curves) if curves else None,
        trials=read_trials(trials) if trials.exists() else None,
    )


def draw(results: StudyResults, *names: str) -> dict[str, Figure]:
    """All figures or those with these names, not laid out yet."""
    figures = catalogue.figures_part(results.study).FIGURES
    with styled():
        return draw_figures({name: figures[name] for name in names or figures}, results)
