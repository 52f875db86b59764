"""Seeds trained in one batch against the same seeds trained in sequence, per training step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from pairs import Row, copy_rate, product_rate, with_floor
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, embedding, log_softmax

from journeylab.config import TrainingSettings
from journeylab.models.attention import causal_mask
from journeylab.models.flops import training_flops
from journeylab.models.transformer import Rows, Transformer
from journeylab.operators.chain import chain_states
from journeylab.operators.dropout import Dropout, draw_key
from journeylab.operators.journey import accumulate
from journeylab.operators.orthogonal import exponential
from journeylab.operators.rotary import Rotation, Turn, standard_frequencies
from journeylab.records.cost import Step, compare
from journeylab.streams import Streams
from journeylab.training import Problem
from journeylab.training.ensemble import Ensemble
from journeylab.training.loop import Learner, SingleSeed

SEEDS = (1, 5, 10, 20)
STEPS = 3
"""Steps per measurement; in the sequential case, each seed takes all its steps before the next."""
VOCABULARY = 55
SETTINGS = TrainingSettings(steps=1000, learning_rate=1e-3, weight_decay=0.01)
ADAMW_TRAFFIC = 7
"""Memory passes over the parameters: read p, g, m and v; write p, m and v."""


@dataclass
class Text:
    """A tiny transformer with angles per token reads rows of random tokens."""

    width: int = 32
    layers: int = 1
    length: int = 20
    rows: int = 32
    turn: type[Turn] = Rotation

    @property
    def name(self) -> str:
        return f"transformer d {self.width}, {self.layers} layers, T {self.length}"

    @property
    def tokens_per_step(self) -> int:
        return self.rows * self.length

    def build(self, generator: Generator) -> nn.Module:
        model = Transformer(
            VOCABULARY,
            width=self.width,
            layers=self.layers,
            transport=True,
            turn=self.turn,
            generator=generator,
        )
        spread = 1.0 + 0.1 * torch.randn(VOCABULARY, self.width // 2, generator=generator)
        model.angles = nn.Parameter(standard_frequencies(self.width) * spread)
        return model

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        tokens = torch.randint(VOCABULARY, (self.rows, self.length), generator=order)
        return {"tokens": tokens, "dropout": draw_key(dropout)}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        tokens = batch["tokens"]
        angles = accumulate(embedding(tokens, cast(Tensor, model.angles)))
        group = Rows(tokens, angles, causal_mask(self.length, tokens.device))
        logits = model([group], Dropout(0.05, batch["dropout"]))
        return cross_entropy(logits, tokens.roll(-1, 1).flatten())

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        return {}

    def flops_per_step(self, model: nn.Module) -> float:
        shape = {"width": self.width, "layers": self.layers, "vocabulary": VOCABULARY}
        return training_flops([(self.rows, self.length)], **shape)


class Automaton(nn.Module):
    """h_t = R_{x_t} h_{t−1} over two letters, with logits W h_t at every position."""

    def __init__(self, width: int, classes: int, generator: Generator) -> None:
        super().__init__()
        self.square = nn.Parameter(torch.randn(2, width, width, generator=generator) / width**0.5)
        self.start = nn.Parameter(torch.randn(width, generator=generator))
        self.weight = nn.Parameter(torch.randn(classes, width, generator=generator) / width**0.5)

    def forward(self, words: Tensor) -> Tensor:
        states = chain_states(exponential(self.square), self.start, words.mT)
        return self.weight @ states.flatten(1)


@dataclass
class Language:
    """An operator chain: two orthogonal operators of width 16 read 128 strings of 50 letters."""

    name = "operator chain d 16, T 50"
    width, classes = 16, 6
    rows, length = 128, 50
    tokens_per_step = rows * length

    def build(self, generator: Generator) -> nn.Module:
        return Automaton(self.width, self.classes, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        words = torch.randint(2, (self.rows, self.length), generator=order)
        return {"words": words, "labels": words.cumsum(1) % self.classes}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        likelihood = log_softmax(model(batch["words"]), 0)
        return -likelihood.gather(0, batch["labels"].mT.flatten().unsqueeze(0)).mean()

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        return {}

    def flops_per_step(self, model: nn.Module) -> float:
        return 6.0 * self.tokens_per_step * self.width * (self.width + self.classes)


def batched_against_sequential(pairs: int) -> list[Row]:
    cpu = torch.device("cpu")
    return [
        seeds_at_once([kind() for _ in range(seeds)], max(5, pairs // 4), cpu)
        for kind in (Text, Language)
        for seeds in SEEDS
    ]


def seeds_at_once(problems: Sequence[Text | Language], pairs: int, device: torch.device) -> Row:
    """Return the times of one step of one seed, batched and sequential."""
    problem, seeds = problems[0], len(problems)
    fast, slow = both_ways(problems, SETTINGS, device)
    result = compare(fast, slow, pairs)
    for key in ("fast_ms", "slow_ms"):
        result[key] /= seeds * STEPS
    row: Row = {"name": f"{problem.name}, {seeds} seeds", "model": problem.name, "work": seeds}
    bounds = _bounds(problem)
    return row | with_floor(result, sum(bounds.values()) / 1e3) | bounds


def both_ways(
    problems: Sequence[Problem], settings: TrainingSettings, device: torch.device
) -> tuple[Step, Step]:
    streams = [Streams("exp0", seed) for seed in range(len(problems))]
    together = Ensemble(problems, settings, streams, "", device)
    alone = [
        SingleSeed(problem, settings, stream, "", device)
        for problem, stream in zip(problems, streams, strict=True)
    ]
    return _advance([together]), _advance(alone)


def _advance(learners: Sequence[Learner]) -> Callable[[], None]:
    def steps() -> None:
        for learner in learners:
            for step in range(1, STEPS + 1):
                learner.advance(step, 1e-3)

    return steps


def _bounds(problem: Text | Language) -> dict[str, float]:
    """Return lower bounds of a step: its operations at the rate of products, AdamW at memory's."""
    model = problem.build(Generator().manual_seed(0))
    operations = problem.flops_per_step(model)
    touched = ADAMW_TRAFFIC * 4.0 * sum(p.numel() for p in model.parameters())
    return {
        "flops_ms": 1e3 * operations / product_rate(problem.width, problem.tokens_per_step),
        "bytes_ms": 1e3 * touched / copy_rate(touched),
    }
