"""How well a trained language model reads, routed as in training and as in use, and what is saved.

Models and bigrams read the same held-out windows, from all over the text. *hard* routes follow the
largest logit; *training* ones are as in the last step: with noise, where the estimator has it, and
mixed, where they are soft.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from torch import Tensor, nn

from journeylab.datasets.shakespeare import Passages, Windows, bigram_entropy
from journeylab.models.estimators import harden
from journeylab.models.hypergraph import attend_sparsely, pair_share
from journeylab.studies.exp9_router_gradients.models import Language, follow_hard, perplexity
from journeylab.studies.exp9_router_gradients.settings import Evaluation, Job

if TYPE_CHECKING:
    from journeylab.training import Problem

COLUMNS = ("metric", "routes", "layer", "rank", "value")

Row = tuple[str, str | None, int | None, int | None, float]


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of one trained model: metric, routes, layer, rank, value."""
    language = cast(Language, problem)
    every = language.held_out.read(job.model.length)
    count = min(len(every.inputs), evaluation.windows)
    chosen = torch.arange(count) * len(every.inputs) // count
    windows = Windows(*(part[chosen] for part in every))
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
        taken = routes(model, windows)
    bigram = math.exp(bigram_entropy(language.seen, read))
    rows: list[Row] = [
        ("perplexity", "hard", None, None, hard),
        ("perplexity", "training", None, None, training),
        ("perplexity_gap", None, None, None, hard - training),
        ("bigram_perplexity", None, None, None, bigram),
        ("perplexity_gain", None, None, None, bigram - hard),
        ("pair_share", None, None, None, float(pair_share(torch.stack(taken)).mean())),
    ]
    for layer, route in enumerate(taken, start=1):
        sizes = route.mean((0, 2)).sort(-1, descending=True).values.mean(0)
        for rank, size in enumerate(sizes.tolist(), start=1):
            rows.append(("load", None, layer, rank, size))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"layer": "Int64", "rank": "Int64"})


def routes(model: nn.Module, windows: Windows) -> list[Tensor]:
    """Where every token goes in use, one-hot ``[windows, heads, length, K]``, layer by layer."""
    seen: list[Tensor] = []

    def look(logits: Tensor, layer: int) -> Tensor:
        del layer
        seen.append(harden(logits))
        return seen[-1]

    model(windows.inputs.to(next(model.parameters()).device), look, attend_sparsely)
    return [each.cpu() for each in seen]
