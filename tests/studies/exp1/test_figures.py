import re
from dataclasses import replace

import pandas as pd
import pytest
import torch

from journeylab.plotting import StudyResults, save, styled
from journeylab.studies.exp1_group_languages.compute import compute
from journeylab.studies.exp1_group_languages.figures import CAPTIONS, draw, numbers, tabulate
from journeylab.studies.exp1_group_languages.measure import measure
from journeylab.studies.exp1_group_languages.metrics import LABELS
from journeylab.studies.exp1_group_languages.settings import (
    Arm,
    Computation,
    Data,
    Evaluation,
    Settings,
    Training,
)

RUNS = [("A", "toral-product"), ("B", "toral-product"), ("B", "linear-aggregation")]
RUNS += [("S3", "orthogonal-product")]
SEEDS = 3


@pytest.fixture(scope="module")
def results(make_problem, computed) -> StudyResults:
    """Untrained models of a few variants; the others are disabled."""
    torch.set_num_threads(1)
    job = Computation(
        computed="certificates", variant="all", strings=10, length=20, enumerate=4, draws=1
    )
    tables = [computed("exp1", "certificates", "all", compute(job, None))]
    for arm, variant in RUNS:
        for seed in range(SEEDS):
            problem = make_problem(variant, arm, seed=seed)
            model = problem.build(problem.streams.generator("init"))
            where = {"study": "exp1", "arm": arm, "variant": variant, "seed": seed}
            tables.append(
                measure(problem.job, Evaluation(strings=10), problem, model).assign(**where)
            )
    arms = {
        arm: Arm(
            task=arm,
            variants={variant: {} for run_arm, variant in RUNS if run_arm == arm}
            | {"complex-product": {"enabled": False}},
        )
        for arm, _ in RUNS
    }
    settings = Settings(
        datasets={"strings": Data()}, arms=arms, training=Training(steps=1, learning_rate=0.1)
    )
    table = pd.concat(tables, ignore_index=True)
    return StudyResults("exp1", settings, table, labels=LABELS)


@pytest.fixture(scope="module")
def drawn(results):
    with styled():
        return draw(results)


def test_every_figure_has_a_caption_and_the_same_bytes_twice(results, drawn, tmp_path):
    assert set(drawn) == set(CAPTIONS)
    with styled():
        for run, shown in (("first", drawn), ("second", draw(results))):
            for name, figure in shown.items():
                save(figure, tmp_path / run / f"{name}.pdf")
    for first in (tmp_path / "first").iterdir():
        assert first.read_bytes() == (tmp_path / "second" / first.name).read_bytes()


def test_every_panel_has_a_labelled_ceiling(drawn):
    for axes in drawn["accuracy"].axes:
        assert "Parikh ceiling" in {line.get_label() for line in axes.get_lines()}
    [legend] = drawn["worst"].legends
    assert "Parikh ceiling" in {text.get_text() for text in legend.get_texts()}


def test_every_seed_is_a_point(drawn):
    points = sum(len(c.get_offsets()) for axes in drawn["worst"].axes for c in axes.collections)
    assert points == SEEDS * len(RUNS)


def test_tables_mark_untrained_cases_with_a_dash(results):
    tables = tabulate(results)
    solved = tables["solved"].frame.set_index(["Family", "Form"])
    assert solved.loc[("toral", "product state"), "A"] == f"0/{SEEDS}"
    assert solved.loc[("toral", "product state"), "Z6"] == "–"
    assert ("complex diagonal", "product state") not in solved.index
    for table in tables.values():
        assert set(table.numeric) <= set(table.frame.columns)


def test_overflowing_strings_are_reported_as_overflow_not_as_errors(results):
    table = results.measurements
    far = (table["n"] == 200) & (table["variant"] == "linear-aggregation")
    lost = table["value"].mask(far & (table["metric"] == "overflow"), 1.0)
    overflowing = table.assign(value=lost)[~(far & (table["metric"] == "accuracy"))]
    tables = tabulate(replace(results, measurements=overflowing))
    cell = ("general linear", "aggregation"), "B"
    for length, pattern in ((100, r"0\.\d\d"), (200, "100 % overflow")):
        frame = tables[f"far-{length}"].frame.set_index(["Family", "Form"])
        assert re.fullmatch(pattern, frame.loc[cell])


def test_numbers_for_the_prose_equal_those_of_the_tasks(results):
    cited = numbers(results)
    assert {
        "order.S3": 6,
        "order.A5": 60,
        "order.Z6": 6,
        "runs": len(RUNS),
    }.items() <= cited.items()
    assert cited["ceiling.Bbal.50"] == 0.5
    assert cited["aggregator.overflows"] == 4
