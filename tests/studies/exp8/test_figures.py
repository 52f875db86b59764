import re
from dataclasses import replace
from importlib.resources import files
from types import SimpleNamespace

import pandas as pd
import pytest

from journeylab.plotting import StudyResults, save, styled
from journeylab.studies.exp8_value_embeddings import figures
from journeylab.studies.exp8_value_embeddings.compute import compute
from journeylab.studies.exp8_value_embeddings.measure import measure
from journeylab.studies.exp8_value_embeddings.metrics import ARMS, LABELS
from journeylab.studies.exp8_value_embeddings.settings import (
    Arm,
    Data,
    Evaluation,
    Settings,
    Training,
)

RUNS = {
    "axial": ("discrete", "sinusoidal", "hybrid50"),
    "full": ("discrete",),
    "categorical": ("discrete", "sinusoidal"),
}


@pytest.fixture(scope="module")
def results(make_problem, make_computation, build, computed) -> StudyResults:
    """Untrained models of two seeds, made-up curves, and what is computed once."""
    tables, curves = [], []
    for arm, variants in RUNS.items():
        attention = "full" if arm == "full" else "axial"
        for variant in variants:
            for seed in (1000, 1001):
                where = {"study": "exp8", "arm": arm, "variant": variant, "seed": seed}
                problem = make_problem(variant, attention, seed=seed)
                model = build(problem)
                table = measure(problem.job, Evaluation(), problem, model)
                tables.append(table.assign(**where))
                points = problem.evaluate(model) | {"train_loss": 0.5}
                for metric, value in points.items():
                    point = where | {"metric": metric, "value": value}
                    curves += [point | {"step": step} for step in (1, 2)]
    for name in ("certificates", "geometry"):
        tables.append(computed("exp8", name, "all", compute(make_computation(name), None)))
    settings = Settings(
        datasets={"costs": Data()},
        arms={arm: Arm(variants=list(variants)) for arm, variants in RUNS.items()},
        training=Training(steps=2, learning_rate=0.1),
    )
    known = pd.concat(tables, ignore_index=True)
    names = {"labels": LABELS, "arms": ARMS}
    return StudyResults("exp8", settings, known, curves=pd.DataFrame(curves), **names)


@pytest.fixture(scope="module")
def drawn(results):
    with styled():
        return figures.draw(results)


def test_every_figure_has_a_caption(drawn):
    assert set(drawn) == set(figures.CAPTIONS)


def test_every_test_set_has_its_anchors_and_every_seed_a_dot(results, drawn):
    axes = {each.get_title("left"): each for each in drawn["tests"].axes}
    assert set(axes) == {"i.i.d.", "held-out values", "shifted costs"}
    for title, test in (("held-out values", "held-out"), ("i.i.d.", "iid")):
        [line] = [drawn for drawn in axes[title].lines if drawn.get_label() == "greedy"]
        rates = results.pool("greedy_optimal", test=test, arm="axial").groupby("seed")["value"]
        assert line.get_xdata()[0] == pytest.approx(rates.first().median())
        dots = sum(len(c.get_offsets()) for c in axes[title].collections)
        assert dots == 2 * len(RUNS["axial"])


def test_the_figure_of_printed_numbers_marks_the_documents_number_and_width(drawn):
    [axes] = drawn["printed"].axes
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["printed"].get_ydata()[0] == 0.9943
    assert lines["width of the document"].get_xdata()[0] == 512


def test_tables_list_every_run_and_the_widths_of_the_printed_numbers(results):
    tables = figures.tabulate(results)
    assert len(tables["rates"].frame) == sum(map(len, RUNS.values()))
    assert tables["printed"].frame["Printed at width"].tolist() == ["none", "62, 64"]
    geometry = tables["geometry"].frame.set_index("Embedding")
    assert geometry.loc[LABELS["scalar"], "1st component"] == "1.000"
    assert geometry.loc[LABELS["scalar"], "Order, trained"] == "n/a"
    assert geometry.loc[LABELS["discrete"], "Order, trained"] != "n/a"
    for table in tables.values():
        assert "nan" not in table.frame.to_string()


def test_failed_seeds_are_counted(results):
    seeds = (SimpleNamespace(status="failed", seed=1001),)
    run = SimpleNamespace(arm="full", variant="discrete", seeds=seeds)
    frame = figures.tabulate(replace(results, runs=(run,)))["rates"].frame
    assert frame.loc[frame["Failed"] != "0", "Arm"].tolist() == [ARMS["full"]]


def test_every_number_of_the_prose_exists_for_any_set_of_runs(results):
    numbers = figures.numbers(results)
    prose = (files(figures.__package__) / "report.typ").read_text(encoding="utf-8")
    cited = set(re.findall(r'\bn\("([^"]+)"\)', prose))
    assert cited
    assert cited <= set(numbers)
    assert numbers["optimal.axial.thermometer.iid"] == "n/a"
    assert numbers["widths.usual"] == "62, 64"
    assert not re.search(
        r'#n\("[^"]+"\);', prose
    )  # Typst would end the expression there and drop the semicolon


def test_without_training_only_printed_numbers_are_drawn_with_the_same_bytes(results, tmp_path):
    alone = results.measurements[results.measurements["arm"].isin(["certificates", "geometry"])]
    files_made = []
    for name in ("first", "second"):
        with styled():
            made = figures.draw(replace(results, measurements=alone, curves=None))
            assert set(made) == {"printed"}
            save(made["printed"], tmp_path / f"{name}.pdf")
        files_made.append((tmp_path / f"{name}.pdf").read_bytes())
    assert files_made[0] == files_made[1]
