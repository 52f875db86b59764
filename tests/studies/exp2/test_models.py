"""Heads and their measurements, and what is computed without training."""

from fractions import Fraction
from math import cos, sqrt, tanh

import pytest
import torch
from torch import nn
from torch.nn.functional import one_hot

from journeylab.studies.exp2_shuffled_kb import compute as module
from journeylab.studies.exp2_shuffled_kb.anchors import expected_multiplicity, untagged_ceiling
from journeylab.studies.exp2_shuffled_kb.compute import compute, witness_change
from journeylab.studies.exp2_shuffled_kb.data import Episodes, arrange, permute
from journeylab.studies.exp2_shuffled_kb.measure import measure
from journeylab.studies.exp2_shuffled_kb.models import (
    CUMULATIVE,
    Questions,
    Retriever,
    all_questions,
)
from journeylab.studies.exp2_shuffled_kb.settings import (
    VARIANTS,
    Computation,
    Evaluation,
    Lookups,
    Model,
)

from .results import RELATIONS, make_problem

ALL = [variant for variants in VARIANTS.values() for variant in variants]
BY_SLOT = ("rope", "rope-integer", "cumulative", "cumulative-as-shipped")


@pytest.mark.parametrize("variant", ALL)
def test_only_slot_operators_depend_on_the_order(build, variant):
    problem = make_problem(variant)
    model = build(problem).double()
    questions = all_questions(problem.held_out)
    permuted = permute(problem.held_out, torch.Generator().manual_seed(0))
    with torch.no_grad():
        change = (model(permuted, questions) - model(problem.held_out, questions)).abs().max()
    assert change > 1e-3 if variant in BY_SLOT else change < 1e-12


def test_rope_turns_slot_j_by_j_and_the_query_by_m(build):
    model = build(make_problem("rope"))
    none = torch.zeros(2, 5, dtype=torch.long)
    turns = model._turns(Episodes(none, none, none), Questions(none, none, none))
    torch.testing.assert_close(turns.places[0, :, 0], torch.arange(5.0))
    torch.testing.assert_close(turns.questions[0, 0], 5 * model.frequencies)
    integer = build(make_problem("rope-integer"))
    assert integer.frequencies.tolist() == list(range(8))


def test_cumulative_angles_start_near_frequencies_and_as_shipped_near_zero():
    model, shipped = (
        make_problem(variant).build(torch.Generator().manual_seed(0)) for variant in CUMULATIVE
    )
    for name in ("entry_angles", "question_angles"):
        angles = getattr(model, name)
        drawn = getattr(shipped, name)
        torch.testing.assert_close(angles, model.frequencies * (1 + 0.1 * drawn))
        assert drawn.std().item() == pytest.approx(1, abs=0.15)


