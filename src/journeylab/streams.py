"""Named random streams: the only place where a seed becomes random numbers.

The streams of a dataset depend on (study, dataset, seed), those of a run on (study, seed): the arms
of a seed share data, initialisation, batch order and dropout, and are therefore paired.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Streams:
    """The random streams of one seed of a study: "init", "order", "dropout", or any other name.

    Each stream is seeded by the SHA-256 of study, dataset, seed and name, so that streams are
    independent and a new stream shifts no other. `dataset` is empty for the streams of a run.

    >>> first, again = Streams("exp7", 3).generator("init"), Streams("exp7", 3).generator("init")
    >>> bool((first.get_state() == again.get_state()).all())
    True
    """

    study: str
    seed: int
    dataset: str = ""

    def generator(self, name: str) -> torch.Generator:
        """Return a new torch generator at the beginning of the stream `name`."""
        import torch

        generator = torch.Generator()
        generator.manual_seed(int.from_bytes(self._digest(name)[:8], "big", signed=True))
        return generator

    def numpy(self, name: str) -> np.random.Generator:
        """Return a new NumPy generator at the beginning of the stream `name`."""
        return np.random.default_rng(np.frombuffer(self._digest(name), dtype=np.uint32))

    def _digest(self, name: str) -> bytes:
        return hashlib.sha256(f"{self.study}/{self.dataset}/{self.seed}/{name}".encode()).digest()


def data_streams(study: str, dataset: str, seed: int) -> Streams:
    """The streams of a dataset; `<dataset>.<arm>` shares the streams of `<dataset>`."""
    return Streams(study, seed, dataset.partition(".")[0])
