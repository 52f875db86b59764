from itertools import product

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from journeylab.studies.exp11_sabag_pooling.measure import diagonal_mass, least_pair, measure
from journeylab.studies.exp11_sabag_pooling.settings import Data, Evaluation
from journeylab.studies.exp11_sabag_pooling.tasks import ALPHABET, SENTENCE, TARGETS, ceiling

from .results import make_problem


def test_targets_of_every_task():
    x = torch.tensor([[2, 0, 1, 0, 5]])
    made = {task: target(x).tolist()[0] for task, target in TARGETS.items()}
    assert made == {
        "first2": [2, 0],
        "copy": [2, 0, 1, 0, 5],
        "reverse": [5, 0, 1, 0, 2],
        "double": [2, 2, 0, 0, 1, 1, 0, 0, 5, 5],
        "sorted": [0, 0, 1, 2, 5],
        "extremes": [0, 5],
    }


@pytest.mark.parametrize(("symbols", "length"), [(12, 4), (3, 5), (2, 6)])
def test_the_ceiling_equals_an_enumeration_of_all_strings(symbols, length):
    strings = np.array(list(product(range(symbols), repeat=length)))
    most = np.zeros(len(strings))
    for symbol in range(symbols):
        most = np.maximum(most, (strings == symbol).sum(1))
    data = Data(symbols=symbols, length=length)
    for task in ("copy", "double", "first2", "reverse"):
        assert ceiling(task, data) == pytest.approx(most.mean() / length, abs=1e-12)
    assert ceiling("sorted", data) == ceiling("extremes", data) == 1.0


def test_the_sentence_has_its_characters():
    problem = make_problem("sabag", "sentence")
    [target] = problem.test.targets.tolist()
    assert "".join(ALPHABET[n] for n in target) == SENTENCE
    assert len(SENTENCE) == 44
    assert problem.train.symbols.shape == (1, 2)


def test_unordered_outputs_use_the_better_assignment(build):
    problem = make_problem("sabag", "extremes")
    model = build(problem)
    batch = {"symbols": problem.test.symbols, "start": problem.test_start}
    logits = model(**batch)
    targets = problem.test.targets
    each = [
        min(
            (cross_entropy(a[0], t[0]) + cross_entropy(a[1], t[1])) / 2,
            (cross_entropy(a[0], t[1]) + cross_entropy(a[1], t[0])) / 2,
        )
        for a, t in zip(logits, targets, strict=True)
    ]
    expected = torch.stack(each).mean()
    torch.testing.assert_close(problem.loss(model, batch | {"targets": targets}), expected)
    answers = logits.argmax(-1)
    right = [
        max(int((a == t).sum()), int((a == t.flip(0)).sum()))
        for a, t in zip(answers, targets, strict=True)
    ]
    assert problem.right(model).sum(1).tolist() == right


@pytest.mark.parametrize("variant", ["sabag", "pma", "kmeans", "mean"])
def test_only_positions_reveal_the_order(build, variant):
    problem = make_problem(variant, "extremes")
    x = torch.tensor([[3, 7, 1, 0, 5]])
    order = [4, 2, 0, 3, 1]
    start = torch.tensor([0])
    moved = torch.tensor([order.index(0)])
    model = build(problem)
    torch.testing.assert_close(model(x[:, order], moved), model(x, start), atol=1e-5, rtol=1e-5)
    if variant in ("sabag", "pma"):
        model = build(make_problem(f"{variant}-positions", "extremes"))
        assert (model(x[:, order], moved) - model(x, start)).abs().max() > 0.01


def test_sabag_learns_order_from_positions_and_not_without(fit):
    values = {}
    for variant in ("sabag", "sabag-positions"):
        problem = make_problem(variant, "first2", steps=300, rows=32, learning_rate=0.01)
        _, model = fit(problem)
        rows = measure(problem.job, Evaluation(), problem, model)
        values[variant] = rows.set_index("metric")["value"]
    bound = values["sabag"]["ceiling"]
    assert values["sabag"]["accuracy"] < bound + 0.1
    assert values["sabag-positions"]["accuracy"] > bound + 0.4


def test_the_diagonal_is_over_strings_of_distinct_symbols():
    symbols = torch.tensor([[0, 1, 2], [0, 1, 0]])
    weights = torch.stack((torch.full((3, 3), 0.1) + 0.6 * torch.eye(3), torch.eye(3)))
    assert diagonal_mass(weights, symbols) == pytest.approx(0.7)


def test_the_least_pair_has_the_nearest_weights():
    weights = torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.52, 0.48]])
    assert least_pair(weights) == pytest.approx(0.02)


def test_metrics_of_s_exist_only_for_poolings_with_s(build):
    for task, variant, there in (
        ("copy", "sabag", {"diagonal"}),
        ("copy", "pma", set()),
        ("first2", "sabag", set()),
        ("sentence", "sabag", {"least_pair"}),
    ):
        problem = make_problem(variant, task)
        rows = measure(problem.job, Evaluation(), problem, build(problem))
        assert set(rows["metric"]) == {"accuracy", "exact", "ceiling"} | there