def test_cumulative_angles_with_equal_steps_equal_rope(build):
    rope, cumulative = (build(make_problem(name)) for name in ("rope", "cumulative"))
    with torch.no_grad():
        cumulative.entry_angles[:12], cumulative.entry_angles[12:] = rope.frequencies, 0.0
        cumulative.question_angles.copy_(rope.frequencies.expand(12, -1))
        problem = make_problem("rope")
        questions = all_questions(problem.held_out)
        of_rope, of_cumulative = (
            model(problem.held_out, questions) for model in (rope, cumulative)
        )
    torch.testing.assert_close(of_rope, of_cumulative, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("variant", ["position-free", "tag"])
def test_arms_of_a_seed_share_entries_and_questions(draw_batch, variant):
    first, again = (draw_batch(make_problem(variant, order)) for order in ("sorted", "shuffled"))
    assert all(
        torch.equal(first[f"question_{n}"], again[f"question_{n}"]) for n in Questions._fields
    )
    shown = Episodes(*(again[name] for name in Episodes._fields))
    assert all(map(torch.equal, arrange(shown, "sorted"), (first[n] for n in Episodes._fields)))
    assert first["keys"].shape[0] == make_problem(variant).tokens_per_step == 64


@pytest.mark.parametrize("variant", ["rope", "operator"])
def test_the_answer_is_the_value_of_the_questioned_entry(draw_batch, variant):
    batch = draw_batch(make_problem(variant))
    questioned = (batch["keys"] == batch["question_keys"]) & (
        batch["relations"] == batch["question_relations"]
    )
    assert (questioned.sum(1) == 1).all()
    assert torch.equal(batch["values"][questioned], batch["question_answers"].flatten())


def test_only_a_tag_or_an_operator_distinguishes_entries_of_a_subject(build):
    none = torch.zeros(1, 3, dtype=torch.long)
    episodes = Episodes(none, torch.tensor([[0, 1, 2]]), torch.tensor([[0, 1, 2]]))
    for variant in VARIANTS["relations"]:
        with torch.no_grad():
            logits = build(make_problem(variant))(episodes, all_questions(episodes))
        distinguished = (logits[0, 1:] - logits[0, :1]).abs().max() > 1e-4
        assert distinguished == (variant != "untagged")


def test_trained_invariant_heads_learn_and_never_flip(fit):
    measured = {}
    for variant in ("content", "untagged", "tag", "operator"):
        problem = make_problem(variant)
        _, model = fit(problem)
        table = measure(problem.job, Evaluation(permutations=2), problem, model)
        measured[variant] = table.set_index(["metric", "order"])["value"]
        assert measured[variant]["flip_rate"].max() == 0.0
        assert measured[variant]["max_logit_change"].max() < 1e-3
    ceiling = measured["untagged"]["ceiling"].item()
    accuracy = {name: values["accuracy", "shuffled"] for name, values in measured.items()}
    assert accuracy["untagged"] < ceiling + 0.15
    assert min(accuracy[name] for name in ("content", "tag", "operator")) > 0.9


class FirstSlot(nn.Module):
    """Answers every question by the value in the first slot."""

    def forward(self, episodes, questions):
        logits = one_hot(episodes.values[:, :1], 4).double()
        return logits.expand(-1, questions.keys.shape[1], -1)


@pytest.mark.parametrize("variant", ["rope", "tag"])
def test_accuracy_and_flips_of_a_first_slot_reader_equal_those_by_hand(variant):
    problem = make_problem(variant)
    table = measure(problem.job, Evaluation(permutations=3), problem, FirstSlot())
    generator = problem.streams.generator("permutations")
    permuted = [permute(problem.held_out, generator).values.tolist() for _ in range(3)]
    columns = (problem.held_out[i].tolist() for i in (0, 2, 1))
    entries = [[*zip(*each, strict=True)] for each in zip(*columns, strict=True)]
    answers = {
        "sorted": [min(each)[-1] for each in entries],
        "shuffled": [each[0][-1] for each in entries],
    }
    assert answers["sorted"] != answers["shuffled"]
    for order, first in answers.items():
        hits = [value == a for a, each in zip(first, entries, strict=True) for *_, value in each]
        flips = [v[0] != a for other in permuted for a, v in zip(first, other, strict=True)]
        values = table[table["order"] == order].set_index("metric")["value"]
        assert values["accuracy"] == pytest.approx(sum(hits) / len(hits))
        assert values["flip_rate"] == pytest.approx(sum(flips) / len(flips))
        assert values["max_logit_change"] == 1.0


class FirstKey(nn.Module):
    """Answers every question by the first key of the first repository, as a number."""

    def forward(self, episodes, questions):
        logits = torch.tensor([1.0, 0.0, 0.0, 0.0]) * (1 + episodes.keys[0, 0])
        return logits.expand(*questions.keys.shape, 4)


def test_logit_changes_are_maxima_over_permutations_and_relative_to_the_spread():
    problem = make_problem("rope")
    held_out = problem.held_out
    generator = problem.streams.generator("permutations")
    others = [int(permute(held_out, generator).keys[0, 0]) for _ in range(4)]
    for order in ("sorted", "shuffled"):
        key = int(arrange(held_out, order).keys[0, 0])
        changes = [abs(other - key) for other in others]
        assert len(set(changes)) > 1
        table = measure(problem.job, Evaluation(permutations=4), problem, FirstKey())
        values = table[table["order"] == order].set_index("metric")["value"]
        assert values["max_logit_change"] == max(changes)
        spread = (1 + key) * (1 / 4 * 3 / 4) ** 0.5
        assert values["relative_logit_change"] == pytest.approx(max(changes) / spread)


def leak(monkeypatch):
    """Turn keys by a place in a thousand: far less than RoPE, and still seen in any precision."""
    turns = Retriever._turns

    def leaking(self, episodes, questions):
        places = 1e-3 * torch.arange(episodes.keys.shape[1])[None, :, None]
        places = places.expand(1, -1, len(self.frequencies)).to(self.frequencies)
        return turns(self, episodes, questions)._replace(places=places)

    monkeypatch.setattr(Retriever, "_turns", leaking)


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_a_content_head_that_leaks_slots_exceeds_the_tolerance(build, monkeypatch, order):
    problem = make_problem("content")
    model = build(problem)

    def largest():
        table = measure(problem.job, Evaluation(permutations=2), problem, model)
        return table.set_index(["metric", "order"])["value"]["max_logit_change", order]

    assert largest() <= 1e-4
    leak(monkeypatch)
    assert largest() > 1e-4


def test_only_the_untagged_head_reports_the_ceiling(build):
    for variant in VARIANTS["relations"]:
        problem = make_problem(variant)
        table = measure(problem.job, Evaluation(permutations=1), problem, build(problem))
        ceiling = table.loc[table["metric"] == "ceiling", "value"].tolist()
        assert ceiling == ([float(untagged_ceiling(RELATIONS))] if variant == "untagged" else [])


DATA = Lookups(task="lookup", sizes=(20, 50))
SCALE = 64 / sqrt(32)
OMEGA = 10000 ** (-2 / 32)


def job(check: str, variant: str) -> Computation:
    return Computation(computed=check, variant=variant, draws=2, data=DATA, model=Model())


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("position-free", 0.0),
        ("content", 0.0),
        ("rope", tanh(SCALE * (cos(OMEGA) - cos(2 * OMEGA)) / 2)),
        ("rope-integer", tanh(SCALE * (cos(1) - cos(2)) / 2)),
        ("cumulative", tanh(SCALE * (1 - cos(1)) / 2)),
        ("cumulative-as-shipped", tanh(SCALE * (1 - cos(1)) / 2)),
    ],
)
def test_witness_change_equals_its_closed_form(variant: str, expected: float):
    assert witness_change(job("witness", variant)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
def test_a_content_operator_that_leaks_slots_exceeds_the_tolerance(
    monkeypatch, precision, tolerance
):
    leak(monkeypatch)
    table = compute(job("invariance", "content"), None)
    assert len(table) == 2 * 2 * 2
    assert table.loc[table["precision"] == precision, "value"].min() > tolerance


def test_recursion_equals_enumeration_exactly():
    table = compute(job("recursion", "all"), None)
    assert set(table["metric"]) == {"ceiling_error"}
    assert len(table) == table["draw"].nunique() > 3
    assert (table["value"] == 0.0).all()


def test_a_recursion_off_by_one_string_has_an_error(monkeypatch):
    def off(draws, values):
        return expected_multiplicity(draws, values) + Fraction(1, values**draws)

    monkeypatch.setattr(module, "expected_multiplicity", off)
    assert (compute(job("recursion", "all"), None)["value"] > 0).all()
