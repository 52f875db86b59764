"""A small problem that uses all of the engine: order, dropout, an angle table."""

import signal
import sys
from dataclasses import dataclass, field
from math import nan
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from journeylab.config import TrainingSettings
from journeylab.models.attention import causal_mask
from journeylab.models.flops import training_flops
from journeylab.models.transformer import Rows, Transformer
from journeylab.operators.dropout import Dropout, draw_key
from journeylab.operators.journey import accumulate
from journeylab.streams import Streams
from journeylab.training import Trained, prepare_process, train

ROWS, LENGTH, WIDTH, VOCABULARY = 32, 9, 16, 7


class Reader(nn.Module):
    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.transformer = Transformer(
            VOCABULARY, width=WIDTH, layers=1, transport=True, generator=generator
        )
        self.angles = nn.Parameter(torch.randn(VOCABULARY, WIDTH // 2, generator=generator))

    def forward(self, tokens: Tensor, dropout: Dropout | None) -> Tensor:
        rows = Rows(
            tokens, accumulate(self.angles[tokens]), causal_mask(tokens.shape[1], tokens.device)
        )
        return self.transformer([rows], dropout)


@dataclass
class Repeating:
    """Predict the current token."""

    pause_at: int | None = None
    broken_after: int | None = None
    rate: float = 0.1
    batches: int = field(default=0)

    tokens_per_step: int = ROWS * LENGTH

    def build(self, generator: torch.Generator) -> nn.Module:
        return Reader(generator)

    def batch(
        self, step: int, order: torch.Generator, dropout: torch.Generator
    ) -> dict[str, Tensor]:
        if step == self.pause_at:
            signal.pause()
        self.batches += 1
        tokens = torch.randint(VOCABULARY, (ROWS, LENGTH), generator=order)
        broken = self.broken_after is not None and self.batches > self.broken_after
        health = torch.tensor(nan if broken else 1.0)
        return {"tokens": tokens, "dropout": draw_key(dropout), "health": health}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        logits = model(batch["tokens"], Dropout(self.rate, batch["dropout"]))
        return cross_entropy(logits, batch["tokens"].flatten()) * batch["health"]

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        device = next(model.parameters()).device
        tokens = torch.arange(ROWS * LENGTH, device=device).view(ROWS, LENGTH) % VOCABULARY
        logits = model(tokens, None)
        return {"fixed_loss": cross_entropy(logits, tokens.flatten()).item()}

    def flops_per_step(self, model: nn.Module) -> float:
        return training_flops([(ROWS, LENGTH)], width=WIDTH, layers=1, vocabulary=VOCABULARY)


class StoppedError(Exception):
    """Stands for a kill."""


class Interrupting(Repeating):
    """Stops in step 28, behind the checkpoint of step 20."""

    def batch(
        self, step: int, order: torch.Generator, dropout: torch.Generator
    ) -> dict[str, Tensor]:
        if step == 28:
            raise StoppedError
        return super().batch(step, order, dropout)


def settings(**changes: float) -> TrainingSettings:
    defaults = {
        "steps": 40,
        "learning_rate": 3e-3,
        "warmup": 5,
        "weight_decay": 0.1,
        "evaluate_every": 15,
        "checkpoint_every": 10,
    }
    return TrainingSettings(**(defaults | changes))


def run(
    checkpoint: Path, problem: Repeating | None = None, processor: str = "", **changes: float
) -> Trained:
    problem = problem or Repeating()
    return train(problem, settings(**changes), Streams("exp0", 5), checkpoint, processor=processor)


def assert_identical(first: Trained, second: Trained) -> None:
    """The same bits of weights and curve."""
    torch.testing.assert_close(first.state, second.state, rtol=0, atol=0)
    pd.testing.assert_frame_equal(first.curve, second.curve, check_exact=True)


if __name__ == "__main__":
    prepare_process(threads=1)
    checkpoint, pause_at = sys.argv[1:]
    run(Path(checkpoint), Repeating(pause_at=int(pause_at)))
