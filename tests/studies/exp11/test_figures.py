import re
from dataclasses import replace
from importlib.resources import files
from types import SimpleNamespace

import pandas as pd
import pytest

from journeylab.catalogue import resolve_run
from journeylab.plotting import StudyResults, styled
from journeylab.streams import Streams
from journeylab.studies.exp11_sabag_pooling import figures
from journeylab.studies.exp11_sabag_pooling.compute import compute
from journeylab.studies.exp11_sabag_pooling.measure import measure
from journeylab.studies.exp11_sabag_pooling.metrics import ARMS, LABELS
from journeylab.studies.exp11_sabag_pooling.settings import (
    Arm,
    Computation,
    Data,
    Evaluation,
    Job,
    Settings,
    Training,
)

RUNS = {
    "string-copy": ("sabag", "sabag-positions"),
    "string-sorted": ("sabag", "pma"),
    "sentence": ("sabag",),
}


@pytest.fixture(scope="module")
def results(make_problem, build, computed) -> StudyResults:
    """Untrained models and starts of two seeds, invented curves, and certificates."""
    arms = {
        arm: Arm(task=arm.removeprefix("string-"), dataset=dataset, variants=list(variants))
        for arm, variants in RUNS.items()
        for dataset in ("sentence" if arm == "sentence" else "strings",)
    }
    settings = Settings(
        arms=arms,
        datasets={"strings": Data(), "sentence": Data(source="document")},
        training=Training(steps=2, learning_rate=0.1),
    )
    tables, curves = [], []
    for seed in (1000, 1001):
        for arm, variants in RUNS.items():
            for variant in variants:
                job = Job.model_validate(resolve_run("exp11", settings, arm, variant).settings)
                where = {"study": "exp11", "arm": arm, "variant": variant, "seed": seed}
                problem = make_problem(variant, job.task, seed)
                made = measure(job, Evaluation(), problem, build(problem))
                tables.append(made.assign(**where))
                point = where | {"metric": "accuracy", "value": 0.3}
                curves += [point | {"step": step} for step in (1, 2)]
        for kind in ("ratio", "sign", "rates"):
            job = Computation(computed=kind, variant="all", steps=1)
            where = {"study": "exp11", "arm": kind, "variant": "all", "seed": seed}
            tables.append(compute(job, Streams("exp11", seed)).assign(**where))
    for check in ("forward", "hello", "kmeans", "shapes", "printed", "backward"):
        job = Computation(computed="exact", variant=check, draws=1)
        tables.append(computed("exp11", "exact", check, compute(job, None)))
    measured = pd.concat(tables, ignore_index=True)
    names = {"labels": LABELS, "arms": ARMS}
    return StudyResults("exp11", settings, measured, curves=pd.DataFrame(curves), **names)


def test_every_figure_has_a_caption_and_every_task_its_ceiling(results):
    with styled():
        drawn = figures.draw(results)
    assert set(drawn) == set(figures.CAPTIONS)
    assert len(drawn["accuracy"].axes) == 4  # three tasks, and exact match for one of them
    for each in (*drawn["accuracy"].axes, *drawn["learning"].axes):
        assert "permutation-invariant ceiling" in [line.get_label() for line in each.lines]
    claimed = [
        sum(line.get_label() == "claimed" for line in each.lines) for each in drawn["ratio"].axes
    ]
    assert claimed == [2, 0, 0, 0, 0]


def test_tables_show_accuracies_and_changes_of_the_loss(results):
    tables = figures.tabulate(results)
    accuracies = tables["accuracies"].frame
    assert len(accuracies) == 5
    assert (accuracies["Diagonal"] == "–").sum() == 2  # PMA has no S, the sentence no k = n
    changes = tables["changes"].frame
    counts = changes[["Rises", "Stays", "Falls"]].astype(int)
    assert (counts.sum(axis=1) == 2).all()
    doubles = changes["Precision"] == "float64"
    assert (counts.loc[doubles, "Falls"] == 2).all()
    assert len(tables["ratios"].frame) == 5 * 3


def test_failed_seeds_are_counted(results):
    seeds = (SimpleNamespace(status="failed", seed=1001),)
    run = SimpleNamespace(arm="sentence", variant="sabag", seeds=seeds)
    frame = figures.tabulate(replace(results, runs=(run,)))["accuracies"].frame
    assert frame[frame["Failed"] != "0"]["Task"].tolist() == [ARMS["sentence"]]


def test_the_prose_has_its_numbers_even_if_runs_are_missing(results):
    numbers = figures.numbers(results)
    prose = (files(figures.__package__) / "report.typ").read_text(encoding="utf-8")
    cited = set(re.findall(r'\bn\("([^"]+)"\)', prose))
    assert cited
    assert cited <= set(numbers)
    assert numbers["accuracy.string-extremes.kmeans"] == "n/a"
    alone = results.measurements[results.measurements["arm"] == "exact"]
    bare = replace(results, measurements=alone, curves=None)
    assert cited <= set(figures.numbers(bare))
    with styled():
        assert figures.draw(bare) == {}
