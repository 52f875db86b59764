"""A trained model against the exact ceiling, on new strings of every length.

Strings are drawn from the seed's stream of the length, so that the models of a seed are asked about
the same ones: uniform over {a, b}, without the constant strings for B, or uniform among those with
as many a's as b's. The label is asked for at the end of the string only.

| metric | meaning |
| --- | --- |
| overflow | share of the strings of a length whose logits are not finite: they get no answer |
| accuracy | share of right answers among the others of that length; no row where there are none |
| worst_accuracy, mean_accuracy, gap | over the lengths trained on; no answer is a wrong one |
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from torch import Generator, Tensor, nn

from journeylab.studies.exp1_group_languages.ceilings import parikh_ceilings
from journeylab.studies.exp1_group_languages.models import Language, Recogniser
from journeylab.studies.exp1_group_languages.settings import (
    FAR,
    LONGEST,
    SHORTEST,
    Evaluation,
    Job,
    TaskName,
)
from journeylab.studies.exp1_group_languages.tasks import TASKS, UNLABELLED, Task, label_words

if TYPE_CHECKING:
    from journeylab.training import Problem

COLUMNS = ("metric", "n", "value")


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Accuracy and overflow at every length; worst, mean and gap of the trained ones."""
    language, recogniser = cast(Language, problem), cast(Recogniser, model)
    ceilings = _ceilings(job.task)
    rows: list[tuple[str, int | None, float]] = []
    found: dict[int, float] = {}
    for n in (*ceilings, *FAR):
        words = draw_words(
            language.task, n, evaluation.strings, language.streams.generator(f"test/{n}")
        )
        labels = torch.from_numpy(label_words(language.task, words.numpy()))
        answers = answer(recogniser, words)
        found[n] = accuracy(language.task, answers, labels)
        answered = answers != UNLABELLED
        rows.append(("overflow", n, float((~answered).double().mean())))
        if answered.any():
            share = accuracy(language.task, answers[answered], labels[answered])
            rows.append(("accuracy", n, share))
    trained = [found[n] for n in ceilings]
    gaps = [found[n] - ceiling for n, ceiling in ceilings.items()]
    rows += [
        ("worst_accuracy", None, min(trained)),
        ("mean_accuracy", None, sum(trained) / len(trained)),
        ("gap", None, sum(gaps) / len(gaps)),
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"n": "Int64"})


def draw_words(task: Task, length: int, strings: int, generator: Generator) -> Tensor:
    """Labelled words ``(length, strings)`` of a task, uniform among those it asks about."""
    if task.halved:
        return (torch.rand(length, strings, generator=generator).argsort(0) % 2).to(torch.uint8)
    words = torch.randint(2, (length, strings), generator=generator, dtype=torch.uint8)
    while (without := _unlabelled(task, words)).any():
        again = int(without.sum())
        words[:, without] = torch.randint(
            2, (length, again), generator=generator, dtype=torch.uint8
        )
    return words


def answer(recogniser: Recogniser, words: Tensor) -> Tensor:
    """The most probable label of every word; UNLABELLED where the logits are not finite."""
    with torch.no_grad():
        logits = recogniser.read(recogniser.states(words.mT)[:, -1])
    finite = logits.isfinite().all(0)
    return torch.where(finite, logits.argmax(0), UNLABELLED)


def accuracy(task: Task, answers: Tensor, labels: Tensor) -> float:
    """The share of right answers; balanced: its mean over the classes that occur."""
    right = (answers == labels).double()
    if not task.balanced:
        return float(right.mean())
    present = labels.unique()
    return float(torch.stack([right[labels == label].mean() for label in present]).mean())


@cache
def _ceilings(name: TaskName) -> dict[int, float]:
    """The ceilings of the lengths trained on, where the task asks about them."""
    lengths = range(SHORTEST, LONGEST + 1)
    return {n: float(ceiling) for n, ceiling in parikh_ceilings(TASKS[name], lengths).items()}


def _unlabelled(task: Task, words: Tensor) -> Tensor:
    return torch.from_numpy(label_words(task, words.numpy())) == UNLABELLED
