"""Named streams of random numbers: the one place where a seed becomes randomness.

A dataset's streams belong to (study, dataset, seed), those of a run to (study, seed): arms of a
seed share their data, initialisation, batch order and dropout, and are paired.
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

    Each is seeded by SHA-256 of study, dataset, seed and name, so that streams are independent of
    each other, adding one shifts none, and the same name of another seed is another stream.
    `dataset` is empty for what a run draws.

    >>> first, again = Streams("exp7", 3).generator("init"), Streams("exp7", 3).generator("init")
    >>> bool((first.get_state() == again.get_state()).all())
    True
    """

    study: str
    seed: int
    dataset: str = ""

    def generator(self, name: str) -> torch.Generator:
        """Return a new generator of torch's at the beginning of the stream `name`."""
        import torch

        generator = torch.Generator()
        generator.manual_seed(int.from_bytes(self._digest(name)[:8], "big", signed=True))
        return generator

    def numpy(self, name: str) -> np.random.Generator:
        """Return a new generator of NumPy's at the beginning of the stream `name`."""
        return np.random.default_rng(np.frombuffer(self._digest(name), dtype=np.uint32))

    def _digest(self, name: str) -> bytes:
        return hashlib.sha256(f"{self.study}/{self.dataset}/{self.seed}/{name}".encode()).digest()


def data_streams(study: str, dataset: str, seed: int) -> Streams:
    """The streams of a dataset; what an arm changes of it, `<dataset>.<arm>`, is of its world."""
    return Streams(study, seed, dataset.partition(".")[0])
