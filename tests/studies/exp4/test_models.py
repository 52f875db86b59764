"""The text, the model, its penalties, its metrics, and what the arms of a seed share."""

import math
from pathlib import Path

import pytest
import torch
import yaml
from torch.nn.functional import cross_entropy

from journeylab.catalogue import printed_names
from journeylab.datasets.shakespeare import Passages, bigram_entropy, unigram_entropy
from journeylab.records.files import sha256
from journeylab.streams import data_streams
from journeylab.studies.exp4_operator_recovery import compute as computing
from journeylab.studies.exp4_operator_recovery import models, settings
from journeylab.studies.exp4_operator_recovery.compute import compute
from journeylab.studies.exp4_operator_recovery.data import generate
from journeylab.studies.exp4_operator_recovery.measure import measure
from journeylab.studies.exp4_operator_recovery.models import commutator, mean_loss, orthogonality
from journeylab.studies.exp4_operator_recovery.recovery import describe
from journeylab.studies.exp4_operator_recovery.settings import Data

from ..gathering import assert_causal, values_of
from .results import SMALL, make_problem

RUNS = {
    "single": ("near-identity", {}),
    "gaussian": ("gaussian", {}),
    "positions": ("orthogonal", {"operators": "each"}),
    "control": ("rope", {"operators": "fixed"}),
}


@pytest.mark.parametrize("run", RUNS)
def test_arms_of_a_seed_start_with_the_same_weights_around_their_operators(build, run):
    variant, of = RUNS[run]
    first, other = build(make_problem()), build(make_problem(variant, **of))
    names = {name for name, _ in first.named_parameters()} - {"operators"}
    assert names == {name for name, _ in other.named_parameters()} - {"operators"}
    weights, others = first.state_dict(), other.state_dict()
    assert all(torch.equal(weights[name], others[name]) for name in names)


def test_the_initial_scale_is_a_factor_of_all_that_is_drawn_but_rotations(build):
    plain, halved = SMALL, SMALL.model_copy(update={"initial_scale": 0.5})
    for variant, of in (("near-identity", {}), ("frozen", {"operators": "fixed"})):
        first, other = (
            build(make_problem(variant, model=model, **of)).state_dict()
            for model in (plain, halved)
        )
        drawn = {name for name, value in first.items() if value.dim() == 2}
        assert len(drawn) == 6
        for name in set(first) - {"operators"}:
            assert torch.equal(other[name], first[name] * (0.5 if name in drawn else 1.0)), name
        away = torch.eye(4) if variant == "near-identity" else torch.zeros(4, 4)
        factor = 0.5 if variant == "near-identity" else 1.0
        torch.testing.assert_close(other["operators"] - away, factor * (first["operators"] - away))


@pytest.mark.parametrize("run", RUNS)
def test_logits_do_not_depend_on_later_characters(build, run):
    variant, of = RUNS[run]
    problem = make_problem(variant, **of)
    model, inputs = build(problem), problem.held_out.read(16).inputs[:3].clone()
    assert_causal(model, inputs, len(problem.seen.alphabet))


@pytest.mark.parametrize(
    ("of", "penalty"),
    [
        ({}, lambda r: 0.0),
        ({"orthogonality": 0.3}, lambda r: 0.3 * orthogonality(r)),
        ({"operators": "each", "orthogonality": 0.1}, lambda r: 0.1 * orthogonality(r)),
        ({"operators": "each", "commutator": 0.2}, lambda r: 0.2 * commutator(r)),
    ],
)
def test_the_loss_is_cross_entropy_plus_the_penalty(build, draw_batch, of, penalty):
    problem = make_problem("near-identity", **of)
    model, batch = build(problem), draw_batch(problem)
    with torch.no_grad():
        logits = model(batch["inputs"])
        entropy = cross_entropy(logits.flatten(0, 1), batch["targets"].flatten())
        expected = entropy + penalty(model.operators)
        torch.testing.assert_close(problem.loss(model, batch), expected)
    assert abs(entropy - math.log(len(problem.seen.alphabet))) < 0.1  # untrained


def test_held_out_loss_is_the_mean_over_all_characters(build, monkeypatch):
    monkeypatch.setattr(models, "WINDOWS", 50)
    problem = make_problem()
    model, windows = build(problem), problem.held_out.read(16)
    with torch.no_grad():
        whole = cross_entropy(model(windows.inputs).flatten(0, 1), windows.targets.flatten())
        assert len(windows.inputs) % 50
        assert mean_loss(model, windows) == pytest.approx(whole.item(), rel=1e-5)


@pytest.mark.parametrize(
    ("variant", "kind", "moves"), [("orthogonal", "each", 1), ("rope", "fixed", 0)]
)
def test_operators_are_trained_unless_they_are_fixed(build, fit, variant, kind, moves):
    problem = make_problem(variant, operators=kind)
    before, (_, after) = build(problem), fit(problem)
    assert torch.equal(before.operators, after.operators) == (not moves)
    assert not torch.equal(before.head.weight, after.head.weight)
    windows = problem.held_out.read(16)
    with torch.no_grad():
        assert mean_loss(after, windows) < mean_loss(before, windows)


