"""What holds for the datasets and the trained models of every study, on small sizes.

Everything runs as in a job: the modules of ``chunks`` generate, train and measure two pilot seeds.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd
import pytest
import torch
from torch import Tensor

from journeylab import catalogue
from journeylab.chunks.generate import generate
from journeylab.chunks.measure import measure
from journeylab.chunks.tables import of_world
from journeylab.chunks.train import TrainedChunk
from journeylab.config import RunSettings, TrainedJob, UserError, read_yaml
from journeylab.config.grids import by_name
from journeylab.streams import Streams
from journeylab.training import Problem

from ..conftest import unchecked_types
from ..made import PROJECT, configured
from .gathering import PILOTS, QUICK, first_of_each_arm_and_variant, train_chunk

BUDGET = {"steps": 2, "warmup": 0, "evaluate_every": 2, "checkpoint_every": 2}
SMALL: dict[str, dict[str, dict[str, object]]] = {
    "exp1": {"data": {"train": 210, "validation": 42}, "training": {"batch": 16}},
    "exp2": {"data": {"questions": 100}, "training": {"rows": 8}},
    "exp3": {"data": {"held_out": 20, "seen": 20}, "model": {"hidden": 8}},
    "exp4": {"model": {"d": 4, "length": 16}},
    "exp6": {"data": {"queries": 100}, "model": {"restarts": 2}},
    "exp7": {"model": {"d": 16}},
    "exp8": {
        "data": {"n": 3, "train": 100, "test": 20},
        "model": {"d": 16, "supervision": 2},
        "training": {"rows": 8},
    },
    "exp9": {"model": {"d": 8, "heads": 2, "length": 16}, "training": {"rows": 4}},
    "exp10": {"training": {"rows": 16}},
    "exp11": {"data": {"train": 100, "test": 20}, "training": {"rows": 8}},
    "exp12": {"data": {"k": 1}, "model": {"d": 16}},
    "exp13": {"data": {"rows": 8}},
}
"""Study → what its runs have instead of the settings of quick runs."""
FEW = {
    "exp1": {"strings": 5},
    "exp2": {"permutations": 1},
    "exp4": {"windows": 20, "null_draws": 100},
    "exp7": {"templates": (0,)},
    "exp9": {"windows": 20},
    "exp12": {"templates": (0,)},
    "exp13": {"rows": 4},
}
"""The same for measuring."""


class Small(NamedTuple):
    """A run with few rows, few steps and a small model, trained in both ways."""

    study: str
    run: RunSettings
    job: TrainedJob
    dataset: pd.DataFrame
    together: TrainedChunk
    alone: TrainedChunk


def draw(study: str, run: RunSettings, seeds: tuple[int, ...] = PILOTS) -> pd.DataFrame:
    data = catalogue.dataset_settings(study, run.data | SMALL[study].get("data", {}))
    file = PROJECT / "docs" / "design.md" if "file" in run.data else None
    return generate(catalogue.data_part(study), data, study, run.dataset or "", seeds, file)


def small_job(study: str, run: RunSettings) -> TrainedJob:
    settings = dict(run.settings)
    for name, section in SMALL[study].items():
        settings[name] = settings[name] | section
    settings["training"] = settings["training"] | BUDGET
    return catalogue.trained_job(study, settings)


def problem_of(study: str, job: TrainedJob, dataset: pd.DataFrame) -> tuple[Problem, Streams]:
    streams = Streams(study, PILOTS[0])
    rows = of_world(dataset, streams, job.worlds)
    return catalogue.models_part(study).problem(job, rows, streams), streams


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(of, id=f"{of[0]}-{of[1].arm}-{of[1].variant}")
        for of in first_of_each_arm_and_variant()
    ],
)
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Small:
    study, run = request.param
    job, dataset = small_job(study, run), draw(study, run)

    with unchecked_types():
        trained = [
            train_chunk(study, job, dataset, tmp_path_factory.mktemp(engine), engine)
            for engine in ("batched", "sequential")
        ]
    return Small(study, run, job, dataset, *trained)


def test_seeds_trained_together_equal_seeds_trained_alone(small: Small) -> None:
    for chunk in (small.together, small.alone):
        assert [seed.status for seed in chunk.seeds] == ["finished"] * len(PILOTS)
    states = (felt(chunk.weights) for chunk in (small.together, small.alone))
    torch.testing.assert_close(*states, atol=1e-4, rtol=1e-4)


def felt(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Without biases of keys: no logit depends on them, and AdamW follows what rounding leaves."""
    return {
        name: torch.cat((value.chunk(3)[0], value.chunk(3)[2]))
        if name.endswith("project.bias")
        else value
        for name, value in state.items()
    }


