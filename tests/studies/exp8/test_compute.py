import math

import numpy as np
import pytest

from journeylab.models.value_embeddings import Fourier
from journeylab.streams import Streams
from journeylab.studies.exp8_value_embeddings.compute import compute, roughness, upper_share
from journeylab.studies.exp8_value_embeddings.models import predict
from journeylab.studies.exp8_value_embeddings.settings import VARIANTS, WIDTHS
from journeylab.training import train

from .results import make_computation, make_problem


@pytest.fixture(scope="module")
def certificates():
    return compute(make_computation("certificates", draws=2), None)


def closed_form(d, exponent, distance):
    """Σ cos(ω_i · distance/100) / (d/2), since sin² + cos² = 1 for every angle."""
    angles = [distance / 100 * 10_000 ** (-exponent * i / d) for i in range(d // 2)]
    return sum(map(math.cos, angles)) / (d // 2)


def test_printed_similarities_equal_the_closed_form_at_every_width(certificates):
    similarities = certificates[certificates["metric"] == "printed_similarity"]
    similarities = similarities.set_index(["exponent", "d", "pair"])["value"].sort_index()
    within = {}
    for name, exponent in (("-i/d", 1), ("-2i/d", 2)):
        for d in WIDTHS:
            near, far = closed_form(d, exponent, 1), closed_form(d, exponent, 40)
            assert similarities[name, d, "10-11"] == pytest.approx(near, abs=1e-12)
            assert similarities[name, d, "10-50"] == pytest.approx(far, abs=1e-12)
            if abs(near - 1.0) <= 5e-5 and abs(far - 0.9943) <= 5e-5:
                within.setdefault(name, []).append(d)
    assert within == {"-2i/d": [62, 64]}
    errors = certificates[certificates["metric"] == "printed_error"]
    exact = errors[errors["value"] <= 5e-5]
    assert list(zip(exact["exponent"], exact["d"], strict=True)) == [("-2i/d", 62), ("-2i/d", 64)]


def test_waves_complete_no_cycle_and_chance_decreases_with_width(certificates):
    values = certificates.set_index("metric")["value"]
    assert values["cycles"].max() == pytest.approx(1 / (2 * math.pi))
    chances = certificates[certificates["metric"] == "chance"].set_index("d")["value"]
    assert chances[512] < 0.01 < 0.2 < chances[64]
    assert chances.is_monotonic_decreasing


def test_every_draw_of_every_embedding_has_its_geometry():
    table = compute(make_computation("geometry", draws=2), None)
    assert set(table["embedding"]) == set(VARIANTS)
    cosines = table[table["metric"] == "untrained_cosine"].set_index(["embedding", "pair", "draw"])
    sinusoidal = cosines.sort_index().loc["sinusoidal", "value"]
    for pair, distance in (("10-11", 1), ("10-50", 40), ("1-100", 99)):
        for draw in (0, 1):
            assert sinusoidal[pair, draw] == pytest.approx(closed_form(16, 1, distance), abs=1e-6)
    values = table.set_index(["metric", "embedding"])["value"].sort_index()
    assert values["untrained_component", "scalar"].tolist() == pytest.approx([1, 1])
    assert (values["untrained_component", "sinusoidal"] > 0.98).all()
    assert (values["untrained_order", "discrete"].abs() < 0.1).all()
    assert (values["untrained_rank", "discrete"] > 10).all()


def test_the_higher_half_of_the_waves_carries_fine_and_coarse_differences_alike(certificates):
    rows = certificates.dropna(subset=["pair"]).set_index(["metric", "pair"])["value"].sort_index()
    for pair in ("50-51", "1-100"):
        upper, lower = (rows[f"{half}_share", pair].to_numpy() for half in ("upper", "lower"))
        assert (upper > 0.98).all()
        assert upper + lower == pytest.approx(1)


def test_the_share_of_a_wave_is_its_part_of_the_squared_distance():
    waves = Fourier(4, slowest=0.5, fastest=1.0)
    squares = [4 * math.sin(math.pi * cycles * 0.25) ** 2 for cycles in (0.5, 1.0)]
    assert upper_share(waves, 25, 50) == pytest.approx(squares[1] / sum(squares))


def test_a_straight_loss_is_smooth_and_one_jump_shows_in_the_root_mean_square_only():
    straight = np.linspace(3.0, 1.0, 82)
    assert roughness(straight)["loss_kink"] == pytest.approx(0.0, abs=1e-12)
    jump = roughness(straight + (np.arange(82) == 61))
    assert jump["loss_kink"] == pytest.approx(0.0, abs=1e-12)
    assert jump["loss_roughness"] == pytest.approx(math.sqrt(6 / 39))
    zigzag = roughness(1.0 + 0.1 * (-1.0) ** np.arange(82))
    assert zigzag["loss_kink"] == pytest.approx(0.4)
    assert zigzag["loss_relative_kink"] == pytest.approx(2 * math.log(1.1 / 0.9))
    assert roughness(straight[:5]) != roughness(straight[:4]) == {}


def test_the_plateau_of_a_model_that_has_not_begun_to_learn_is_not_smooth():
    zigzag = 1.0 + 0.1 * (-1.0) ** np.arange(82)
    late = np.where(np.arange(82) < 41, 0.5, zigzag)
    assert roughness(late) == roughness(zigzag)


@pytest.mark.parametrize("attention", ["axial", "full"])
def test_recorded_training_equals_the_training_of_the_run(build, tmp_path, attention):
    job = make_computation("learning", "hybrid50", steps=30, attention=attention)
    table = compute(job, Streams("exp8", 1000))
    problem = make_problem("hybrid50", attention, steps=30)
    settings = problem.job.training.model_copy(update={"evaluate_every": 6})
    trained = train(problem, settings, problem.streams, tmp_path / "checkpoint")
    means = trained.curve[trained.curve["metric"] == "train_loss"]["value"].to_numpy()
    values = table.set_index("metric")["value"]
    assert values["loss_area"] == pytest.approx(float(means.mean()), rel=1e-12)
    assert values["loss_roughness"] > 0
    early = table.dropna(subset=["moment"]).set_index(["moment", "decoder"])["value"].sort_index()
    assert set(early.index) == {(m, d) for m in ("untrained", "first") for d in ("token", "row")}
    logits = predict(build(problem), problem.select("iid").shown)
    valid = (np.sort(logits.argmax(-1), -1) == np.arange(3)).all(-1).mean()
    assert early["untrained", "row"] == pytest.approx(valid)
    # the test has fewer instances than the curve uses
    [valid, *_] = trained.curve[trained.curve["metric"] == "valid_row"]["value"]
    assert early["first", "row"] == pytest.approx(valid)
    [*_, optimal] = trained.curve[trained.curve["metric"] == "optimal_row"]["value"]
    assert values["reached"] == pytest.approx(optimal)
