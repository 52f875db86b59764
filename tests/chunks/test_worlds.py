"""A seed with several worlds: each has streams of its own; the values of the seed are means."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd
import pytest
import torch
from torch import nn

from journeylab import catalogue
from journeylab.chunks.generate import generate
from journeylab.chunks.measure import measure
from journeylab.chunks.tables import mean_over_worlds, of_world
from journeylab.chunks.train import TrainedChunk, TrainedSeed, train
from journeylab.config import SeveralWorlds, TrainedJob, UserError
from journeylab.datasets.triples import facts_of
from journeylab.streams import Streams, data_streams
from journeylab.training import Trained
from journeylab.training import train as train_seed

SEEDS, WORLDS = (100, 101), 3
assert_same_bits = partial(torch.testing.assert_close, rtol=0, atol=0)
pytestmark = pytest.mark.usefixtures("unchecked", "ordinary_algorithms")  # contracts check types

TRAINING = {"steps": 6, "learning_rate": 0.003, "warmup": 2, "dropout": 0.05, "evaluate_every": 3}
TRAINING |= {"checkpoint_every": 2}
COMMON = {"model": {"d": 8}, "training": TRAINING}
JOBS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "exp7": ("plan", {}, {"variant": "A"}),
    "exp12": ("family.size-k1", {"k": 1}, {"variant": "B"}),
}
"""Study → its dataset, the settings of the dataset, and a model."""
RUN = ("exp12", "size-k1", "B")


def job_of(study: str, **data: Any) -> TrainedJob:
    _, sizes, own = JOBS[study]
    return catalogue.trained_job(study, COMMON | own | {"data": sizes | data})


def draw(study: str, dataset: str = "", seeds=SEEDS, **data: Any) -> pd.DataFrame:
    name, sizes, _ = JOBS[study]
    settings = catalogue.dataset_settings(study, sizes | data)
    return generate(catalogue.data_part(study), settings, study, dataset or name, seeds)


def trained(study: str, folder: Path, engine="sequential", **data: Any) -> TrainedChunk:
    part, job, dataset = catalogue.models_part(study), job_of(study, **data), draw(study, **data)
    return train_part(study, part, job, dataset, folder, engine)


def train_part(study: str, part, job, dataset, folder: Path, engine: str) -> TrainedChunk:
    how = {"engine": engine, "device": "cpu", "label": "a", "identity": "", "processor": ""}
    return train(part, job, dataset, study, SEEDS, folder, **how)


def measured(study: str, chunk: TrainedChunk, **data: Any) -> pd.DataFrame:
    return measure(
        catalogue.models_part(study),
        catalogue.measure_part(study),
        job_of(study, **data),
        catalogue.evaluation_settings(study, {"templates": [0]}),
        draw(study, **data),
        chunk.weights,
        (study, "arm", "variant"),
        [each.seed for each in chunk.seeds if each.status == "finished"],
    )


# -- streams and data -----------------------------------------------------------------------------


def test_world_0_has_the_streams_of_a_seed_with_one_world():
    assert Streams("exp7", 3).numpy("init").integers(1 << 30, size=2).tolist() == [
        745338072,
        132184667,
    ]
    assert Streams("exp7", 3).generator("order").initial_seed() == 14079694910668711931
    of_data = data_streams("exp7", "world.arm", 3).numpy("world")
    assert of_data.integers(1 << 30, size=2).tolist() == [305468071, 479316812]


def test_streams_of_all_worlds_of_all_seeds_are_distinct():
    seeds, worlds = (0, 1, 2, 10, 11, 12, 100), range(13)
    of_all = [Streams("exp7", seed, world=world) for seed in seeds for world in worlds]
    assert len({each.replicate for each in of_all}) == len(of_all)
    assert len({each.generator("init").initial_seed() for each in of_all}) == len(of_all)


@pytest.mark.parametrize("study", JOBS)
def test_one_world_is_the_default_and_adds_no_column(study):
    pd.testing.assert_frame_equal(draw(study), draw(study, worlds=1))
    assert "world" not in draw(study)
    assert job_of(study) == job_of(study, worlds=1)
    assert job_of(study).worlds == 1


@pytest.mark.parametrize("study", JOBS)
def test_every_world_is_that_of_its_streams_and_world_0_is_the_world_of_one(study):
    single, several = draw(study), draw(study, worlds=WORLDS)
    assert list(several.columns[:2]) == ["seed", "world"]
    part, (dataset, sizes, _) = catalogue.data_part(study), JOBS[study]
    settings = catalogue.dataset_settings(study, sizes)
    for seed in SEEDS:
        worlds = []
        for world in range(WORLDS):
            streams = Streams(study, seed, world=world)
            worlds.append(of_world(several, streams, WORLDS))
            alone = part.generate(settings, data_streams(study, dataset, seed, world))
            pd.testing.assert_frame_equal(worlds[-1], alone)
        pd.testing.assert_frame_equal(worlds[0], of_world(single, Streams(study, seed), 1))
        assert not any(first.equals(second) for first, second in pairwise(worlds))


def test_compared_datasets_derive_from_the_same_world_in_every_world():
    """Tiers 2 and 3 test the same facts at every bridged share."""
    few, many = (
        draw("exp12", dataset, world="attributes", bridging=share, worlds=WORLDS)
        for dataset, share in (("attributes.bridging-p10", 0.1), ("attributes", 0.7))
    )
    for seed in SEEDS:
        for world in range(WORLDS):
            streams = Streams("exp12", seed, world=world)
            first, second = (of_world(table, streams, WORLDS) for table in (few, many))
            assert first.drop(columns="split").equals(second.drop(columns="split"))
            for tier in ("transfer", "generalisation"):
                assert facts_of(first, tier) == facts_of(second, tier)


def test_a_missing_world_is_one_line():
    dataset = draw("exp7", worlds=2)
    with pytest.raises(UserError, match=r"holds no seed 100\.2; generate its chunk again"):
        of_world(dataset, Streams("exp7", 100, world=2), 3)


# -- training and measuring -----------------------------------------------------------------------


STUDY = "exp12"
"""All studies with worlds share what follows; their contract trains and measures each of them."""


@pytest.fixture(scope="module")
def several(tmp_path_factory) -> TrainedChunk:
    return trained(STUDY, tmp_path_factory.mktemp("several"), worlds=WORLDS)


@pytest.fixture(scope="module")
def single(tmp_path_factory) -> TrainedChunk:
    return trained(STUDY, tmp_path_factory.mktemp("single"))


def worlds_of(each: TrainedSeed, count: int) -> Iterator[tuple[Any, Streams, Trained]]:
    """The problem, the streams and the result of every world of a seed."""
    job, dataset = job_of(STUDY, worlds=count), draw(STUDY, worlds=count)
    for world, result in enumerate(each.worlds):
        streams = Streams(STUDY, each.seed, world=world)
        rows = of_world(dataset, streams, count)
        yield catalogue.models_part(STUDY).problem(job, rows, streams), streams, result


def test_every_world_is_trained_as_a_run_of_its_streams(several, single, tmp_path):
    for chunk, count in ((several, WORLDS), (single, 1)):
        for each in chunk.seeds:
            for problem, streams, result in worlds_of(each, count):
                file = tmp_path / f"{streams.replicate}-of-{count}"
                alone = train_seed(problem, problem.job.training, streams, file)
                pd.testing.assert_frame_equal(result.curve, alone.curve, check_exact=True)
                assert_same_bits(result.state, alone.state)
                saved = {n: chunk.weights[f"{streams.replicate}/{n}"] for n in alone.state}
                assert_same_bits(saved, alone.state)


def test_a_curve_is_the_mean_over_worlds(several):
    for each in several.seeds:
        worlds = [world.curve["value"] for world in each.worlds]
        assert each.curve["value"].tolist() == [fmean(v) for v in zip(*worlds, strict=True)]
        pd.testing.assert_frame_equal(
            each.curve.drop(columns="value"), each.worlds[0].curve.drop(columns="value")
        )
    curves = several.curves(RUN)
    assert curves.groupby(["seed", "step", "metric"]).size().eq(1).all()


def test_a_measurement_is_the_mean_over_worlds_and_a_count_that_of_one_world(several, single):
    table, of_one = measured(STUDY, several, worlds=WORLDS), measured(STUDY, single)
    keys = [name for name in table.columns if name != "value"]
    pd.testing.assert_frame_equal(table[keys], of_one[keys])
    part = catalogue.measure_part(STUDY)
    evaluation = catalogue.evaluation_settings(STUDY, {"templates": [0]})
    for chunk, count, means in ((several, WORLDS, table), (single, 1, of_one)):
        for each in chunk.seeds:
            worlds = []
            for problem, streams, result in worlds_of(each, count):
                model = problem.build(streams.generator("init"))
                model.load_state_dict(result.state)
                values = part.measure(problem.job, evaluation, problem, model.eval())
                worlds.append(values.set_index(list(values.columns[:-1]))["value"])
            expected = [fmean(world.loc[key] for world in worlds) for key in worlds[0].index]
            assert means.loc[means["seed"] == each.seed, "value"].tolist() == expected
    for rows in (table, of_one):
        facts = rows[(rows["metric"] == "world_size") & (rows["quantity"] == "facts")]
        assert facts["value"].tolist() == [102.0] * len(SEEDS)


def rows(values, names=("a", "b", "c")) -> pd.DataFrame:
    table = pd.DataFrame({"metric": names, "tier": [None, "T1", "T2"], "value": values})
    return table.assign(template=pd.array([0, None, 1], dtype="Int64"))[
        ["metric", "tier", "template", "value"]
    ]


def test_a_mean_is_exact_and_permuting_worlds_keeps_its_bits():
    generator = random.Random(0)
    tables = [rows([generator.uniform(0, 10**k) for k in (0, 8, 16)]) for _ in range(7)]
    mean = mean_over_worlds(tables)
    pd.testing.assert_series_equal(mean.dtypes, tables[0].dtypes)
    values = zip(*(table["value"] for table in tables), strict=True)
    assert mean["value"].tolist() == [fmean(of_row) for of_row in values]
    for _ in range(20):
        generator.shuffle(tables)
        pd.testing.assert_frame_equal(mean_over_worlds(tables), mean, check_exact=True)


def test_a_mean_pairs_rows_by_their_factors_and_keeps_the_order_of_the_first_world():
    first, second = rows([1.0, 2.0, 3.0]), rows([5.0, 6.0, 7.0])
    mean = mean_over_worlds([first, second[::-1]])
    pd.testing.assert_frame_equal(mean, rows([3.0, 4.0, 5.0]))


@pytest.mark.parametrize("other", [rows([1.0] * 3)[:2], rows([1.0] * 3, ("a", "b", "x"))])
def test_worlds_with_other_rows_have_no_mean(other):
    with pytest.raises(ValueError, match="must have the same rows"):
        mean_over_worlds([rows([1.0] * 3), other])
    with pytest.raises(ValueError, match="must have the same rows"):
        mean_over_worlds([pd.concat([other, other]), rows([1.0] * 3)])


# -- failures and kills ---------------------------------------------------------------------------


class Small(SeveralWorlds):
    """A dataset without settings of its own."""


class SmallJob(TrainedJob):
    """A small model."""

    data: Small


class Linear(nn.Module):
    """One affine map with random weights."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4, generator=generator))