CORPUS = Path(__file__).parents[4] / "shared" / "data" / "tinyshakespeare.txt"
CONFIG = yaml.safe_load((Path(__file__).parents[3] / "config.yaml").read_text(encoding="utf-8"))
WRITTEN = CONFIG["studies"]["exp4"]["datasets"]["corpus"]


@pytest.mark.skipif(not CORPUS.exists(), reason="no copy of Tiny Shakespeare")
def test_the_copy_of_tiny_shakespeare_is_the_configured_file():
    assert sha256(CORPUS) == WRITTEN["file"]["sha256"]
    assert CORPUS.stat().st_size == WRITTEN["file"]["bytes"]
    data = Data.model_validate(WRITTEN)
    tables = [generate(data, data_streams("exp4", "corpus", seed), CORPUS) for seed in (1000, 1001)]
    parts = [table["part"].tolist() for table in tables]
    assert parts[0] != parts[1]
    assert [part.count("held-out") for part in parts] == [round(0.1 * len(tables[0]))] * 2
    seen, held_out = (Passages.of(tables[0], part) for part in ("train", "held-out"))
    assert len(seen.alphabet) == 65
    assert 3.2 < unigram_entropy(seen, held_out) < 3.4  # nats: letters of English
    assert 2.4 < bigram_entropy(seen, held_out) < 2.6


def test_the_location_of_the_file_is_no_part_of_the_dataset():
    elsewhere = WRITTEN | {"file": WRITTEN["file"] | {"path": "a/copy.txt", "url": None}}
    assert Data.model_validate(elsewhere).model_dump() == Data.model_validate(WRITTEN).model_dump()


METRICS = printed_names("exp4").metrics

FEW = settings.Evaluation(windows=40, null_draws=100)


def altered(problem):
    """A model as training might leave it: its operators differ from the initial ones."""
    model = problem.build(problem.streams.generator("init")).eval()
    with torch.no_grad():
        model.operators.mul_(1.5)
    return model


@pytest.mark.parametrize(
    ("variant", "of", "count"),
    [
        ("gaussian", {}, 1),
        ("near-identity", {"operators": "each"}, 15),
        ("identity", {"operators": "fixed"}, 1),
    ],
)
def test_both_stages_are_measured(variant, of, count):
    problem = make_problem(variant, **of)
    model = altered(problem)
    table = measure(problem.job, FEW, problem, model)
    first = problem.build(problem.streams.generator("init")).operators.detach().double().numpy()
    assert len(first) == count
    for stage, operators in (("initial", first), ("trained", 1.5 * first)):
        wanted = describe(operators, problem.streams.numpy("bases"))
        for metric, value in wanted.items():
            [measured] = values_of(table, metric, stage=stage)
            assert measured == pytest.approx(value, abs=1e-6), metric
        angles = (
            values_of(table, "leading_angle", stage=stage)
            if count > 1
            else values_of(table, "eigen_angle", stage=stage)
        )
        assert len(angles) == (count if count > 1 else 4)
    [loss], [bigram] = values_of(table, "loss", stage="trained"), values_of(table, "bigram")
    assert values_of(table, "gain").item() == pytest.approx(bigram - loss)
    assert bigram < values_of(table, "unigram").item()


def test_the_commutator_ratio_is_final_over_initial():
    problem = make_problem("near-identity", operators="each")
    table = measure(problem.job, FEW, problem, altered(problem))
    [before], [after] = (values_of(table, "commutator", stage=s) for s in ("initial", "trained"))
    assert values_of(table, "commutator_ratio").item() == pytest.approx(after / before)
    single = make_problem("near-identity")
    assert "commutator" not in set(measure(single.job, FEW, single, altered(single))["metric"])


def computed_rows(computed, variant, draws=2, operators="each", model=SMALL):
    job = settings.Computation(
        computed=computed, variant=variant, operators=operators, draws=draws, model=model
    )
    return compute(job, None)


@pytest.mark.parametrize("operators", ["one", "each"])
def test_random_operators_have_the_metrics_of_trained_operators(operators):
    table = computed_rows("random", "gaussian", 3, operators)
    problem = make_problem("gaussian", operators=operators)
    measured = measure(problem.job, FEW, problem, altered(problem))
    staged = {m for m in measured["metric"] if list(METRICS[m].factors) == ["stage"]}
    assert set(table["metric"]) == staged - {"loss"}
    assert table[table["metric"] == "off_block"]["value"].nunique() == 3


def test_a_scan_in_the_wrong_order_breaks_its_certificate(monkeypatch):
    right = computing.transports
    monkeypatch.setattr(computing, "transports", lambda r, n: right(r.flip(0), n))
    broken = computed_rows("certificates", "order")
    assert values_of(broken, "order_error", case="exact").max() > 1e-3
