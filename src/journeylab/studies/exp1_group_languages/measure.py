"""The accuracy of a trained model on new strings of every length, and its gap to the exact ceiling.

The strings of a length are drawn from the seed's stream of that length, so all models of a seed see
the same strings: uniform over {a, b}, for B without the strings of one repeated letter, or uniform
among those with as many a's as b's. Only the label of the whole string is scored.

| metric | meaning |
| --- | --- |
| overflow | share of a length's strings whose logits are not finite; they have no answer |
| accuracy | share of right answers among the other strings; no row if there are none |
| worst_accuracy, mean_accuracy, gap | over the training lengths; no answer counts as wrong |
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from jaxtyping import Int, Integer, UInt8
from torch import Generator, Tensor, nn

from journeylab.studies.exp1_group_languages.ceilings import parikh_ceilings
from journeylab.studies.exp1_group_languages.models import Recogniser, Recognition
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
    """Accuracy and overflow by length; worst and mean accuracy and gap over training lengths."""
    recognition, recogniser = cast(Recognition, problem), cast(Recogniser, model)
    ceilings = _ceilings(job.task)
    rows: list[tuple[str, int | None, float]] = []
    accuracies: dict[int, float] = {}
    for n in (*ceilings, *FAR):
        generator = recognition.streams.generator(f"test/{n}")
        words = draw_words(recognition.task, n, evaluation.strings, generator)
        labels = torch.from_numpy(label_words(recognition.task, words.numpy()))
        answers = answer(recogniser, words)
        accuracies[n] = accuracy(recognition.task, answers, labels)
        answered = answers != UNLABELLED
        rows.append(("overflow", n, float((~answered).double().mean())))
        if answered.any():
            share = accuracy(recognition.task, answers[answered], labels[answered])
            rows.append(("accuracy", n, share))
    trained = [accuracies[n] for n in ceilings]
    gaps = [accuracies[n] - ceiling for n, ceiling in ceilings.items()]
    rows += [
        ("worst_accuracy", None, min(trained)),
        ("mean_accuracy", None, sum(trained) / len(trained)),
        ("gap", None, sum(gaps) / len(gaps)),
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"n": "Int64"})


def draw_words(
    task: Task, length: int, strings: int, generator: Generator
) -> UInt8[Tensor, "length strings"]:
    """Random words, uniform among those that the task labels; letters are 0 (a) and 1 (b)."""
    if task.halved:
        return (torch.rand(length, strings, generator=generator).argsort(0) % 2).to(torch.uint8)
    words = torch.randint(2, (length, strings), generator=generator, dtype=torch.uint8)
    while (without := _unlabelled(task, words)).any():
        again = int(without.sum())
        words[:, without] = torch.randint(
            2, (length, again), generator=generator, dtype=torch.uint8
        )
    return words


def answer(
    recogniser: Recogniser, words: UInt8[Tensor, "length strings"]
) -> Int[Tensor, " strings"]:
    """The most probable label of every word; UNLABELLED where the logits are not finite."""
    with torch.no_grad():
        logits = recogniser.read(recogniser.states(words.mT)[:, -1])
    finite = logits.isfinite().all(0)
    return torch.where(finite, logits.argmax(0), UNLABELLED)


def accuracy(
    task: Task, answers: Integer[Tensor, " strings"], labels: Integer[Tensor, " strings"]
) -> float:
    """The share of right answers; for a balanced task, its mean over the classes that occur."""
    right = (answers == labels).double()
    if not task.balanced:
        return float(right.mean())
    present = labels.unique()
    return float(torch.stack([right[labels == label].mean() for label in present]).mean())


@cache
def _ceilings(name: TaskName) -> dict[int, float]:
    """The ceiling by training length; lengths at which the task labels no string are left out."""
    lengths = range(SHORTEST, LONGEST + 1)
    return {n: float(ceiling) for n, ceiling in parikh_ceilings(TASKS[name], lengths).items()}


def _unlabelled(task: Task, words: Tensor) -> Tensor:
    return torch.from_numpy(label_words(task, words.numpy())) == UNLABELLED
