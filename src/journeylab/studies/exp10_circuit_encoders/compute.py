"""What needs no training: the printed example, what encoders can represent, and two equivalences.

*example*, the document's numbers (``document.py``)

| metric | meaning |
| --- | --- |
| printed_off | units in the last place by which a printed entry is off, under a convention |
| printed_off_moved | the least of these where the entry is moved by ±4: the negative control |
| token_error | fields of tokens that are not what the actions give |
| token_error_moved | the least of these where one number is larger by 1: the negative control |
| undetermined | fields of tokens that the actions do not determine |
| memory_ratio | numbers of a token, or weights: of tables / of one-hot rows and their layer |
| weight_gap | |weights of tables − weights of the linear layer|, its bias left out or counted |

*encodings*, over all 7200 circuits

| metric | meaning |
| --- | --- |
| circuits, functions | how many there are, and how many polynomials they compute |
| distinct | different encodings |
| functions_per_encoding | the most polynomials that share one encoding; 1 confuses none |
| feature_rank | rank of the encodings as one-hot rows, with a column of ones |
| ceiling | best accuracy over all circuits of any answer that depends on the encoding |

An encoding is what the model reads: the sequence of tokens, or, where neither positions nor node
indices tell their order, the last token and the multiset of all.

*equivalence*: the largest |one-hot rows · W + b − x| where x is the sum of looked-up rows of W
(``lookup``), or the documented sum of tables whose one-hot twin has W (``sum``); in the control two
rows are exchanged. *padding*: the largest change of logits when three tokens of padding follow a
circuit; in the control they are seen. Both are in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, get_args

import numpy as np
import pandas as pd
import torch
from torch import Generator, Tensor

from journeylab.models.circuits import (
    DOCUMENTED,
    FIELDS,
    SIZES,
    WIRED,
    CircuitTransformer,
    Field,
    Head,
    OneHotFields,
    SummedFields,
)
from journeylab.studies.exp10_circuit_encoders.circuits import (
    NODES,
    Integers,
    ceiling,
    degrees,
    enumerate_circuits,
    functions,
    tokens_of,
    values,
)
from journeylab.studies.exp10_circuit_encoders.document import (
    EXAMPLES,
    audit,
    token_errors,
    token_errors_moved,
    undetermined,
)
from journeylab.studies.exp10_circuit_encoders.settings import TASKS, Check, Computation

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = (
    *("draw", "metric", "matrix", "convention", "row", "column", "example", "part"),
    *("encoder", "task", "fields", "form", "head", "value"),
)
ENCODERS: dict[str, tuple[tuple[Field, ...], bool]] = {
    "documented": (DOCUMENTED, True),
    "documented-neither": (("type", "value"), False),
    "wiring": (WIRED, True),
    "wiring-no-value": (("type", "node", "input1", "input2"), True),
    "wiring-no-position": (WIRED, False),
    "wiring-no-node": (("type", "value", "input1", "input2"), True),
    "wiring-neither": (("type", "value", "input1", "input2"), False),
}
"""Which fields an encoder embeds, and whether positions are added."""
WIRINGS: dict[str, tuple[Field, ...]] = {"documented": DOCUMENTED, "wiring": WIRED}
HEADS: tuple[Head, ...] = get_args(Head)
PADDING, SAMPLE, D = 3, 100, 32

Row = dict[str, str | int | float]


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """Tidy rows: draw, metric, factors …, value."""
    del streams  # draws count from 0
    rows = list(CHECKS[job.variant](job))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    whole = dict.fromkeys(("row", "column", "example"), "Int64")
    return table.fillna({"draw": 0}).astype({"draw": "int64", "value": "float64"} | whole)


def encodings(encoder: str, tokens: Integers) -> Integers:
    """What a model reads of every circuit, as rows of whole numbers ``(circuits, …)``."""
    fields, positions = ENCODERS[encoder]
    read = tokens[..., [FIELDS.index(field) for field in fields]]
    if positions or "node" in fields:
        return read.reshape(len(read), -1)
    base = 1 + int(read.max())
    numbers = read @ base ** np.arange(read.shape[-1])
    return np.column_stack((numbers[:, -1], np.sort(numbers, axis=1)))


def features(encoder: str, tokens: Integers) -> Integers:
    """A column of ones and the one-hot rows of all nodes, or of the last node and their sum."""
    fields, positions = ENCODERS[encoder]
    rows = [np.eye(SIZES[f], dtype=np.int64)[tokens[..., FIELDS.index(f)]] for f in fields]
    glued = np.concatenate(rows, axis=-1)
    if positions or "node" in fields:
        told = glued.reshape(len(glued), -1)
    else:
        told = np.concatenate((glued[:, -1], glued.sum(axis=1)), axis=-1)
    return np.column_stack((np.ones(len(told), dtype=np.int64), told[:, told.any(axis=0)]))


def _check_example(job: Computation) -> Iterator[Row]:
    del job  # the document is one draw
    for cell in audit():
        where: Row = {"matrix": cell.matrix, "convention": cell.convention}
        where |= {"row": cell.row, "column": cell.column}
        yield where | {"metric": "printed_off", "value": cell.off()}
        moved = min(cell.off(4), cell.off(-4))
        yield where | {"metric": "printed_off_moved", "value": moved}
    for example in EXAMPLES:
        yield {"metric": "token_error", "example": example, "value": token_errors(example)}
        moved = token_errors_moved(example)
        yield {"metric": "token_error_moved", "example": example, "value": moved}
        yield {"metric": "undetermined", "example": example, "value": undetermined(example)}
    yield from _compare_memory()


def _compare_memory() -> Iterator[Row]:
    """What a token is to the documented encoders, and what they hold themselves."""
    generator = Generator().manual_seed(0)
    summed = SummedFields(D, DOCUMENTED, generator=generator)
    one_hot = OneHotFields(D, DOCUMENTED, generator=generator)
    length = one_hot.glue(_sample(generator)).shape[-1]
    tables = sum(table.numel() for table in summed.parameters())
    weights, bias = one_hot.weight.numel(), one_hot.bias.numel()
    # A table reads one number of a token.
    yield {"metric": "memory_ratio", "part": "input", "value": len(summed.tables) / length}
    yield {"metric": "memory_ratio", "part": "weights", "value": tables / weights}
    for part, counted in (("weights", weights), ("weights and bias", weights + bias)):
        yield {"metric": "weight_gap", "part": part, "value": abs(tables - counted)}


def _check_encodings(job: Computation) -> Iterator[Row]:
    del job  # an enumeration is one draw
    circuits = enumerate_circuits()
    tokens, computed = tokens_of(circuits), np.unique(functions(circuits), return_inverse=True)[1]
    answers = {"degree": degrees(circuits), "value": values(circuits)}
    yield {"metric": "circuits", "value": len(circuits)}
    yield {"metric": "functions", "value": computed.max() + 1}
    for encoder in ENCODERS:
        _, group = np.unique(encodings(encoder, tokens), axis=0, return_inverse=True)
        pairs = np.unique(np.column_stack((group, computed)), axis=0)
        told = features(encoder, tokens)
        found = {
            "distinct": group.max() + 1,
            "functions_per_encoding": np.bincount(pairs[:, 0]).max(),
            "feature_rank": np.linalg.matrix_rank((told.T @ told).astype(np.float64)),
        }
        for metric, value in found.items():
            yield {"metric": metric, "encoder": encoder, "value": int(value)}
        for task in TASKS:
            best = ceiling(group, answers[task])
            yield {"metric": "ceiling", "encoder": encoder, "task": task, "value": best}


def _check_equivalence(job: Computation) -> Iterator[Row]:
    for draw in range(job.draws):
        generator = Generator().manual_seed(draw)
        tokens = _sample(generator)
        for name, fields in WIRINGS.items():
            one_hot = OneHotFields(D, fields, generator=generator).double()
            summed = SummedFields(D, fields, generator=generator).double()
            twin = _twin(summed)
            for form, made, rows in (("lookup", one_hot, one_hot), ("sum", summed, twin)):
                case: Row = {"draw": draw, "fields": name, "form": form}
                with torch.no_grad():
                    expected = made(tokens)
                    glued, weight = rows.glue(tokens), rows.weight.clone()
                    error = (glued @ weight + rows.bias - expected).abs().max()
                    weight[[SIZES["type"] - 1, SIZES["type"] - 2]] = weight[
                        [SIZES["type"] - 2, SIZES["type"] - 1]
                    ]
                    exchanged = (glued @ weight + rows.bias - expected).abs().max()
                yield case | {"metric": "equivalence_error", "value": float(error)}
                yield case | {"metric": "equivalence_control", "value": float(exchanged)}


def _twin(summed: SummedFields) -> OneHotFields:
    """The one-hot encoder of a documented sum: the buckets 0 and 1 hold b and w + b."""
    twin = OneHotFields(summed.width, summed.fields, generator=Generator()).double()
    parts = [
        torch.stack((table[1], table[0] + table[1])) if field == "value" else table
        for field, table in zip(summed.fields, summed.tables, strict=True)
    ]
    with torch.no_grad():
        twin.weight.copy_(torch.cat(parts))
        twin.bias.zero_()
    return twin


def _check_padding(job: Computation) -> Iterator[Row]:
    for draw in range(job.draws):
        for head in HEADS:
            generator = Generator().manual_seed(draw)
            tokens = _sample(generator)
            padded = torch.nn.functional.pad(tokens, (0, 0, 0, PADDING))
            encoder = SummedFields(D, WIRED, generator=generator)
            model = CircuitTransformer(
                encoder, nodes=NODES + PADDING, answers=9, head=head, generator=generator
            ).double()
            with torch.no_grad():
                short = model(tokens)
                for metric, masked in (("padding_error", True), ("padding_control", False)):
                    model.masked = masked
                    change = float((model(padded) - short).abs().max())
                    yield {"draw": draw, "metric": metric, "head": head, "value": change}


def _sample(generator: Generator) -> Tensor:
    circuits = enumerate_circuits()
    chosen = torch.randint(len(circuits), (SAMPLE,), generator=generator).numpy()
    return torch.from_numpy(tokens_of(circuits[chosen]))


CHECKS: dict[Check, Callable[[Computation], Iterator[Row]]] = {
    "example": _check_example,
    "encodings": _check_encodings,
    "equivalence": _check_equivalence,
    "padding": _check_padding,
}