def test_measurements_are_declared_and_none_is_repeated(small: Small) -> None:
    study, run = small.study, small.run
    metrics = catalogue.printed_names(study).metrics
    section = QUICK.studies[study].section("evaluation")
    few = catalogue.evaluation_settings(study, section.model_dump() | FEW.get(study, {}))
    parts, named = (
        (catalogue.models_part(study), catalogue.measure_part(study)),
        (study, run.arm, run.variant),
    )
    table = measure(*parts, small.job, few, small.dataset, small.alone.weights, named, PILOTS)
    assert set(table["seed"]) == set(PILOTS)
    assert not table["value"].isna().any()
    assert not table.duplicated(list(table.columns.drop("value"))).any()
    assert set(table["metric"]) <= set(metrics)
    factors = table.columns.drop(["study", "arm", "variant", "seed", "metric", "value"])
    for metric, rows in table.groupby("metric"):
        for factor in factors:
            levels = set(rows[factor].dropna())
            assert levels <= set(metrics[metric].factors.get(factor, ())), (metric, factor)


def test_the_loss_creates_tensors_on_the_device_of_the_batch(small: Small) -> None:
    problem, streams = problem_of(small.study, small.job, small.dataset)
    order, dropout = streams.generator("order"), streams.generator("dropout")
    batch = {n: rows.to("meta") for n, rows in problem.batch(1, order, dropout).items()}
    model = problem.build(streams.generator("init")).to("meta")
    assert problem.loss(model, batch).device.type == "meta"


OWN_ROWS = ("kg_", "causal_", "dropout", "noise", "tau", "volume")
"""What variants do to the rows that they share: their objectives, linearisations and noise."""
OWN_WEIGHTS = ("operators", "entry_angles", "question_angles", "positions", "frequencies")
"""Parameters that variants start from other values, or draw after others of another number."""
INDEPENDENT = ("exp10", "exp11", "exp13", "tag")
"""Studies and a variant that draw other tables or mechanisms before what they would share."""


@pytest.mark.parametrize("study", SMALL)
def test_variants_of_an_arm_read_the_same_rows_and_start_alike(study: str) -> None:
    shared: dict[str, list[dict[str, Tensor]]] = {}
    datasets: dict[str | None, pd.DataFrame] = {}
    models: dict[str, object] = {}
    for run in catalogue.runs_of(study, QUICK.studies[study]):
        if run.computed:
            continue
        if run.dataset not in datasets:
            datasets[run.dataset] = draw(study, run, PILOTS[:1])
        same = {"model": models.setdefault(run.arm, run.settings["model"])}
        job = small_job(study, run._replace(settings=run.settings | same))
        problem, streams = problem_of(study, job, datasets[run.dataset])
        order, dropout = streams.generator("order"), streams.generator("dropout")
        batch = problem.batch(1, order, dropout)
        rows = {name: part for name, part in batch.items() if not name.startswith(OWN_ROWS)}
        state = problem.build(streams.generator("init")).state_dict().items()
        weights = {name: value for name, value in state if not name.startswith(OWN_WEIGHTS)}
        apart = study in INDEPENDENT or run.variant in INDEPENDENT
        found = [rows, {} if apart else weights]
        for parts, known in zip(found, shared.setdefault(run.arm, found), strict=True):
            for name in parts.keys() & known.keys():
                if parts[name].shape == known[name].shape:
                    assert torch.equal(parts[name], known[name]), (run.arm, run.variant, name)


@pytest.mark.parametrize("study", SMALL)
def test_the_data_of_a_seed_depend_on_nothing_but_the_seed(study: str) -> None:
    runs = (run for of, run in first_of_each_arm_and_variant() if of == study)
    datasets = {run.dataset: run for run in runs if run.data.get("source") != "document"}
    for run in datasets.values():
        both, alone = draw(study, run), draw(study, run, PILOTS[1:])
        second = (both["seed"] == PILOTS[1]).to_numpy()
        pd.testing.assert_frame_equal(both[second].reset_index(drop=True), alone)
        assert not both[~second].drop(columns="seed").equals(alone.drop(columns="seed"))


@pytest.mark.parametrize("study", SMALL)
def test_an_unknown_variant_is_refused_with_the_accepted_ones(study: str) -> None:
    hint = "did you mean " if study in ("exp2", "exp4", "exp7", "exp13") else ".*"
    raw = read_yaml(PROJECT / "config.yaml")
    raw["studies"] = {study: raw["studies"][study]}
    for arm in raw["studies"][study]["arms"].values():
        variants = arm.get("variants")
        if "computed" in arm or not variants:
            continue
        [first, *_] = by_name(variants)
        arm["variants"] = {f"{first}x": {}}
        with pytest.raises(UserError, match=f"'{first}x'.*{hint}'?{first}"):
            catalogue.resolve(raw)
        arm["variants"] = variants


@pytest.mark.parametrize("study", SMALL)
def test_every_variant_has_a_printed_name_of_its_own(study: str) -> None:
    settings = configured().studies[study]
    runs = list(settings.trained())
    names = catalogue.printed_names(study)
    labels, arms = names.labels, names.arms
    assert {variant for _, variant in runs} <= labels.keys()
    printed = {(arms.get(arm, arm), labels.get(variant, variant)) for arm, variant in runs}
    assert len(printed) == len(runs)
    assert all(metric.label for metric in catalogue.printed_names(study).metrics.values())
