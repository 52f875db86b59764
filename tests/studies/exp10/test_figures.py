import re
from dataclasses import replace
from importlib.resources import files
from types import SimpleNamespace

import pandas as pd
import pytest

from journeylab.catalogue import resolve_run
from journeylab.plotting import StudyResults, styled
from journeylab.studies.exp10_circuit_encoders import figures
from journeylab.studies.exp10_circuit_encoders.compute import compute
from journeylab.studies.exp10_circuit_encoders.measure import measure
from journeylab.studies.exp10_circuit_encoders.metrics import ARMS, LABELS
from journeylab.studies.exp10_circuit_encoders.settings import (
    Arm,
    Computation,
    Data,
    Evaluation,
    Job,
    Settings,
    Training,
)

RUNS = {"degree": ("sum", "tree"), "value": ("sum-wiring",), "heads-token": ("sum",)}


@pytest.fixture(scope="module")
def results(make_problem, build, computed) -> StudyResults:
    """Untrained models of two seeds, made-up curves, and the audit."""
    arms = {
        arm: Arm(
            task="value" if arm == "value" else "degree",
            head="token" if arm == "heads-token" else "last",
            variants=list(variants),
        )
        for arm, variants in RUNS.items()
    }
    training = Training(steps=2, learning_rate=0.1)
    settings = Settings(arms=arms, datasets={"circuits": Data()}, training=training)
    tables, curves = [], []
    for arm, variants in RUNS.items():
        for variant in variants:
            job = Job.model_validate(resolve_run("exp10", settings, arm, variant).settings)
            for seed in (1000, 1001):
                where = {"study": "exp10", "arm": arm, "variant": variant, "seed": seed}
                problem = make_problem(variant, job.task, job.head, seed=seed, every=20)
                model = build(problem)
                tables.append(measure(job, Evaluation(), problem, model).assign(**where))
                point = where | {"metric": "accuracy", "value": 0.3}
                curves += [point | {"step": step} for step in (1, 2)]
    for check in ("example", "encodings", "equivalence", "padding"):
        job = Computation(computed="audit", variant=check, draws=1)
        tables.append(computed("exp10", "audit", check, compute(job, None)))
    measured = pd.concat(tables, ignore_index=True)
    names = {"labels": LABELS, "arms": ARMS}
    return StudyResults("exp10", settings, measured, curves=pd.DataFrame(curves), **names)


def test_every_figure_has_a_caption_and_every_panel_its_ceiling(results):
    with styled():
        drawn = figures.draw(results)
    assert set(drawn) == set(figures.CAPTIONS)
    for name in ("accuracy", "learning", "heads"):
        for each in drawn[name].axes:
            assert "wiring-blind ceiling" in [line.get_label() for line in each.lines]
    assert len(drawn["accuracy"].axes) == 2


def test_tables_list_every_run_and_every_impossible_entry(results):
    tables = figures.tabulate(results)
    accuracies = tables["accuracies"].frame
    assert len(accuracies) == 4
    assert accuracies["Task"].tolist()[:3] == [ARMS["degree"], ARMS["degree"], ARMS["value"]]
    cells = tables["cells"].frame
    assert ["X, P and Y rounded", "P[1, 3]", "0.99", "1.00"] in cells.to_numpy().tolist()
    confused = tables["confused"].frame
    assert len(confused) == 16
    pairs = confused["Degree"].tolist()
    assert all(a != b for a, b in zip(pairs[::2], pairs[1::2], strict=True))
    for table in tables.values():
        assert "nan" not in table.frame.to_string()


def test_failed_seeds_are_counted(results):
    seeds = (SimpleNamespace(status="failed", seed=1001),)
    run = SimpleNamespace(arm="degree", variant="tree", seeds=seeds)
    frame = figures.tabulate(replace(results, runs=(run,)))["accuracies"].frame
    assert frame[frame["Failed"] != "0"]["Encoder"].tolist() == [LABELS["tree"]]


def test_every_number_of_the_prose_exists_for_any_set_of_runs(results):
    numbers = figures.numbers(results)
    prose = (files(figures.__package__) / "report.typ").read_text(encoding="utf-8")
    cited = set(re.findall(r'\bn\("([^"]+)"\)', prose))
    assert cited
    assert cited <= set(numbers)
    assert numbers["accuracy.value.tree"] == "n/a"
    assert numbers["accuracy.degree.tree"] != "n/a"


def test_without_training_nothing_is_drawn(results):
    alone = results.measurements[results.measurements["arm"] == "audit"]
    with styled():
        assert figures.draw(StudyResults("exp10", results.settings, alone)) == {}
