"""The algebra behind the native models, checked in float64 without training.

| variant | metric | what is checked |
| --- | --- | --- |
| slots | slot_within_error | within a slot the slot angle cancels in every score |
| slots | slot_across_effect | across slots it does not: the least effect of a pair of slots |
| text | text_equivalence_error | with shared weights A reads text as B does (A′ as B′) |
| keys | baked_key_error | ⟨R_i q, R_j k⟩ with R_j k stored = ⟨q, R_i⁻¹R_j k⟩ recomputed |
| decoding | decoding_mismatch | tokens decoded with baked keys and values = without a cache |

Each error is the largest absolute difference of a case; one per draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import Generator, Tensor

from journeylab.models.decoding import decode_greedily
from journeylab.operators.journey import slot_angles
from journeylab.operators.naive import block_matrices, rotate_by_blocks
from journeylab.operators.rotary import Rotation, standard_frequencies
from journeylab.studies.exp7_native_kg.language import SYMBOLS
from journeylab.studies.exp7_native_kg.models import Reader
from journeylab.studies.exp7_native_kg.rows import HEAD, REL, TAIL
from journeylab.studies.exp7_native_kg.settings import Computation, Data, Job, Training

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = ("draw", "metric", "value")
SLOTS = (HEAD, REL, TAIL)


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """All cases of one law as tidy rows: draw, metric, value."""
    del streams  # nothing depends on a seed: draws count from 0
    check = _CHECKS[job.variant]
    rows = [
        (draw, metric, value)
        for draw in range(job.draws)
        for metric, value in check(job, torch.Generator().manual_seed(draw))
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def stored_scores(q: Tensor, k: Tensor, query_angles: Tensor, key_angles: Tensor) -> Tensor:
    """Scores ``(queries, keys)`` against keys that are turned once, when they are stored."""
    stored = Rotation.by(key_angles).apply(k)
    return Rotation.by(query_angles).apply(q) @ stored.T


def recomputed_scores(q: Tensor, k: Tensor, query_angles: Tensor, key_angles: Tensor) -> Tensor:
    """The same scores with every key turned by R_i⁻¹R_j anew, for every query i."""
    between = block_matrices(key_angles[None] - query_angles[:, None])
    turned = rotate_by_blocks(k.expand(len(q), -1, -1), between)
    return torch.einsum("id,ijd->ij", q, turned)


def _slots(job: Computation, generator: Generator) -> Iterator[tuple[str, float]]:
    places, slots, q, k = _triple(job, generator)
    frequencies = standard_frequencies(job.model.d).double()

    def scores(offsets: Tensor) -> Tensor:
        angles = slot_angles(places, slots, frequencies, offsets)
        return stored_scores(q, k, angles, angles)

    planes = job.model.d // 2
    offsets = job.model.slot_scale * _normal(generator, len(SLOTS), planes)
    effect = (scores(offsets) - scores(torch.zeros_like(offsets))).abs()
    same = slots[:, None] == slots[None]
    yield "slot_within_error", float(effect[same].max())
    pairs = [(s, t) for s in SLOTS for t in SLOTS if s != t]
    across = [effect[(slots[:, None] == s) & (slots[None] == t)].max() for s, t in pairs]
    yield "slot_across_effect", float(torch.stack(across).min())


def _text(job: Computation, generator: Generator) -> Iterator[tuple[str, float]]:
    length, seed = 32, int(torch.randint(2**31, (), generator=generator))
    tokens = torch.randint(len(SYMBOLS), (4, length), generator=generator)
    differences = []
    for native, linearised in (("A", "B"), ("Aprime", "Bprime")):
        logits = []
        for variant in (native, linearised):
            model = _reader(variant, job, torch.Generator().manual_seed(seed))
            with torch.no_grad():
                logits.append(model([model.sentences(tokens)])[0])
        differences.append((logits[0] - logits[1]).abs().max())
    yield "text_equivalence_error", float(torch.stack(differences).max())


def _keys(job: Computation, generator: Generator) -> Iterator[tuple[str, float]]:
    places, slots, _, k = _triple(job, generator)
    frequencies = standard_frequencies(job.model.d).double()
    planes = job.model.d // 2
    offsets = job.model.slot_scale * _normal(generator, len(SLOTS), planes)
    key_angles = slot_angles(places, slots, frequencies, offsets)
    query_angles = torch.arange(48).double()[:, None] * frequencies
    q = _normal(generator, 48, job.model.d)
    stored = stored_scores(q, k, query_angles, key_angles)
    recomputed = recomputed_scores(q, k, query_angles, key_angles)
    yield "baked_key_error", float((stored - recomputed).abs().max())


def _decoding(job: Computation, generator: Generator) -> Iterator[tuple[str, float]]:
    """What a cache of baked keys and values changes of the tokens that a model goes on with."""
    seed = int(torch.randint(2**31, (), generator=generator))
    prompts = torch.randint(len(SYMBOLS), (4, 8), generator=generator)
    wrong = []
    for variant in ("A", "Cprime"):
        reader = _reader(variant, job, torch.Generator().manual_seed(seed))
        said = [
            decode_greedily(reader.transformer, prompts, 24, reader.text_angles, cached=cached)
            for cached in (True, False)
        ]
        wrong.append((said[0] != said[1]).double().mean())
    yield "decoding_mismatch", float(torch.stack(wrong).max())


_CHECKS: dict[str, Callable[[Computation, Generator], Iterator[tuple[str, float]]]] = {
    "slots": _slots,
    "text": _text,
    "keys": _keys,
    "decoding": _decoding,
}


def _triple(job: Computation, generator: Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Positions and slots of a triple's tokens, with a query and a key for each."""
    width, d = job.name_width, job.model.d
    each = torch.arange(width)
    places = torch.cat((each, torch.zeros(1, dtype=torch.long), each))
    slots = torch.tensor([HEAD] * width + [REL] + [TAIL] * width)
    q, k = _normal(generator, 2, len(slots), d)
    return places, slots, q / d**0.5, k


def _normal(generator: Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def _reader(variant: str, job: Computation, generator: Generator) -> Reader:
    settings = Job(
        variant=variant,
        linearisation="none" if variant.startswith("A") else "all",
        attention="softmax",
        frequencies="standard",
        data=Data(),
        model=job.model,
        training=Training(steps=1, learning_rate=1.0),
    )
    reader = Reader(settings, job.name_width, generator)
    reader.double()
    return reader
