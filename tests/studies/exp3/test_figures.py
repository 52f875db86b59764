import re
from dataclasses import replace
from importlib.resources import files
from math import comb
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection

from journeylab.catalogue import resolve_run
from journeylab.plotting import StudyResults, save, styled
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp3_order_information import figures
from journeylab.studies.exp3_order_information.compute import compute
from journeylab.studies.exp3_order_information.data import generate
from journeylab.studies.exp3_order_information.information import precision_law
from journeylab.studies.exp3_order_information.measure import measure
from journeylab.studies.exp3_order_information.metrics import ARMS, LABELS
from journeylab.studies.exp3_order_information.models import ProbeTraining
from journeylab.studies.exp3_order_information.settings import (
    LENGTHS,
    SETS,
    Arm,
    Computation,
    Data,
    Evaluation,
    Job,
    Model,
    Settings,
    Training,
)

RUNS = {"C2-d4": ("sum", "standard"), "C2-d16": ("standard",)}


def dataset(data, seed):
    return generate(data, data_streams("exp3", "strings", seed))


def enumerate_set(variant, **changes) -> pd.DataFrame:
    sizes = {"draws": 1, "lengths": (8, 12), "strings": 4096} | changes
    return compute(Computation(computed="enumeration", variant=variant, **sizes), None)


@pytest.fixture(scope="module")
def results(computed) -> StudyResults:
    """Untrained probes of two seeds, made-up curves and a small enumeration."""
    off = {"enabled": False}
    arms = {
        "C2-d4": Arm(colours=2, d=4, variants={"sum": {}, "mean": off, "standard": {}}),
        "C2-d16": Arm(colours=2, d=16, variants={"sum": off, "standard": {}}),
        "C4-d4": Arm(colours=4, d=4, enabled=False, variants={"sum": {}}),
    }
    settings = Settings(
        arms=arms,
        datasets={"strings": Data(held_out=20, seen=20)},
        model=Model(hidden=8),
        training=Training(steps=2, learning_rate=0.1),
    )
    tables = [computed("exp3", "enumeration", each, enumerate_set(each)) for each in SETS]
    curves = []
    for arm, variants in RUNS.items():
        for variant in variants:
            job = Job.model_validate(resolve_run("exp3", settings, arm, variant).settings)
            for seed in range(2):
                where = {"study": "exp3", "arm": arm, "variant": variant, "seed": seed}
                problem = ProbeTraining(job, dataset(job.data, seed))
                model = problem.build(Streams("exp3", seed).generator("init"))
                table = measure(problem.job, Evaluation(), problem, model)
                tables.append(table.assign(**where))
                for metric, value in problem.evaluate(model).items():
                    point = {"metric": metric, "value": value}
                    curves += [where | point | {"step": step} for step in (1, 2)]
    measured = pd.concat(tables, ignore_index=True)
    names = {"labels": LABELS, "arms": ARMS}
    return StudyResults("exp3", settings, measured, curves=pd.DataFrame(curves), **names)


@pytest.fixture(scope="module")
def drawn(results):
    with styled():
        return figures.draw(results)


def test_every_figure_has_a_caption_and_the_same_bytes_twice(results, drawn, tmp_path):
    assert set(drawn) == set(figures.CAPTIONS)
    with styled():
        for run, shown in (("first", drawn), ("second", figures.draw(results))):
            for name, figure in shown.items():
                save(figure, tmp_path / run / f"{name}.pdf")
    for first in (tmp_path / "first").iterdir():
        assert first.read_bytes() == (tmp_path / "second" / first.name).read_bytes()


def test_every_seed_is_a_point_and_every_length_has_a_ceiling(drawn):
    figure = drawn["positions"]
    points = [len(c.get_offsets()) for axes in figure.axes for c in axes.collections]
    probes, seeds, runs = 2, 2, 3
    assert sum(points) == probes * seeds * runs * 4
    for axes in figure.axes:
        [ceiling] = [x for x in axes.lines if x.get_label() == "order-blind ceiling"]
        assert len(ceiling.get_xdata()) == 4


