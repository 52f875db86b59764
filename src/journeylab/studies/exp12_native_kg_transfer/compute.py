"""Checks of exp12 without training: reading beside stored entries, in float64, and its worlds.

| variant | metric | check |
| --- | --- | --- |
| cache | cache_error | hidden states with stored entries = those of one pass over all tokens |
| cache | cache_control | the same, with slots HEAD and TAIL exchanged in the stored entries |
| order | order_error | another order of the entries changes nothing |
| order | order_control | the same, with the entries read as one text |
| splits | leaks | facts in training rows that their tier forbids |
| splits | leak_control | the same, with all facts written as text |
| splits | moved | facts whose tier differs between two bridged shares |
| splits | moved_control | the same, between two worlds |

There is one value per draw. An error is the largest absolute difference of the draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import Generator, Tensor

from journeylab.datasets.triples import (
    HEAD,
    REL,
    TAIL,
    Corpus,
    Fact,
    entities,
    facts_of,
    write_corpus,
)
from journeylab.knowledge.reader import Reader
from journeylab.knowledge.settings import Model, Training
from journeylab.models.attention import causal_mask
from journeylab.models.repository import read_beside, store
from journeylab.models.transformer import Rows
from journeylab.records.cost import compare
from journeylab.streams import data_streams
from journeylab.studies.exp12_native_kg_transfer.data import generate
from journeylab.studies.exp12_native_kg_transfer.language import language_of
from journeylab.studies.exp12_native_kg_transfer.models import problem
from journeylab.studies.exp12_native_kg_transfer.settings import Computation, Data, Job

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = ("draw", "metric", "value")
ENTRIES, VOCABULARY, WIDTH, LENGTH, ROWS = 40, 60, 2, 9, 4
"""Sizes of a random case: entries, symbols, tokens of a name, tokens of a text row, text rows."""
PAIRS = 20
"""Repetitions of the timing."""
SHARES = (0.1, 0.3, 0.5, 0.7)

Measured = tuple[str, float]
"""Metric and value."""


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """Run one check on all draws; columns draw, metric, value."""
    del streams  # nothing depends on a seed: draws count from 0
    rows = [
        (draw, *measured)
        for draw in range(job.draws)
        for measured in _CHECKS[job.variant](job, torch.Generator().manual_seed(draw))
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def time_forms(job: Computation) -> dict[str, float]:
    """Time 48 rows of text with a stored repository of all triples, or with one computed again.

    The result depends on the processor. The ratio is slow : fast.
    """
    if job.variant != "cache":
        return {}
    settings, streams = _job(job.model), data_streams("exp12", "timing", 0)
    knowledge = problem(settings, generate(settings.data, streams), streams)
    reader = knowledge.build(torch.Generator().manual_seed(0))
    assert isinstance(reader, Reader)
    model, entries = reader.transformer, reader.triples(knowledge.kg.tokens)
    rows = reader.sentences(knowledge.text.inputs[:48])
    with torch.no_grad():
        baked = store(model, entries)
        return compare(
            lambda: read_beside(model, rows, baked),
            lambda: read_beside(model, rows, store(model, entries)),
            PAIRS,
        )


def _cache(job: Computation, generator: Generator) -> Iterator[Measured]:
    reader, entries, text = _case(job, generator)
    model = reader.transformer
    with torch.no_grad():
        baked = store(model, entries)
        hidden = read_beside(model, text, baked)
        yield "cache_error", _largest(hidden - _one_pass(reader, entries, text))
        exchanged = entries._replace(angles=_angles(reader, (TAIL, REL, HEAD)))
        wrong = read_beside(model, text, store(model, exchanged))
    yield "cache_control", _largest(hidden - wrong)


def _order(job: Computation, generator: Generator) -> Iterator[Measured]:
    reader, entries, text = _case(job, generator)
    model = reader.transformer
    moved = entries._replace(tokens=entries.tokens[torch.randperm(ENTRIES, generator=generator)])
    with torch.no_grad():
        hidden, again = (read_beside(model, text, store(model, rows)) for rows in (entries, moved))
        yield "order_error", _largest(hidden - again)
        hidden, again = (
            read_beside(model, text, store(model, reader.sentences(rows.tokens.view(1, -1))))
            for rows in (entries, moved)
        )
    yield "order_control", _largest(hidden - again)


def _splits(job: Computation, generator: Generator) -> Iterator[Measured]:
    del job
    seed = int(torch.randint(2**31, (), generator=generator))
    family, *bridged = (
        (data, generate(data, data_streams("exp12", "splits", seed)))
        for data in (Data(), *(Data(world="attributes", bridging=share) for share in SHARES))
    )
    worlds = (family, *bridged)
    yield "leaks", float(sum(_leaks(*world, as_text=()) for world in worlds))
    everything = ("transfer", "shown", "generalisation")
    yield "leak_control", float(min(_leaks(*world, as_text=everything) for world in worlds))
    tiers = [_tested(facts) for _, facts in bridged]
    yield "moved", float(sum(len(tiers[0] ^ other) for other in tiers[1:]))
    other = generate(bridged[0][0], data_streams("exp12", "splits", seed + 1))
    yield "moved_control", float(len(tiers[0] ^ _tested(other)))


def _leaks(data: Data, facts: pd.DataFrame, as_text: tuple[str, ...]) -> int:
    """Number of facts of tiers 2 and 3 in text rows, and of tier 3 in any row, of A and B."""
    language = language_of(data, 1, list(entities(facts)))
    count = 0
    for native, linearised in ((True, ()), (False, (1,))):
        rows = write_corpus(facts, language, linearised=linearised, native=native)
        added = [language.sentence(*fact, 0) for fact in facts_of(facts, *as_text)]
        shown = Corpus((*rows.text, *added), rows.linearised, rows.triples)
        text = set(shown.text)
        anywhere = text | set(shown.linearised)
        for split, seen in (("transfer", text), ("shown", text), ("generalisation", anywhere)):
            for fact in facts_of(facts, split):
                written = {language.sentence(*fact, template) for template in range(3)}
                hidden = split == "generalisation" and fact in shown.triples
                count += hidden or not written.isdisjoint(seen)
    return count


def _tested(facts: pd.DataFrame) -> set[tuple[str, Fact]]:
    tiers = ("transfer", "generalisation")
    return {(tier, fact) for tier in tiers for fact in facts_of(facts, tier)}


_CHECKS: dict[str, Callable[[Computation, Generator], Iterator[Measured]]] = {
    "cache": _cache,
    "order": _order,
    "splits": _splits,
}


def _case(job: Computation, generator: Generator) -> tuple[Reader, Rows, Rows]:
    """A random reader in float64, random entries in slots, and random rows of text."""
    reader = Reader(_job(job.model), VOCABULARY, WIDTH, generator)
    reader.double()
    entries = torch.randint(VOCABULARY, (ENTRIES, 2 * WIDTH + 1), generator=generator)
    text = torch.randint(VOCABULARY, (ROWS, LENGTH), generator=generator)
    return reader, reader.triples(entries), reader.sentences(text)


def _one_pass(reader: Reader, entries: Rows, text: Rows) -> Tensor:
    """Hidden states of text rows in one masked pass over all entries and the row."""
    width, length = entries.tokens.shape[1], text.tokens.shape[1]
    stored = entries.tokens.numel()
    tokens = torch.cat((entries.tokens.view(1, -1).expand(ROWS, -1), text.tokens), 1)
    assert entries.angles is not None
    assert text.angles is not None
    angles = torch.cat((entries.angles.repeat(1, ENTRIES, 1), text.angles), 1)
    mask = torch.zeros(1, stored + length, stored + length, dtype=torch.bool)
    for first in range(0, stored, width):
        mask[:, first : first + width, first : first + width] = True
    mask[:, stored:, :stored] = True
    mask[:, stored:, stored:] = causal_mask(length)
    hidden = reader.transformer.hidden([Rows(tokens, angles, mask)])
    return hidden.view(ROWS, stored + length, -1)[:, stored:]


def _angles(reader: Reader, slots: tuple[int, int, int]) -> Tensor:
    """Angles of a triple with the angles of other slots."""
    base = reader.triple_angles()
    change = reader.slots[torch.tensor(slots)] - reader.slots
    return base + change[reader.parts]


def _largest(difference: Tensor) -> float:
    return float(difference.abs().max())


def _job(model: Model) -> Job:
    budget = Training(steps=1, learning_rate=1.0)
    return Job(variant="A", data=Data(), model=model, training=budget)
