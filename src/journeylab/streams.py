"""Named random streams: the only place where a seed becomes random numbers.

The streams of a dataset depend on (study, dataset, seed), those of a run on (study, seed): the arms
of a seed share data, initialisation, batch order and dropout, and are therefore paired. A seed with
several worlds has such streams for every world.
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
    independent and a new stream shifts no other. `dataset` is empty for the streams of a run. World
    w > 0 of a seed has streams of its own: "<seed>.<w>" takes the place of the seed. World 0 has
    the streams of a seed with one world.

    >>> first, again = Streams("exp7", 3).generator("init"), Streams("exp7", 3).generator("init")
    >>> bool((first.get_state() == again.get_state()).all())
    True
    """

    study: str
    seed: int
    dataset: str = ""
    world: int = 0

    @property
    def replicate(self) -> str:
        """The name of this world of this seed, unique in a run: "3", "3.1", "3.2", …"""
        return f"{self.seed}.{self.world}" if self.world else str(self.seed)

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
        text = f"{self.study}/{self.dataset}/{self.replicate}/{name}"
        return hashlib.sha256(text.encode()).digest()


def data_streams(study: str, dataset: str, seed: int, world: int = 0) -> Streams:
    """The streams of a dataset; `<dataset>.<arm>` shares the streams of `<dataset>`."""
    return Streams(study, seed, dataset.partition(".")[0], world)
