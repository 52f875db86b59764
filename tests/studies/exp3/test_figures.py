import pandas as pd
import pytest

from journeylab.plotting import StudyResults, save, styled
from journeylab.studies.exp3_order_information import figures
from journeylab.studies.exp3_order_information.certify import certify
from journeylab.studies.exp3_order_information.data import generate
from journeylab.studies.exp3_order_information.measure import measure
from journeylab.studies.exp3_order_information.models import Strings
from journeylab.studies.exp3_order_information.settings import (
    Arm,
    Certificates,
    Data,
    Evaluation,
    Job,
    Model,
    Settings,
    Training,
)
from journeylab.training import Streams

RUNS = {"C2-d4": ("sum", "standard"), "C2-d16": ("standard",)}


@pytest.fixture(scope="module")
def results() -> StudyResults:
    """Untrained probes of two seeds, made-up curves and a small enumeration."""
    off = {"enabled": False}
    arms = {
        "C2-d4": Arm(colours=2, d=4, variants={"sum": {}, "mean": off, "standard": {}}),
        "C2-d16": Arm(colours=2, d=16, variants={"sum": off, "standard": {}}),
        "C4-d4": Arm(colours=4, d=4, enabled=False, variants={"sum": {}}),
    }
    certificates = Certificates(draws=1, lengths=(8, 12), strings=4096)
    settings = Settings(
        arms=arms,
        data=Data(held_out=20, seen=20),
        model=Model(hidden=8),
        training=Training(steps=2, learning_rate=0.1),
        certificates=certificates,
    )
    tables = [certify(certificates).assign(study="exp3", arm="certificate")]
    curves = []
    for arm, variants in RUNS.items():
        for variant in variants:
            job = settings.job(arm, variant)
            for seed in range(2):
                where = {"study": "exp3", "arm": arm, "variant": variant, "seed": seed}
                problem = Strings(Job.model_validate(job), generate(settings.data, seed))
                model = problem.build(Streams(seed).generator("init"))
                table = measure(problem.job, Evaluation(), problem, model)
                tables.append(table.assign(**where))
                for metric, value in problem.evaluate(model).items():
                    point = {"metric": metric, "value": value}
                    curves += [where | point | {"step": step} for step in (1, 2)]
    measured = pd.concat(tables, ignore_index=True)
    return StudyResults("exp3", settings, measured, curves=pd.DataFrame(curves))


def test_every_figure_has_a_caption_and_the_same_bytes_twice(results, tmp_path):
    written = []
    for run in ("first", "second"):
        with styled():
            drawn = figures.draw(results)
            for name, figure in drawn.items():
                save(figure, tmp_path / run / f"{name}.pdf")
        written.append({n: (tmp_path / run / f"{n}.pdf").read_bytes() for n in drawn})
    assert set(written[0]) == set(figures.CAPTIONS)
    assert written[0] == written[1]


def test_every_seed_is_a_point_and_every_length_has_its_ceiling(results):
    with styled():
        figure = figures.draw(results)["positions"]
    points = [len(c.get_offsets()) for axes in figure.axes for c in axes.collections]
    seeds, linear = 2 * 3 * 4, 3 * 4
    assert sum(points) == seeds + linear
    for axes in figure.axes:
        labels = [line.get_label() for line in axes.lines]
        assert labels.count("order-blind ceiling") == 4


def test_what_is_off_has_no_panel_and_no_row(results):
    with styled():
        assert len(figures.draw(results)["counts"].axes) == len(RUNS)
    frame = figures.tabulate(results)["probes"].frame
    assert len(frame) == 3
    assert "n/a" not in frame.to_string()
    assert "nan" not in frame.to_string()


def test_a_study_without_training_shows_its_enumeration(results):
    alone = results.measurements[results.measurements["arm"] == "certificate"]
    with styled():
        drawn = figures.draw(StudyResults("exp3", results.settings, alone))
    assert set(drawn) == {"information"}


def test_the_prose_has_its_numbers(results):
    found = figures.numbers(results)
    assert found["ceiling.2.8"] == pytest.approx(0.63671875)
    assert found["held_out.2.8"] == 20
    assert found["lost.12"] > 1.0