def test_no_point_lies_outside_its_axes(results):
    """Overfitted probes: far fewer bits than none, and fewer right answers than by chance."""
    low = {"v_information": -70.0, "position_accuracy": 0.05, "count_accuracy": 0.0}
    overfitted = results.measurements.copy()
    for metric, value in low.items():
        rows = (overfitted["metric"] == metric) & (overfitted["seed"] == 1)
        overfitted.loc[rows & (overfitted["arm"] == "C2-d4"), "value"] = value
    with styled():
        drawn = figures.draw(replace(results, measurements=overfitted))
    lowest = {}
    for name, figure in drawn.items():
        for axes in figure.axes:
            for collection in filter(lambda c: isinstance(c, PathCollection), axes.collections):
                points = np.asarray(collection.get_offsets())
                (left, right), (bottom, top) = np.sort(axes.get_xlim()), axes.get_ylim()
                assert ((left <= points[:, 0]) & (points[:, 0] <= right)).all()
                assert ((bottom <= points[:, 1]) & (points[:, 1] <= top)).all()
                lowest[name] = min(lowest.get(name, np.inf), points[:, 1].min())
    shown = (lowest["bits"], lowest["positions"], lowest["counts"])
    assert shown == tuple(low.values())


def test_every_length_has_the_floor_of_its_counts(drawn):
    for axes in drawn["counts"].axes:
        [floors] = [x for x in axes.lines if x.get_label() == "best constant answer"]
        expected = [comb(n, n // 2) / 2**n for n in LENGTHS]
        assert list(floors.get_ydata()) == pytest.approx(expected)


def test_the_precision_law_is_drawn_where_it_binds(results, drawn):
    for axes in drawn["information"].axes:
        [law] = [line for line in axes.lines if line.get_label() == "law, N = 12"]
        known = max(x.get_ydata()[0] for x in axes.lines if list(x.get_xdata()) == [0, 1])
        assert axes.get_ylim()[0] < min(law.get_ydata()) < known
    exact = results.select("precision_law", frequencies="standard", d=4, N=12, epsilon="0.5")
    reach = figures._reach(results, {"frequencies": "standard", "d": 4, "N": 12})
    assert precision_law(4, reach, 0.5) == pytest.approx(exact["value"].item())


def test_table_has_every_set_length_and_width(results):
    frame = figures.tabulate(results)["information"].frame
    assert frame[["d", "N", "Frequencies"]].drop_duplicates().shape == (2 * 2 * len(SETS), 3)
    full = frame[(frame["Frequencies"] == "fast {1, 2}") & (frame["d"] == "16")]
    assert full["ε = 0.001"].tolist() == full["H"].tolist()


def test_failed_seeds_are_counted(results):
    seeds = [SimpleNamespace(seed=5, status="failed"), SimpleNamespace(seed=6, status="finished")]
    run = SimpleNamespace(arm="C2-d4", variant="sum", seeds=seeds)
    failing = replace(results, runs=(run,))
    with styled():
        axes = figures._draw_counts(failing).axes[0]
    assert [text.get_text() for text in axes.texts] == ["✗1"] * len(LENGTHS)
    frame = figures.tabulate(failing)["probes"].frame
    assert frame["Failed"].tolist() == ["1", "0", "0"]


def test_disabled_runs_have_no_panel_and_no_row(results, drawn):
    assert len(drawn["counts"].axes) == 2 * len(RUNS)
    frame = figures.tabulate(results)["probes"].frame
    assert len(frame) == 3
    assert "n/a" not in frame.to_string()
    assert "nan" not in frame.to_string()


def test_a_study_without_training_shows_its_enumeration(results):
    alone = results.measurements[results.measurements["arm"] == "enumeration"]
    with styled():
        drawn = figures.draw(replace(results, measurements=alone, curves=None))
    assert set(drawn) == {"information"}


def test_the_prose_has_its_numbers(results):
    cited = figures.numbers(results)
    assert cited["ceiling.8"] == pytest.approx(0.63671875)
    assert cited["held_out.8"] == 20
    assert cited["floor.20"] == comb(20, 10) / 2**20
    assert cited["lost.4"] == "n/a"
    prose = (files(figures.__package__) / "report.typ").read_text(encoding="utf-8")
    assert set(re.findall(r'\bn\("([^"]+)"\)', prose)) == set(cited)


def test_numbers_about_sixteen_tokens_equal_closed_forms(results, computed):
    """Quarter turns tell the counts of four classes of four positions, sixteen coordinates all."""
    sixteen = {"lengths": (16,), "strings": 2**16, "precisions": (0.1,)}
    tables = [
        computed("exp3", "enumeration", each, enumerate_set(each, **sixteen)) for each in SETS
    ]
    cited = figures.numbers(replace(results, measurements=pd.concat(tables, ignore_index=True)))
    assert cited["entropy.16"] == pytest.approx(12.954, abs=1e-3)
    assert cited["lost.4"] == pytest.approx(7.877, abs=1e-3)
    assert cited["lost.16"] == 0.0
    assert cited["quarter.16"] == 0.6875
    assert 0.5 < cited["coarsest.4"] < cited["coarsest.16"]