class StoppedError(Exception):
    """Stands for a kill."""


@dataclass
class Fitting:
    """Fit random numbers; the loss is broken from a step on; a world may be stopped at a step."""

    replicate: str
    broken: dict[str, int] = field(default_factory=dict)
    stopped: dict[str, int] = field(default_factory=dict)
    batches: int = 0
    tokens_per_step: int = 4

    def build(self, generator):
        return Linear(generator)

    def batch(self, step, order, dropout):
        if self.stopped.get(self.replicate) == step:
            raise StoppedError
        self.batches += 1
        drawn = torch.randn(4, generator=order) * torch.rand(4, generator=dropout)
        ill = self.broken.get(self.replicate, step + 1) <= step
        return {"x": drawn * torch.nan if ill else drawn}

    def loss(self, model, batch):
        return (model.weight @ batch["x"]).square().mean()

    def evaluate(self, model):
        return {"size": float(model.weight.square().sum())}

    def flops_per_step(self, model):
        return 1.0


@dataclass
class FittingPart:
    """Stands for a study's ``models.py``."""

    broken: dict[str, int] = field(default_factory=dict)
    stopped: dict[str, int] = field(default_factory=dict)
    problems: list[Fitting] = field(default_factory=list)

    def problem(self, job, dataset, streams) -> Fitting:
        assert not {"seed", "world"} & set(dataset)
        self.problems.append(Fitting(streams.replicate, self.broken, self.stopped))
        return self.problems[-1]


