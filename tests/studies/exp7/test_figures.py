import pandas as pd
import pytest
import torch

from journeylab.plotting import StudyResults, styled
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.figures import CAPTIONS, draw, numbers, tabulate
from journeylab.studies.exp7_native_kg.measure import measure
from journeylab.studies.exp7_native_kg.models import Knowledge
from journeylab.studies.exp7_native_kg.settings import Arm, Data, Evaluation, Settings, Training

RUNS = [("native", "A"), ("7a", "B"), ("7b-held", "B"), ("7b-held", "C")]
LINEARISATIONS = {"native": "none", "7a": "all", "7b-held": "held"}


def dataset(data, seed):
    return generate(data, data_streams("exp7", "world", seed))


@pytest.fixture(scope="module")
def results(make_job) -> StudyResults:
    """Untrained models of two seeds, and made-up curves."""
    torch.set_num_threads(1)
    measured, curves = [], []
    for arm, variant in RUNS:
        for seed in range(2):
            where = {"study": "exp7", "arm": arm, "variant": variant, "seed": seed}
            job = make_job(variant, LINEARISATIONS[arm])
            problem = Knowledge(job, dataset(job.data, seed))
            model = problem.build(Streams("exp7", seed).generator("init"))
            measured.append(measure(job, Evaluation(), problem, model).assign(**where))
            for metric, value in problem.evaluate(model).items():
                point = {"step": 100, "metric": metric, "value": value}
                curves += [where | point, where | point | {"step": 200}]
    arms = {
        arm: Arm(
            linearisation=LINEARISATIONS[arm],
            variants={variant: {} for each, variant in RUNS if each == arm},
        )
        for arm in LINEARISATIONS
    }
    settings = Settings(
        datasets={"world": Data()}, arms=arms, training=Training(steps=1, learning_rate=0.1)
    )
    return StudyResults("exp7", settings, pd.concat(measured), curves=pd.DataFrame(curves))


def test_every_figure_has_a_caption_and_labelled_floors(results):
    with styled():
        figures = draw(results)
    assert set(figures) == {"tiers", "formats", "perplexity"} <= set(CAPTIONS)
    for axes in figures["tiers"].axes:
        written = " ".join(text.get_text() for text in axes.texts)
        assert all(name in written for name in ("any entity", "any of the type", "marginal"))


def test_points_show_every_seed(results):
    with styled():
        axes = draw(results)["tiers"].axes[1]
    points = sum(len(each.get_offsets()) for each in axes.collections)
    assert points == 2 * len(RUNS)


def test_tables_have_a_row_per_run_and_count_undertrained_seeds(results):
    tables = tabulate(results)
    for table in tables.values():
        assert len(table.frame) == len(RUNS)
        assert set(table.numeric) <= set(table.frame.columns)
    assert tables["hits"].frame["Trained"].tolist() == ["0/2"] * len(RUNS)


def test_numbers_are_those_of_the_world(results):
    found = numbers(results)
    expected = {
        "entities": 45,
        "facts.base": 55,
        "facts.derived": 47,
        "rows.text": 255,
        "rows.triples": 96,
        "rows.7a": 288,
        "slot.width": 6,
        "runs.finished": 8,
        "runs.undertrained": 8,
    }
    assert expected.items() <= found.items()
