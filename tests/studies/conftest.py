"""What tests of several studies share."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from matplotlib.figure import Figure
from torch import Tensor, nn

from journeylab import catalogue
from journeylab.plotting import StudyResults, Table
from journeylab.reports.draw import all_tables
from journeylab.streams import Streams
from journeylab.training import Problem, Trained, train

from ..conftest import unchecked_types
from .gathering import draw


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Laws about the figures of a study are tested behind its folder: they need its figures too."""
    place = {item: number for number, item in enumerate(items)}
    last = {item.path.parent.name: place[item] for item in items}

    def behind(item: pytest.Item) -> int:
        shared = item.path.name == "test_figures_contract.py"
        study = cast(Any, item).callspec.params["study"] if shared else None
        return last.get(study, place[item])

    items.sort(key=behind)


@pytest.fixture(autouse=True)
def contracts_check_types(request: pytest.FixtureRequest) -> Iterator[None]:
    """The contracts of all studies check types; the tests of one study need not do it again."""
    of_study = request.path.parent != Path(__file__).parent
    with unchecked_types() if of_study else contextlib.nullcontext():
        yield


@pytest.fixture(scope="session")
def results_of() -> Callable[[str], StudyResults]:
    """The small results of a study: ``make_results()`` in the ``results.py`` beside its tests."""
    package = __name__.rpartition(".")[0]

    @cache
    def make(study: str) -> StudyResults:
        with unchecked_types():
            return import_module(f"{package}.{study}.results").make_results()

    return make


@pytest.fixture(scope="session")
def tables_of(results_of: Callable[[str], StudyResults]) -> Callable[[str], dict[str, Table]]:
    """The tables of the small results of a study."""
    return cache(lambda study: all_tables(results_of(study), catalogue.figures_part(study)))


def with_failures(results: StudyResults) -> StudyResults:
    """Results in which the first trained run has one failed seed, the second run two, …."""
    runs = []
    for count, run in enumerate(results.present, start=1):
        seeds = tuple(SimpleNamespace(seed=9000 + i, status="failed") for i in range(count))
        runs.append(SimpleNamespace(arm=run[0], variant=run[1], seeds=seeds))
    return replace(results, runs=tuple(runs))


@pytest.fixture(scope="session")
def drawn_of(results_of: Callable[[str], StudyResults]) -> Callable[[str], dict[str, Figure]]:
    """The figures of these results, in which seeds have failed."""
    return cache(lambda study: draw(with_failures(results_of(study))))


@pytest.fixture(scope="module")
def study(request: pytest.FixtureRequest) -> str:
    """The study whose folder holds the test, where a test does not name another."""
    return request.path.parent.name


@pytest.fixture(scope="module")
def results(study: str, results_of: Callable[[str], StudyResults]) -> StudyResults:
    """The small results of the study."""
    return results_of(study)


@pytest.fixture(scope="module")
def tables(study: str, tables_of: Callable[[str], dict[str, Table]]) -> dict[str, Table]:
    """The tables of these results."""
    return tables_of(study)


@pytest.fixture(scope="module")
def drawn(study: str, drawn_of: Callable[[str], dict[str, Figure]]) -> dict[str, Figure]:
    """The figures of these results, in which seeds have failed."""
    return drawn_of(study)


@pytest.fixture(scope="module")
def streams(study: str) -> Streams:
    """The streams of a pilot seed of the study."""
    return Streams(study, 1000)


@pytest.fixture(scope="module")
def build(streams: Streams) -> Callable[[Problem], nn.Module]:
    """A function: the untrained model of a problem."""
    return lambda problem: problem.build(streams.generator("init"))


@pytest.fixture(scope="module")
def draw_batch(streams: Streams) -> Callable[..., dict[str, Tensor]]:
    """A function: the batch of a problem at a step, by default at the first."""

    def drawn(problem: Problem, step: int = 1) -> dict[str, Tensor]:
        return problem.batch(step, streams.generator("order"), streams.generator("dropout"))

    return drawn


@pytest.fixture(scope="module")
def fit(
    streams: Streams,
    build: Callable[[Problem], nn.Module],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Any], tuple[Trained, nn.Module]]:
    """A function: a problem trained as its job says, and the model that it then has."""

    def trained(problem: Any) -> tuple[Trained, nn.Module]:
        path, model = tmp_path_factory.mktemp("fit") / "checkpoint", build(problem)
        with unchecked_types():
            done = train(problem, problem.job.training, streams, path)
        assert done.status == "finished"
        model.load_state_dict(done.state)
        return done, model.eval()

    return trained
