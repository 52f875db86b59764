"""Named streams of random numbers that belong to one seed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Streams:
    """The random streams of one seed: "init", "order", "dropout", "data", or any other name.

    Each is seeded by SHA-256 of seed and name, so streams of one seed are independent, adding one
    shifts none, and the same name of another seed is another stream.

    >>> torch.equal(Streams(3).generator("init").get_state(),
    ...             Streams(3).generator("init").get_state())
    True
    """

    seed: int

    def generator(self, name: str) -> torch.Generator:
        """Return a new generator at the beginning of the stream `name`."""
        digest = hashlib.sha256(f"{self.seed}/{name}".encode()).digest()
        generator = torch.Generator()
        generator.manual_seed(int.from_bytes(digest[:8], "big", signed=True))
        return generator
