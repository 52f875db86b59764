"""What can be checked without training: ceilings, sizes, order, and numbers of reflections.

| check | metric | quantity checked |
| --- | --- | --- |
| ceilings | ceiling, chance | exact anchors of word problems, means over the second half of rows |
| ceilings | ceiling_error | ceilings by dynamic programming against those by enumeration |
| sizes | mismatch | difference of a block's parameters from those of the settings, as a share |
| sizes | kiloflops | operations of a forward pass per token, in thousands, for rows of S3 |
| orders | order_change | change of a product state's output if letters are permuted, see below |
| reflections | reflections | least number whose product is a generator, smallest faithful form |
| reflections | relation_error | difference of two products of generators that name one element |
| reflections | delta_error | delta steps with β = 2 and M_0 ≠ 0 against the maps of the group |
| reflections | projection_error | the same with β = 1, where steps project instead of reflect |

**Order.** A product state of 12 random letters is compared with that of the same letters in another
order, in float64 and relative to the largest output. Commuting operators leave rounding only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import torch
from torch import nn

from journeylab.datasets.groups import GENERATORS, GROUPS
from journeylab.models.mixers.delta import delta_states
from journeylab.models.mixers.model import MixerBlock, count_parameters
from journeylab.models.mixers.names import mechanism_names
from journeylab.models.mixers.registry import build_mixer
from journeylab.studies.exp13_published_mixers.ceilings import (
    ceilings,
    chances,
    in_second_half,
)
from journeylab.studies.exp13_published_mixers.models import RowTensors, build_model, mean_loss
from journeylab.studies.exp13_published_mixers.reflections import (
    REPRESENTED,
    factor,
    homomorphism_error,
    needed,
    represent,
)
from journeylab.studies.exp13_published_mixers.settings import (
    FACTORS,
    WORD_TASKS,
    Computation,
    Training,
    WordTask,
)

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = ("case", "times", "draw", "metric", "value")
LENGTH = 32
"""Tokens of the longest training rows of word problems."""
LETTERS = 12
PRODUCTS = ("toral-product", "orthogonal-product", "linear-product")
REPEATS = 5

Row = tuple[str, int | None, int, str, float]


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """The rows of one check: case, times, draw, metric, value."""
    del streams  # draws are numbered from 0
    checks = {
        "ceilings": _ceilings,
        "sizes": _sizes,
        "orders": _orders,
        "reflections": _reflections,
    }
    rows = list(checks[job.variant](job))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"times": "Int64"})


def time_forms(job: Computation) -> dict[str, float]:
    """CPU milliseconds of a training step of one seed on S3, by mechanism; 1 layer, alone.

    The median of five steps without the optimiser. Times depend on the processor.
    """
    if job.variant != "sizes":
        return {}
    generator = torch.Generator().manual_seed(0)
    shape = (Training(steps=1, learning_rate=1.0).rows, 1 + LENGTH)
    rows = RowTensors(
        torch.randint(3, shape, generator=generator), torch.randint(6, shape, generator=generator)
    )
    return {
        name: _milliseconds(build_model(name, "S3", job.model, generator), rows)
        for name in mechanism_names()
    }


def _milliseconds(model: nn.Module, rows: RowTensors) -> float:
    times = []
    for _ in range(1 + REPEATS):
        began = process_time()
        mean_loss(model(rows.tokens), rows.labels).backward()
        times.append(1e3 * (process_time() - began))
    return median(times[1:])


def enumerated_ceiling(task: WordTask, length: int) -> Fraction:
    """The ceiling at a length, by enumeration of all words."""
    table, letters = GROUPS[task], GENERATORS[task]
    counts: dict[int, list[int]] = {}
    for word in itertools.product((0, 1), repeat=length):
        element = 0
        for letter in word:
            element = int(table[letters[letter], element])
        counts.setdefault(sum(word), [0] * len(table))[element] += 1
    return Fraction(sum(map(max, counts.values())), 2**length)


def order_change(mechanism: str, job: Computation, draw: int) -> float:
    """The relative change of the last output of a product state if its letters are permuted."""
    generator = torch.Generator().manual_seed(draw)
    sizes = job.model
    mixer = build_mixer(mechanism, sizes.width, sizes.heads, generator=generator).double()
    letters = torch.randn(2, sizes.width, generator=generator, dtype=torch.float64)
    word = torch.randint(2, (LETTERS,), generator=generator)
    word[:2] = torch.tensor([0, 1])
    moved = word[torch.randperm(LETTERS, generator=generator)]
    with torch.no_grad():
        first, second = mixer(torch.stack((letters[word], letters[moved])))[:, -1]
    return float((first - second).abs().max() / first.abs().max())


def delta_error(group: str, beta: float = 2.0) -> float:
    """The largest error of states of delta steps on a word of 64 letters.

    A memory that starts as the identity and gets only zero values is the product of the maps.
    The first step writes the identity: key e_i, value e_i, β = 1 for every i.
    """
    operators = represent(group)
    size = len(operators[0])
    steps = max(map(needed, operators))
    word = np.random.default_rng(0).integers(0, 2, 64)
    keys = np.zeros((size + len(word), steps, size))
    values, strength = np.zeros_like(keys), np.zeros(keys.shape[:2])
    keys[range(size), 0, range(size)] = values[range(size), 0, range(size)] = 1.0
    strength[:size, 0] = 1.0
    state, states = np.eye(size), []
    for t, letter in enumerate(word, start=size):
        for j, w in enumerate(reversed(factor(operators[letter]))):
            keys[t, j], strength[t, j] = w, beta
        state = operators[letter] @ state
        states.append(state)
    reached = delta_states(*map(torch.from_numpy, (keys, values, strength)))[size:].numpy()
    return float(np.abs(reached - np.stack(states)).max())


def _ceilings(job: Computation) -> Iterator[Row]:
    for task in WORD_TASKS:
        longest = max(FACTORS) * LENGTH
        for times in FACTORS:
            for metric, values in (("ceiling", ceilings), ("chance", chances)):
                value = in_second_half(values(task, longest), times * LENGTH)
                yield task, times, 0, metric, value
        wrong = max(
            abs(enumerated_ceiling(task, n) - ceilings(task, longest)[n - 1])
            for n in range(1, job.enumerate + 1)
        )
        yield task, None, 0, "ceiling_error", float(wrong)


def _sizes(job: Computation) -> Iterator[Row]:
    for name in mechanism_names():
        model = build_model(name, "S3", job.model, torch.Generator())
        [block, *_] = (cast(MixerBlock, each) for each in model.blocks)
        off = abs(count_parameters(block) / job.model.parameters - 1.0)
        yield name, None, 0, "mismatch", off
        for times in FACTORS:
            cost = model.flops_per_token(1 + times * LENGTH) / 1e3
            yield name, times, 0, "kiloflops", cost


def _orders(job: Computation) -> Iterator[Row]:
    for name in PRODUCTS:
        for draw in range(job.draws):
            yield name, None, draw, "order_change", order_change(name, job, draw)


def _reflections(job: Computation) -> Iterator[Row]:
    del job  # groups have one size
    for group in REPRESENTED:
        operators = represent(group)
        yield group, None, 0, "reflections", float(max(map(needed, operators)))
        yield group, None, 0, "relation_error", homomorphism_error(group, operators)
        yield group, None, 0, "delta_error", delta_error(group)
        yield group, None, 0, "projection_error", delta_error(group, beta=1.0)