def fit(folder: Path, engine: str, part: FittingPart | None = None) -> TrainedChunk:
    folder.mkdir(exist_ok=True)
    budget = {"steps": 9, "learning_rate": 0.1, "evaluate_every": 3, "checkpoint_every": 2}
    job = SmallJob(variant="a", data=Small(worlds=WORLDS), training=budget)
    labels = [(seed, world) for seed in SEEDS for world in range(WORLDS)]
    dataset = pd.DataFrame(labels, columns=["seed", "world"]).assign(x=0.0)
    return train_part("exp0", part or FittingPart(), job, dataset, folder, engine)


@pytest.fixture(params=["sequential", "batched"])
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


def test_one_failed_world_fails_the_seed_and_no_other(tmp_path, engine):
    whole = fit(tmp_path / "whole", engine)
    chunk = fit(tmp_path / "failed", engine, FittingPart(broken={"101.1": 5}))
    assert [each.status for each in chunk.seeds] == ["finished", "failed"]
    assert chunk.seeds[1].reason == "world 1: the loss was nan at step 5"
    assert {name.partition("/")[0] for name in chunk.weights} == {"100", "100.1", "100.2"}
    assert_same_bits(chunk.weights, {name: whole.weights[name] for name in chunk.weights})
    curves, expected = chunk.curves(RUN), whole.curves(RUN)
    assert curves.loc[curves["seed"] == 101, "step"].max() == 3
    reached = expected[(expected["seed"] == 100) | (expected["step"] == 3)]
    pd.testing.assert_frame_equal(curves, reached.reset_index(drop=True), check_exact=True)


