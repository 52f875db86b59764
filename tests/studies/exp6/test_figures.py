import re
from dataclasses import replace
from importlib.resources import files
from types import SimpleNamespace

import pandas as pd
import pytest

from journeylab.catalogue import resolve_run
from journeylab.config import TrainingSettings
from journeylab.plotting import StudyResults, save, styled
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp6_coupling_rank import figures
from journeylab.studies.exp6_coupling_rank.compute import compute
from journeylab.studies.exp6_coupling_rank.data import generate
from journeylab.studies.exp6_coupling_rank.measure import measure
from journeylab.studies.exp6_coupling_rank.metrics import ARMS, LABELS
from journeylab.studies.exp6_coupling_rank.models import Coupling
from journeylab.studies.exp6_coupling_rank.settings import (
    FREQUENCIES,
    HEADS,
    Arm,
    Computation,
    Evaluation,
    Job,
    Model,
    Settings,
)

RUNS = {
    "random-toral": ("journey", "separable", "additive-scores"),
    "random-labels": ("journey-learned", "separable-matched"),
    "random-toral-scores": ("journey", "separable"),
}


@pytest.fixture(scope="module")
def results(make_job, computed) -> StudyResults:
    """Untrained models of two seeds, made-up curves, and one draw of every rank."""
    teacher = make_job("journey").data
    datasets = {"random-toral": teacher}
    datasets["random-labels"] = teacher.model_copy(update={"labels": "random"})
    arms = {
        arm: Arm(
            dataset=arm.removesuffix("-scores"),
            fit="scores" if arm.endswith("-scores") else "labels",
            variants=list(variants),
        )
        for arm, variants in RUNS.items()
    }
    settings = Settings(
        arms=arms,
        datasets=datasets,
        model=Model(restarts=2),
        training=TrainingSettings(steps=2, learning_rate=0.1),
    )
    tables, curves = [], []
    for arm, variants in RUNS.items():
        for variant in variants:
            job = Job.model_validate(resolve_run("exp6", settings, arm, variant).settings)
            for seed in (1000, 1001):
                where = {"study": "exp6", "arm": arm, "variant": variant, "seed": seed}
                streams = data_streams("exp6", arm.removesuffix("-scores"), seed)
                problem = Coupling(job, generate(job.data, streams))
                model = problem.build(Streams("exp6", seed).generator("init"))
                tables.append(measure(job, Evaluation(), problem, model).assign(**where))
                for metric, value in problem.evaluate(model).items():
                    point = where | {"metric": metric, "value": value}
                    curves += [point | {"step": step} for step in (1, 2)]
    for frequencies in FREQUENCIES:
        job = Computation(computed="rank", variant=frequencies, draws=1, positions=9, roles=2)
        tables.append(computed("exp6", "rank", frequencies, compute(job, None)))
    measured = pd.concat(tables, ignore_index=True)
    names = {"labels": LABELS, "arms": ARMS}
    return StudyResults("exp6", settings, measured, curves=pd.DataFrame(curves), **names)


@pytest.fixture(scope="module")
def drawn(results):
    with styled():
        return figures.draw(results)


def test_every_figure_has_a_caption_and_the_same_bytes_twice(results, drawn, tmp_path):
    assert set(drawn) == set(figures.CAPTIONS)
    with styled():
        again = figures.draw(results)["heads"]
        for name, figure in (("first", drawn["heads"]), ("second", again)):
            save(figure, tmp_path / f"{name}.pdf")
    assert (tmp_path / "first.pdf").read_bytes() == (tmp_path / "second.pdf").read_bytes()


def test_every_seed_and_every_ceiling_is_drawn(drawn):
    titled = {each.get_title("left"): each for each in drawn["heads"].axes}
    axes = titled[ARMS["random-toral"]]
    thin = [line for line in axes.lines if len(line.get_xdata()) == len(HEADS)]
    assert len(thin) == 2 * (2 + 1)  # two seeds and a median of two models
    for each in (*drawn["heads"].axes, *drawn["models"].axes):
        assert "position-blind ceiling" in [line.get_label() for line in each.lines]
    dots = sum(len(c.get_offsets()) for c in drawn["errors"].axes[0].collections)
    assert dots == 2 * len(HEADS)


def test_the_line_of_errors_is_the_eckart_young_error(results, drawn):
    [axes] = drawn["errors"].axes
    [line] = [line for line in axes.lines if line.get_label() == "Eckart–Young"]
    least = results.pool("eckart_young", arm="random-toral-scores", variant="separable")
    expected = least.groupby("H")["value"].median().clip(lower=1e-8)
    assert list(line.get_ydata()) == pytest.approx(list(expected))
    assert axes.get_ylim()[0] < 1e-8


def test_failed_seeds_are_counted(results):
    seeds = (SimpleNamespace(status="failed", seed=1001),)
    run = SimpleNamespace(arm="random-toral", variant="journey", seeds=seeds)
    frame = figures.tabulate(replace(results, runs=(run,)))["accuracies"].frame
    failed = frame[frame["Failed"] != "0"]
    assert failed["Model"].tolist() == [LABELS["journey"]]


def test_tables_list_every_run_and_every_rank(results):
    tables = figures.tabulate(results)
    accuracies = tables["accuracies"].frame
    assert len(accuracies) == 4 + 3
    rows = accuracies.set_index(["Arm", "Model"]).loc[ARMS["random-toral-scores"]]
    assert (rows.loc[LABELS["separable"], ["Accuracy", "8"]] == "").tolist() == [True, False]
    assert (rows.loc[LABELS["journey"], ["Accuracy", "8"]] == "").tolist() == [False, True]
    assert rows.loc[LABELS["separable"], "Parameters"] == "36 H"  # 12 positions, 3·8 others
    assert set(tables["errors"].frame["Arm"]) == {ARMS["random-toral-scores"]}
    assert tables["ranks"].frame["Rank"].tolist() == ["8", "8", "8", "8", "7", "7", "6", "6"]
    for table in tables.values():
        assert "nan" not in table.frame.to_string()


def test_every_number_of_the_prose_exists_for_any_set_of_runs(results):
    numbers = figures.numbers(results)
    prose = (files(figures.__package__) / "report.typ").read_text(encoding="utf-8")
    cited = set(re.findall(r'\bn\("([^"]+)"\)', prose))
    assert cited
    assert cited <= set(numbers)
    assert numbers["accuracy.random-toral.journey-learned"] == "n/a"
    assert numbers["accuracy.random-labels.journey-learned"] != "n/a"


def test_without_training_only_singular_values_are_drawn(results):
    alone = results.measurements[results.measurements["arm"] == "rank"]
    with styled():
        assert set(figures.draw(StudyResults("exp6", results.settings, alone))) == {"spectrum"}


def test_runs_that_are_missing_have_no_panel(results):
    table = results.measurements
    journey = table["variant"].isin(["journey", "decaying"])
    alone = replace(results, measurements=table[journey & (table["arm"] != "random-labels")])
    with styled():
        drawn = figures.draw(alone)
    assert set(drawn) == {"models", "spectrum", "learning"}
    assert len(drawn["models"].axes) == 1
