"""Perplexity of a trained language model with hard and with training routes, and its sparsity.

Models and bigrams read the same held-out windows, spread over the held-out text. *hard* routes
follow the largest logit. *training* routes are those of the last step: with noise if the estimator
uses it, mixed for the soft variant.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from journeylab.datasets.shakespeare import Passages, Windows, bigram_entropy
from journeylab.models.estimators import harden
from journeylab.models.hypergraph import attend_sparsely, pair_share
from journeylab.studies.exp9_router_gradients.models import RoutedProblem, follow_hard, perplexity
from journeylab.studies.exp9_router_gradients.settings import Evaluation, Job

if TYPE_CHECKING:
    from journeylab.training import Problem

COLUMNS = ("metric", "routes", "layer", "rank", "value")

Row = tuple[str, str | None, int | None, int | None, float]


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of one trained model: metric, routes, layer, rank, value."""
    language = cast(RoutedProblem, problem)
    every = language.held_out.read(job.model.length)
    count = min(len(every.inputs), evaluation.windows)
    windows = every.take(torch.arange(count) * len(every.inputs) // count)
    read = Passages(torch.cat((windows.inputs, windows.targets[:, -1:]), 1), language.seen.alphabet)
    noise = language.streams.generator("measured noise")

    def follow_training(model: nn.Module, inputs: Tensor) -> Tensor:
        drawn = language.noise(len(inputs), job.training.steps, noise)
        router = language.router({name: each.to(inputs.device) for name, each in drawn.items()})
        logits: Tensor = model(inputs, router, language.form)
        return logits

    with torch.no_grad():
        hard = perplexity(model, windows, follow_hard)
        training = perplexity(model, windows, follow_training)
        chosen = routes(model, windows)
    bigram = math.exp(bigram_entropy(language.seen, read))
    rows: list[Row] = [
        ("perplexity", "hard", None, None, hard),
        ("perplexity", "training", None, None, training),
        ("perplexity_gap", None, None, None, hard - training),
        ("bigram_perplexity", None, None, None, bigram),
        ("perplexity_gain", None, None, None, bigram - hard),
        ("pair_share", None, None, None, float(pair_share(torch.stack(chosen)).mean())),
    ]
    for layer, route in enumerate(chosen, start=1):
        sizes = route.mean((0, 2)).sort(-1, descending=True).values.mean(0)
        for rank, size in enumerate(sizes.tolist(), start=1):
            rows.append(("load", None, layer, rank, size))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"layer": "Int64", "rank": "Int64"})


def routes(model: nn.Module, windows: Windows) -> list[Float[Tensor, "windows heads length K"]]:
    """The hard route of every token, one-hot, layer by layer."""
    chosen: list[Tensor] = []

    def record(logits: Tensor, layer: int) -> Tensor:
        del layer
        chosen.append(harden(logits))
        return chosen[-1]

    model(windows.inputs.to(next(model.parameters()).device), record, attend_sparsely)
    return [route.cpu() for route in chosen]
