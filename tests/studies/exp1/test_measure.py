import math

import pytest
import torch

from journeylab.operators.orthogonal import exponential
from journeylab.studies.exp1_group_languages.ceilings import parikh_ceilings
from journeylab.studies.exp1_group_languages.compute import GROUPS, exact_weights
from journeylab.studies.exp1_group_languages.measure import accuracy, answer, draw_words, measure
from journeylab.studies.exp1_group_languages.settings import (
    FAR,
    LONGEST,
    SHORTEST,
    TASK_NAMES,
    Evaluation,
)
from journeylab.studies.exp1_group_languages.tasks import TASKS, UNLABELLED, label_words

from .results import make_problem

FEW = Evaluation(strings=60)


@pytest.fixture
def solved(build):
    """A reader of S3 with exact weights."""
    problem = make_problem("orthogonal-product", "S3")
    model = build(problem)
    weights = exact_weights(GROUPS["S3"], problem.job.model.d)
    with torch.no_grad():
        model.operators.square.copy_(weights.square)
        model.start.copy_(weights.start)
        model.weight.copy_(weights.readout)
        model.bias.zero_()
    assert torch.allclose(model.operators().double(), exponential(weights.square), atol=1e-5)
    return problem, model


def test_exact_weights_have_accuracy_one_and_the_gap_of_one_minus_the_ceiling(solved):
    problem, model = solved
    table = measure(problem.job, FEW, problem, model)
    overall = table[table["n"].isna()].set_index("metric")["value"]
    assert overall["worst_accuracy"] == overall["mean_accuracy"] == 1.0
    ceilings = parikh_ceilings(TASKS["S3"], range(SHORTEST, LONGEST + 1)).values()
    assert overall["gap"] == pytest.approx(1.0 - float(sum(ceilings)) / len(ceilings))
    by_length = table[table["metric"] == "accuracy"]
    assert by_length["n"].tolist() == [*range(SHORTEST, LONGEST + 1), *FAR]
    assert by_length["value"].eq(1.0).all()
    assert table.loc[table["metric"] == "overflow", "value"].eq(0.0).all()


def test_worst_mean_and_gap_are_over_the_training_lengths(build):
    problem = make_problem("linear-aggregation", "A5")
    table = measure(problem.job, FEW, problem, build(problem))
    overall = table[table["n"].isna()].set_index("metric")["value"]
    by_length = table[table["metric"] == "accuracy"].set_index("n")["value"]
    trained = [by_length[n] for n in range(SHORTEST, LONGEST + 1)]
    assert len(set(trained)) > 1
    assert overall["worst_accuracy"] == min(trained)
    assert overall["mean_accuracy"] == pytest.approx(sum(trained) / len(trained))
    ceilings = parikh_ceilings(TASKS["A5"], range(SHORTEST, LONGEST + 1))
    gaps = [by_length[n] - float(ceiling) for n, ceiling in ceilings.items()]
    assert overall["gap"] == pytest.approx(sum(gaps) / len(gaps))


def test_halved_strings_are_measured_at_even_lengths_only(build):
    problem = make_problem("toral-product", "Bbal")
    table = measure(problem.job, Evaluation(strings=20), problem, build(problem))
    lengths = table.loc[table["metric"] == "accuracy", "n"].tolist()
    assert lengths == [*range(SHORTEST, LONGEST + 1, 2), *FAR]
    overall = table[table["n"].isna()].set_index("metric")["value"]
    assert overall["gap"] == pytest.approx(overall["mean_accuracy"] - 0.5)


@pytest.mark.parametrize("name", TASK_NAMES)
def test_drawn_words_are_uniform_among_labelled_ones(name):
    task = TASKS[name]
    words = draw_words(task, 10, 3000, torch.Generator().manual_seed(0))
    assert (label_words(task, words.numpy()) != UNLABELLED).all()
    share = float(words.float().mean())
    assert share == pytest.approx(0.5, abs=4 * 0.5 / 30000**0.5)
    counts = words.sum(0)
    assert (counts == 5).all() if task.halved else counts.unique().numel() > 5
    again = draw_words(task, 10, 3000, torch.Generator().manual_seed(0))
    assert torch.equal(words, again)


def test_balanced_accuracy_is_the_mean_over_classes():
    answers, labels = torch.tensor([1, 1, 1, 0]), torch.tensor([1, 1, 0, 0])
    assert accuracy(TASKS["A"], answers, labels) == 0.75
    uneven = torch.tensor([1, 1, 1, 0])
    ones = torch.ones(4, dtype=torch.long)
    assert accuracy(TASKS["A"], ones, uneven) == 0.5
    assert accuracy(TASKS["S3"], ones, uneven) == 0.75
    assert accuracy(TASKS["B"], ones, ones) == 1.0


def test_overflowing_strings_are_counted_apart_from_wrong_answers(build):
    """Every a grows the state by 10^7.6: six of them exceed single precision."""
    problem = make_problem("linear-product", "B")
    model = build(problem)
    with torch.no_grad():
        model.operators.matrix.copy_(torch.stack([10**7.6 * torch.eye(16), torch.eye(16)]))
        model.start.fill_(1.0)
        model.weight.zero_()
        model.bias.copy_(torch.tensor([0.0, 1.0]))
    table = measure(problem.job, FEW, problem, model)
    values = {metric: rows.set_index("n")["value"] for metric, rows in table.groupby("metric")}
    words = draw_words(TASKS["B"], 10, FEW.strings, problem.streams.generator("test/10"))
    held = (words == 0).sum(0) <= 5
    assert 0.0 < held.double().mean() < 1.0
    assert values["overflow"][10] == pytest.approx(1.0 - float(held.double().mean()))
    assert values["overflow"][200] == 1.0
    # The answer is always 1, right for strings that start with a: one class of two.
    assert values["accuracy"][10] == 0.5
    assert 200 not in values["accuracy"].index
    starts = words[0] == 0
    right = float((held & starts).sum() / starts.sum()) / 2.0
    assert values["worst_accuracy"].item() == 0.0 < right < 0.5
    overall = table[table["n"].isna()].set_index("metric")["value"]
    assert overall["mean_accuracy"] * (LONGEST + 1 - SHORTEST) >= right


@pytest.mark.parametrize(
    ("part", "broken"), [("start", math.nan), ("start", math.inf), ("bias", math.inf)]
)
def test_non_finite_logits_give_no_answer(solved, part, broken):
    """A start reaches every logit, one bias a single one."""
    problem, model = solved
    with torch.no_grad():
        getattr(model, part)[:1] = broken
    words = draw_words(problem.task, 10, 8, torch.Generator().manual_seed(0))
    assert (answer(model, words) == UNLABELLED).all()
