"""Figures show the null and every seed; tables show both stages."""

import pandas as pd
import pytest

from journeylab.config import ExternalFile
from journeylab.plotting import StudyResults, save, styled
from journeylab.studies.exp4_operator_recovery import figures
from journeylab.studies.exp4_operator_recovery.compute import compute
from journeylab.studies.exp4_operator_recovery.measure import measure
from journeylab.studies.exp4_operator_recovery.metrics import ARMS, LABELS
from journeylab.studies.exp4_operator_recovery.settings import (
    CHECKS,
    STARTS,
    Arm,
    Computation,
    Data,
    Evaluation,
    Model,
    Settings,
    Training,
)

SEEDS, DRAWS = 2, 3
SMALL = Model(d=4, length=16)
RUNS = {
    "single-0": ("near-identity", {}),
    "positions-free": ("near-identity", {"operators": "each"}),
    "controls": ("rope", {"operators": "fixed"}),
}


@pytest.fixture(scope="module")
def results(make_problem, computed):
    """Untrained models; curves of two steps."""
    tables, curves = [], []
    for arm, (variant, of) in RUNS.items():
        for seed in range(SEEDS):
            problem = make_problem(variant, seed=1000 + seed, model=SMALL, **of)
            model = problem.build(problem.streams.generator("init")).eval()
            rows = measure(problem.job, Evaluation(windows=20, null_draws=100), problem, model)
            where = {"study": "exp4", "arm": arm, "variant": variant, "seed": seed}
            tables.append(rows.assign(**where))
            curve = pd.DataFrame({"step": [0, 9], "metric": "loss", "value": [3.0, 2.0 + seed]})
            curves.append(curve.assign(**where))
    computations = [("random-one", "random", s, "one") for s in STARTS]
    computations += [("random-each", "random", s, "each") for s in STARTS]
    computations += [("certificates", "certificates", c, "each") for c in CHECKS]
    for arm, kind, variant, operators in computations:
        job = Computation(
            computed=kind, variant=variant, operators=operators, draws=DRAWS, model=SMALL
        )
        tables.append(computed("exp4", arm, variant, compute(job, None)))
    settings = Settings(
        datasets={"corpus": Data(file=ExternalFile(sha256="0" * 64))},
        arms={arm: Arm(variants=[variant], **of) for arm, (variant, of) in RUNS.items()},
        training=Training(steps=9, learning_rate=0.1),
    )
    known = pd.concat(tables, ignore_index=True)
    return StudyResults("exp4", settings, known, curves=pd.concat(curves), labels=LABELS, arms=ARMS)


@pytest.fixture(scope="module")
def drawn(results):
    with styled():
        return figures.draw(results)


def test_every_figure_has_a_caption_and_is_reproducible(results, drawn, tmp_path):
    assert set(drawn) == set(figures.CAPTIONS)
    with styled():
        for run, shown in (("first", drawn), ("second", figures.draw(results))):
            for name in ("single", "angles", "loss"):  # three kinds of figures
                save(shown[name], tmp_path / run / f"{name}.pdf")
    for first in (tmp_path / "first").iterdir():
        assert first.read_bytes() == (tmp_path / "second" / first.name).read_bytes()


@pytest.mark.parametrize(("name", "arm"), [("single", "single-0"), ("positions", "positions-free")])
def test_the_null_is_drawn_beside_every_metric(results, drawn, name, arm):
    figure = drawn[name]
    assert {t.get_text() for t in figure.legends[0].get_texts()} == {
        figures.NULL,
        *figures.STAGE.values(),
    }
    for axes in figure.axes:
        dots = sum(len(c.get_offsets()) for c in axes.collections)
        assert dots == 2 * SEEDS + DRAWS
    named = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert named == [f"{LABELS[RUNS[arm][0]]}\n{ARMS[arm]}"]


def test_tables_show_both_stages_and_the_range_of_the_null(results):
    tables = figures.tabulate(results)
    single = tables["single"].frame.set_index(["Operators", "Start"])
    assert list(single.index) == [("one R", "near identity"), ("fixed R", "RoPE")]
    after, before = single.loc[("one R", "near identity"), "off-block"].split(" ")
    assert before == f"({after})"  # nothing was trained
    assert single.loc[("fixed R", "RoPE"), "off-block"] == "0.00"
    assert {"commutator", "joint off-block"} < set(tables["positions"].frame.columns)
    null = tables["null"].frame.set_index("Measure")
    assert null.loc["commutator of R − I", "Gaussian, one R"] == "–"
    assert " – " in null.loc["commutator of R − I", "Gaussian, R per position"]


def test_the_prose_cites_numbers_that_exist(results):
    numbers = figures.numbers(results)
    assert numbers["gauge_error.max"] < 1e-9
    assert numbers["blocks_found.least"] > 0.1 > numbers["blocks_found.max"]
    assert numbers["bigram"] < numbers["unigram"]
    assert numbers["letters"] == 10
    assert {"loss.single-0.near-identity", "loss.controls.rope"} <= set(numbers)
