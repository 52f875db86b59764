"""The algebra of the native models, checked in float64 without training, and documented sizes.

| variant | metric | check |
| --- | --- | --- |
| slots | slot_within_error | within a slot the slot angle cancels in every score |
| slots | slot_across_effect | across slots it does not: the smallest effect of a pair of slots |
| text | text_equivalence_error | text in a slot of angle 0 is read as B reads it (A′, B′ too) |
| text | text_equivalence_control | with a slot angle on the second half of the text it does not |
| keys | baked_key_error | ⟨R_i q, R_j k⟩ with R_j k stored = ⟨q, R_i⁻¹R_j k⟩ recomputed |
| keys | baked_key_control | operators that also damp: inverse and transpose differ |
| decoding | decoding_mismatch | tokens decoded with baked keys and values = without a cache |
| decoding | decoding_control | angles counted from the end change, so stored keys are wrong |
| counts | count, count_deviation | sizes of a world; relative deviation from the documented ones |
| counts | split_deviation | the same of the shares, for the best split of its derived facts |

There is one value per draw. An error is the largest absolute difference of the draw. A control is
the same quantity for an operator that violates an assumption of the theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float
from torch import Generator, Tensor

from journeylab.datasets.triples import HEAD, REL, SPLITS, TAIL, entities, facts_of
from journeylab.knowledge.reader import Reader
from journeylab.knowledge.settings import TEMPLATES, Training
from journeylab.models.decoding import Angles, decode_greedily
from journeylab.operators.journey import slot_angles
from journeylab.operators.naive import block_matrices, rotate_by_blocks
from journeylab.operators.rotary import Rotation, rotary_angles, standard_frequencies
from journeylab.records.cost import compare
from journeylab.streams import data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.language import ENGLISH, RELATIONS
from journeylab.studies.exp7_native_kg.settings import DOCUMENTED, Computation, Data, Job, Quantity

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = ("draw", "metric", "quantity", "value")
SLOTS = (HEAD, REL, TAIL)
DAMPING = 0.9
"""The factor of the damping control of baked keys."""
REPOSITORY, PAIRS = 96, 100
"""Triples and repetitions of the timing of baked keys."""

Measured = tuple[str, Quantity | None, float]
"""Metric, quantity (None for the algebra) and value."""


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """Run one check on all draws; columns draw, metric, quantity, value."""
    del streams  # nothing depends on a seed: draws count from 0
    rows: list[tuple[int, *Measured]] = []
    for draw in range(job.draws):
        if job.variant == "counts":
            rows += [(draw, *measured) for measured in count(Data(), draw)]
            continue
        check = _CHECKS[job.variant](job, torch.Generator().manual_seed(draw))
        rows += [(draw, metric, None, value) for metric, value in check]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def time_forms(job: Computation) -> dict[str, float]:
    """Time baked keys against recomputation; the result depends on the processor.

    keys: scores of 48 queries against the keys of REPOSITORY triples, stored rotated or rotated
    again. decoding: 64 tokens with a cache, or without. The ratio is slow : fast.
    """
    generator = torch.Generator().manual_seed(0)
    if job.variant == "keys":
        k, key_angles, q, query_angles = (case.float() for case in _queries(job, generator))
        k, key_angles = (case.repeat(REPOSITORY, 1) for case in (k, key_angles))
        stored = Rotation.by(key_angles).apply(k)

        def score(baked: bool) -> Tensor:
            keys = stored if baked else Rotation.by(key_angles).apply(k)
            return Rotation.by(query_angles).apply(q) @ keys.T

        return compare(lambda: score(True), lambda: score(False), PAIRS)
    if job.variant == "decoding":
        reader = _reader("A", job, generator)
        prompts = torch.randint(len(ENGLISH.symbols), (8, 16), generator=generator)

        def decode(cached: bool) -> Tensor:
            return decode_greedily(
                reader.transformer, prompts, 64, reader.text_angles, cached=cached
            )

        return compare(lambda: decode(True), lambda: decode(False), PAIRS // 10)
    return {}


def count(data: Data, draw: int) -> Iterator[Measured]:
    """Yield every documented size in one random world, and its deviation from DOCUMENTED.

    ``text tokens``: characters of all text rows. ``triples``: all facts of the world.
    """
    facts = generate(data, data_streams("exp7", "counts", draw))
    kinds = list(entities(facts).values())
    taught = facts_of(facts, "base", "teaching")
    derived = len(facts_of(facts, *SPLITS))
    sizes: dict[Quantity, float] = {
        "generations": len(data.generations),
        "people": kinds.count("person"),
        "cities": kinds.count("city"),
        "countries": kinds.count("country"),
        "relations": len(RELATIONS),
        "triples": len(facts),
        "text tokens": sum(
            len(ENGLISH.sentence(*fact, form)) for fact in taught for form in TEMPLATES
        ),
        "symbols": len(ENGLISH.symbols),
        "teaching share": len(facts_of(facts, "teaching")) / derived,
        "transfer share": len(facts_of(facts, "transfer")) / derived,
        "generalisation share": len(facts_of(facts, "generalisation")) / derived,
    }
    for quantity, size in sizes.items():
        yield "count", quantity, size
        documented = DOCUMENTED[quantity]
        yield "count_deviation", quantity, abs(size - documented) / documented
    yield "split_deviation", None, best_split(derived)


def best_split(facts: int) -> float:
    """Return the smallest possible deviation from the documented shares of three splits.

    The deviation of a split of ``facts`` into whole numbers is that of the share that is furthest
    from the documented one, relative to it.
    """
    names: tuple[Quantity, ...] = ("teaching share", "transfer share", "generalisation share")
    shares = [DOCUMENTED[name] for name in names]
    return min(
        max(
            abs(part / facts - share) / share
            for part, share in zip((a, b, facts - a - b), shares, strict=True)
        )
        for a in range(facts + 1)
        for b in range(facts + 1 - a)
    )


def stored_scores(
    q: Float[Tensor, "queries width"],
    k: Float[Tensor, "keys width"],
    query_angles: Float[Tensor, "queries planes"],
    key_angles: Float[Tensor, "keys planes"],
) -> Float[Tensor, "queries keys"]:
    """Return the scores ⟨R_i q_i, R_j k_j⟩, with keys that are rotated once, when stored."""
    stored = Rotation.by(key_angles).apply(k)
    return Rotation.by(query_angles).apply(q) @ stored.T


def recomputed_scores(
    q: Float[Tensor, "queries width"],
    k: Float[Tensor, "keys width"],
    query_angles: Float[Tensor, "queries planes"],
    key_angles: Float[Tensor, "keys planes"],
) -> Float[Tensor, "queries keys"]:
    """Return the scores ⟨q_i, R_i⁻¹R_j k_j⟩, with every key rotated again for every query."""
    between = block_matrices(key_angles[None] - query_angles[:, None])
    turned = rotate_by_blocks(k.expand(len(q), -1, -1), between)
    return torch.einsum("id,ijd->ij", q, turned)


def _slots(job: Computation, generator: Generator) -> Iterator[tuple[str, float]]:
    positions, slots, q, k = _triple(job, generator)
    frequencies = standard_frequencies(job.model.d).double()

    def scores(offsets: Tensor) -> Tensor:
        angles = slot_angles(positions, slots, frequencies, offsets)
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
    tokens = torch.randint(len(ENGLISH.symbols), (4, length), generator=generator)
    positions = torch.arange(length)
    slots = torch.where(positions < length // 2, HEAD, TAIL)
    differences, controls = [], []
    for native, linearised in (("A", "B"), ("Aprime", "Bprime")):
        a, b = (
            _reader(variant, job, torch.Generator().manual_seed(seed))
            for variant in (native, linearised)
        )
        rows = b.sentences(tokens)
        flat, slotted = (
            slot_angles(positions, slots, a.frequencies, offsets)[None]
            for offsets in (torch.zeros_like(a.slots), a.slots)
        )
        with torch.no_grad():
            [expected] = b([rows])
            [read] = a([rows._replace(angles=flat)])
            [control] = a([rows._replace(angles=slotted)])
        differences.append((read - expected).abs().max())
        controls.append((control - expected).abs().max())
    yield "text_equivalence_error", float(torch.stack(differences).max())
    yield "text_equivalence_control", float(torch.stack(controls).min())


def _keys(job: Computation, generator: Generator) -> Iterator[tuple[str, float]]:
    k, key_angles, q, query_angles = _queries(job, generator)
    stored = stored_scores(q, k, query_angles, key_angles)
    recomputed = recomputed_scores(q, k, query_angles, key_angles)
    yield "baked_key_error", float((stored - recomputed).abs().max())
    # 0.9·R instead of R leaves R_i⁻¹R_j unchanged, but not ⟨R_i q, R_j k⟩
    damped = stored_scores(DAMPING * q, DAMPING * k, query_angles, key_angles)
    yield "baked_key_control", float((damped - recomputed).abs().max())


def _decoding(job: Computation, generator: Generator) -> Iterator[tuple[str, float]]:
    """The share of decoded tokens that a cache of baked keys and values changes."""
    seed = int(torch.randint(2**31, (), generator=generator))
    prompts = torch.randint(len(ENGLISH.symbols), (4, 8), generator=generator)
    a, c = (
        _reader(variant, job, torch.Generator().manual_seed(seed)) for variant in ("A", "Cprime")
    )
    wrong = [_changed_tokens(reader, prompts, reader.text_angles) for reader in (a, c)]
    yield "decoding_mismatch", max(wrong)
    yield "decoding_control", _changed_tokens(a, prompts, _from_the_end(a))


def _changed_tokens(reader: Reader, prompts: Tensor, angles: Angles) -> float:
    cached, again = (
        decode_greedily(reader.transformer, prompts, 24, angles, cached=cached)
        for cached in (True, False)
    )
    return float((cached != again).double().mean())


def _from_the_end(reader: Reader) -> Angles:
    """RoPE counted from the last token: the same scores, but angles change as the row grows."""

    def angles(tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        return rotary_angles(torch.arange(length) - length, reader.frequencies)[None]

    return angles


_CHECKS: dict[str, Callable[[Computation, Generator], Iterator[tuple[str, float]]]] = {
    "slots": _slots,
    "text": _text,
    "keys": _keys,
    "decoding": _decoding,
}


def _triple(job: Computation, generator: Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Positions and slots of a triple's tokens, with a query and a key for each."""
    width, d = job.name_width, job.model.d
    in_name = torch.arange(width)
    positions = torch.cat((in_name, torch.zeros(1, dtype=torch.long), in_name))
    slots = torch.tensor([HEAD] * width + [REL] + [TAIL] * width)
    q, k = _normal(generator, 2, len(slots), d)
    return positions, slots, q / d**0.5, k


def _queries(job: Computation, generator: Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Keys of a triple and 48 queries of a text, each with their angles."""
    positions, slots, _, k = _triple(job, generator)
    frequencies = standard_frequencies(job.model.d).double()
    planes = job.model.d // 2
    offsets = job.model.slot_scale * _normal(generator, len(SLOTS), planes)
    key_angles = slot_angles(positions, slots, frequencies, offsets)
    query_angles = torch.arange(48).double()[:, None] * frequencies
    return k, key_angles, _normal(generator, 48, job.model.d), query_angles


def _normal(generator: Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def _reader(variant: str, job: Computation, generator: Generator) -> Reader:
    settings = Job(
        variant=variant,
        data=Data(),
        model=job.model,
        training=Training(steps=1, learning_rate=1.0),
    )
    reader = Reader(settings, len(ENGLISH.symbols), job.name_width, generator)
    reader.double()
    return reader
