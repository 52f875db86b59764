"""Equal sizes, equal rows, lengths that grow, and training in both ways."""

import numpy as np
import pytest
import torch

from journeylab.catalogue import resolve_run
from journeylab.datasets.sequences import UNLABELLED
from journeylab.models.mixers.model import count_parameters
from journeylab.models.mixers.registry import MECHANISMS
from journeylab.studies.exp13_published_mixers import measure as measuring
from journeylab.studies.exp13_published_mixers.compute import enumerated_ceiling
from journeylab.studies.exp13_published_mixers.data import stages
from journeylab.studies.exp13_published_mixers.measure import measure
from journeylab.studies.exp13_published_mixers.models import RowTensors, accuracy, build_model
from journeylab.studies.exp13_published_mixers.settings import (
    TASK_NAMES,
    Arm,
    Evaluation,
    Job,
)
from journeylab.studies.exp13_published_mixers.tasks import START, answers, draw_rows, vocabulary

from ...made import configured
from .results import make_problem

SETTINGS = configured().studies["exp13"]
TRAINED = [name for name, arm in SETTINGS.arms.items() if isinstance(arm, Arm)]


@pytest.mark.parametrize("arm", TRAINED)
def test_all_mechanisms_of_an_arm_have_equal_parameters_within_5_percent(arm):
    counts, widths = [], set()
    for mechanism in MECHANISMS:
        variant = next(iter(SETTINGS.arms[arm].variants))
        resolved = resolve_run("exp13", SETTINGS, arm, variant).settings
        job = Job.model_validate(resolved | {"variant": mechanism})
        model = build_model(mechanism, job.data.task, job.model, torch.Generator())
        counts.append(count_parameters(model))
        widths.add(model.blocks[0].size.width)
    assert max(counts) <= 1.05 * min(counts)
    assert len(widths) == 1


def test_all_mechanisms_of_an_arm_have_the_same_rows_and_layers():
    for arm in TRAINED:
        jobs = [
            resolve_run("exp13", SETTINGS, arm, v).settings for v in SETTINGS.arms[arm].variants
        ]
        shared = ("rows", "curriculum", "warmup", "clip", "weight_decay")
        assert len({tuple(job["training"][name] for name in shared) for job in jobs}) == 1
        sizes = ("width", "heads", "layers", "parameters")
        assert len({tuple(job["model"][name] for name in sizes) for job in jobs}) == 1


def test_rows_get_longer_and_stay_at_the_longest():
    problem = make_problem("parity", "rope", steps=64, curriculum=0.5)
    lengths = [problem.length_at(step) for step in range(1, 65)]
    assert lengths == sorted(lengths)
    assert lengths[0] == 4
    assert lengths[32:] == [32] * 32
    assert set(lengths) == set(stages(32))
    constant = make_problem("parity", "rope", curriculum=0.0)
    assert constant.length_at(1) == 32


@pytest.mark.parametrize("task", TASK_NAMES)
def test_rows_begin_with_start_and_have_their_answers_in_range(task):
    tokens, labels = draw_rows(task, 50, 32, np.random.default_rng(0))
    assert tokens.shape == labels.shape == (50, 33)
    assert (tokens[:, 0] == START).all()
    assert (labels[:, 0] == UNLABELLED).all()
    assert tokens[:, 1:].min() >= 1
    assert tokens.max() < vocabulary(task)
    assert UNLABELLED <= labels.min() <= labels.max() < answers(task)
    assert (labels[:, 17:] != UNLABELLED).any()


def test_only_answers_in_the_second_half_count():
    class Zeros(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, tokens):
            right = torch.nn.functional.one_hot(torch.zeros_like(tokens), 2).double()
            right[0, 3] = torch.nan
            return right

    labels = torch.tensor([[-1, 1, 1, 0, 0], [-1, 1, 1, -1, 1]])
    assert accuracy(Zeros(), RowTensors(torch.zeros_like(labels), labels)) == pytest.approx(1 / 3)


def test_the_gap_is_measured_for_word_problems_only():
    tables = {}
    for task in ("S3", "parity"):
        problem = make_problem(task, "gru")
        model = problem.build(torch.Generator().manual_seed(0))
        tables[task] = measure(problem.job, Evaluation(rows=8), problem, model)
    assert set(tables["S3"]["metric"]) == {"accuracy", "gap"}
    assert set(tables["parity"]["metric"]) == {"accuracy"}


def test_operations_grow_with_length_layers_and_rows():
    problem = make_problem("S3", "rope", curriculum=0.0)
    model = problem.build(torch.Generator())
    expected = 3.0 * 4 * 33 * model.flops_per_token(33)
    assert problem.flops_per_step(model) == pytest.approx(expected)
    shorter = make_problem("S3", "rope", curriculum=1.0)
    assert shorter.flops_per_step(model) < expected
    assert problem.tokens_per_step == 4 * 33


@pytest.mark.parametrize("task", ["S3", "flip-flop", "associative"])
def test_the_loss_is_the_mean_over_labelled_positions(task):
    problem = make_problem(task, "gru")
    generator = torch.Generator().manual_seed(0)
    model, batch = problem.build(generator), problem.batch(4, generator, generator)
    assert (batch["labels"] == UNLABELLED).any()
    logits, labels = model(batch["tokens"]).flatten(0, 1), batch["labels"].flatten()
    expected = torch.nn.functional.cross_entropy(logits, labels, ignore_index=UNLABELLED)
    torch.testing.assert_close(problem.loss(model, batch), expected)


def test_the_gap_is_above_the_ceiling_of_the_scored_positions(monkeypatch):
    lengths = []

    def three_quarters(model, rows):
        lengths.append(rows.labels.shape[1] - 1)
        return 0.75

    monkeypatch.setattr(measuring, "accuracy", three_quarters)
    problem = make_problem("S3", "gru")
    job = problem.job.model_copy(update={"data": problem.job.data.model_copy(update={"length": 8})})
    model = problem.build(torch.Generator().manual_seed(0))
    table = measure(job, Evaluation(rows=8), problem, model)
    gaps = table[table["metric"] == "gap"].set_index("times")["value"]
    assert lengths == [8, 16, 32]
    scored = [enumerated_ceiling("S3", length) for length in (5, 6, 7, 8)]
    assert gaps[1] == pytest.approx(float(0.75 - sum(scored) / 4))


def test_recall_is_measured_on_rows_a_quarter_as_long_too(monkeypatch):
    lengths = []

    def share(model, rows):
        lengths.append(rows.labels.shape[1] - 1)
        return len(lengths) / 10

    monkeypatch.setattr(measuring, "accuracy", share)
    problem = make_problem("associative", "gru")
    model = problem.build(torch.Generator().manual_seed(0))
    table = measure(problem.job, Evaluation(rows=8), problem, model)
    n = problem.job.data.length
    assert lengths == [n // 4, n, 2 * n, 4 * n]
    assert list(table["metric"]) == ["short_accuracy", "accuracy", "accuracy", "accuracy"]
    assert list(table["value"]) == [0.1, 0.2, 0.3, 0.4]