def test_a_seed_whose_world_fails_at_once_has_an_empty_curve_and_every_reason(tmp_path, engine):
    chunk = fit(tmp_path / "failed", engine, FittingPart(broken={"100": 1, "100.2": 4}))
    assert chunk.seeds[0].reason == (
        "world 0: the loss was nan at step 1; world 2: the loss was nan at step 4"
    )
    curves = chunk.curves(RUN)
    assert set(curves["seed"]) == {101}
    pd.testing.assert_series_equal(curves.dtypes, fit(tmp_path / "a", engine).curves(RUN).dtypes)


@pytest.mark.parametrize("world", ["100.1", "101", "101.2"])
def test_a_killed_job_resumes_to_the_same_bits(tmp_path, engine, world):
    with pytest.raises(StoppedError):
        fit(tmp_path / "killed", engine, FittingPart(stopped={world: 6}))
    again = FittingPart()
    resumed, whole = fit(tmp_path / "killed", engine, again), fit(tmp_path / "whole", engine)
    pd.testing.assert_frame_equal(resumed.curves(RUN), whole.curves(RUN), check_exact=True)
    assert_same_bits(resumed.weights, whole.weights)
    order = ["100", "100.1", "100.2", "101", "101.1", "101.2"]
    drawn = {problem.replicate: problem.batches for problem in again.problems}
    finished = order.index(world) if engine == "sequential" else 0
    left = [0] * finished + [5] + [9] * (len(order) - finished - 1)
    assert [drawn[name] for name in order] == (left if engine == "sequential" else [5] * 6)


def test_worlds_are_trained_one_after_the_other_or_at_once(tmp_path):
    for engine in ("sequential", "batched"):
        assert fit(tmp_path / engine, engine).execution.engine == engine
    names = {path.name for path in (tmp_path / "sequential").iterdir()}
    assert names == {f"seed-{seed}{w}.checkpoint" for seed in SEEDS for w in ("", ".1", ".2")}
    assert [path.name for path in (tmp_path / "batched").iterdir()] == ["seeds-100-101.checkpoint"]
