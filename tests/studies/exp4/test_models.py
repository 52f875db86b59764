"""The model, its penalties, and what the arms of a seed share."""

import math

import pytest
import torch
from pydantic import ValidationError
from torch.nn.functional import cross_entropy

from journeylab.streams import Streams
from journeylab.studies.exp4_operator_recovery import models
from journeylab.studies.exp4_operator_recovery.models import commutator, mean_loss, orthogonality
from journeylab.studies.exp4_operator_recovery.settings import Model
from journeylab.training import train

from .results import SMALL

RUNS = {
    "single": ("near-identity", {}),
    "gaussian": ("gaussian", {}),
    "positions": ("orthogonal", {"operators": "each"}),
    "control": ("rope", {"operators": "fixed"}),
}


def fresh(problem, seed=1000):
    return problem.build(Streams("exp4", seed).generator("init"))


@pytest.mark.parametrize("run", RUNS)
def test_arms_of_a_seed_start_with_the_same_weights_around_their_operators(make_problem, run):
    variant, of = RUNS[run]
    first, other = fresh(make_problem()), fresh(make_problem(variant, **of))
    names = {name for name, _ in first.named_parameters()} - {"operators"}
    assert names == {name for name, _ in other.named_parameters()} - {"operators"}
    weights, others = first.state_dict(), other.state_dict()
    assert all(torch.equal(weights[name], others[name]) for name in names)


def test_the_initial_scale_is_a_factor_of_all_that_is_drawn_but_rotations(make_problem):
    plain, halved = SMALL, SMALL.model_copy(update={"initial_scale": 0.5})
    for variant, of in (("near-identity", {}), ("frozen", {"operators": "fixed"})):
        first, other = (
            fresh(make_problem(variant, model=model, **of)).state_dict()
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
def test_logits_do_not_depend_on_later_characters(make_problem, run):
    variant, of = RUNS[run]
    problem = make_problem(variant, **of)
    model, inputs = fresh(problem), problem.held_out.read(16).inputs[:3].clone()
    with torch.no_grad():
        before = model(inputs)
        inputs[:, 9] = (inputs[:, 9] + 1) % len(problem.seen.alphabet)
        changed = (model(inputs) != before).any(-1)
    assert not changed[:, :9].any()
    assert changed[:, 9].all()


@pytest.mark.parametrize(
    ("of", "penalty"),
    [
        ({}, lambda r: 0.0),
        ({"orthogonality": 0.3}, lambda r: 0.3 * orthogonality(r)),
        ({"operators": "each", "orthogonality": 0.1}, lambda r: 0.1 * orthogonality(r)),
        ({"operators": "each", "commutator": 0.2}, lambda r: 0.2 * commutator(r)),
    ],
)
def test_the_loss_is_cross_entropy_plus_the_penalty(make_problem, of, penalty):
    problem = make_problem("near-identity", **of)
    model, order = fresh(problem), Streams("exp4", 0).generator("order")
    batch = problem.batch(0, order, order)
    with torch.no_grad():
        logits = model(batch["inputs"])
        entropy = cross_entropy(logits.flatten(0, 1), batch["targets"].flatten())
        expected = entropy + penalty(model.operators)
        torch.testing.assert_close(problem.loss(model, batch), expected)
    assert abs(entropy - math.log(len(problem.seen.alphabet))) < 0.1  # untrained


def test_held_out_loss_is_the_mean_over_all_characters(make_problem, monkeypatch):
    monkeypatch.setattr(models, "WINDOWS", 50)
    problem = make_problem()
    model, windows = fresh(problem), problem.held_out.read(16)
    with torch.no_grad():
        whole = cross_entropy(model(windows.inputs).flatten(0, 1), windows.targets.flatten())
        assert len(windows.inputs) % 50
        assert mean_loss(model, windows) == pytest.approx(whole.item(), rel=1e-5)


@pytest.mark.parametrize(
    ("variant", "kind", "moves"), [("orthogonal", "each", 1), ("rope", "fixed", 0)]
)
def test_operators_are_trained_unless_they_are_fixed(make_problem, tmp_path, variant, kind, moves):
    problem = make_problem(variant, operators=kind)
    trained = train(problem, problem.job.training, problem.streams, tmp_path / "checkpoint")
    before, after = fresh(problem), fresh(problem)
    after.load_state_dict(trained.state)
    assert torch.equal(before.operators, after.operators) == (not moves)
    assert not torch.equal(before.head.weight, after.head.weight)
    windows = problem.held_out.read(16)
    with torch.no_grad():
        assert mean_loss(after, windows) < mean_loss(before, windows)


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ({"commutator": 0.1}, "a single operator commutes with itself"),
        ({"variant": "rope", "operators": "fixed", "orthogonality": 0.1}, "a fixed operator"),
        ({"model": Model(length=104)}, "too short for windows of 104"),
    ],
)
def test_contradictory_settings_are_refused(make_problem, of, message):
    with pytest.raises(ValidationError, match=message):
        make_problem(**of)
