"""Nulls stand in the figures, every seed is a point, and tables tell both stages."""

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
    """Models as they start; curves of two steps."""
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


def test_every_figure_has_a_caption_and_the_same_bytes_twice(results, drawn, tmp_path):
    assert set(drawn) == set(figures.CAPTIONS)
    with styled():
        for run, shown in (("first", drawn), ("second", figures.draw(results))):
            for name in ("single", "angles", "loss"):  # one of every form
                save(shown[name], tmp_path / run / f"{name}.pdf")
    for first in (tmp_path / "first").iterdir():
        assert first.read_bytes() == (tmp_path / "second" / first.name).read_bytes()


@pytest.mark.parametrize(("name", "arm"), [("single", "single-0"), ("positions", "positions-free")])
def test_the_null_stands_beside_every_measure(results, drawn, name, arm):
    figure = drawn[name]
    assert {t.get_text() for t in figure.legends[0].get_texts()} == {
        figures.NULL,
        *figures.STAGE.values(),
    }
    for axes in figure.axes:
        dots = sum(len(c.get_offsets()) for c in axes.collections)
        assert dots == 2 * SEEDS + DRAWS
    named = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert named == [f"{LABELS[RUNS[arm][0]]}, {ARMS[arm]}"]


def test_tables_tell_both_stages_and_the_range_of_the_null(results):
    tables = figures.tabulate(results)
    single = tables["single"].frame.set_index(["Operators", "Start"])
    assert list(single.index) == [("one R", "near the identity"), ("fixed", "RoPE")]
    after, before = single.loc[("one R", "near the identity"), "off-block"].split(" ")
    assert before == f"({after})"  # nothing was trained
    assert single.loc[("fixed", "RoPE"), "off-block"] == "0.00"
    assert {"commutator", "joint off-block"} < set(tables["positions"].frame.columns)
    null = tables["null"].frame.set_index("Measure")
    assert null.loc["commutator of R − I", "Gaussian, one R"] == "–"
    assert " – " in null.loc["commutator of R − I", "Gaussian, R_s"]


def test_numbers_that_the_prose_cites(results):
    found = figures.numbers(results)
    assert found["gauge_error.max"] < 1e-9
    assert found["blocks_found.least"] > 0.1 > found["blocks_found.max"]
    assert found["bigram"] < found["unigram"]
    assert found["letters"] == 10
    assert {"loss.single-0.near-identity", "loss.controls.rope"} <= set(found)
