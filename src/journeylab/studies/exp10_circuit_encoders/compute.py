"""Checks without training: the printed example, possible encodings, and two equalities.

*example*: the document's numbers (``document.py``).

| metric | meaning |
| --- | --- |
| printed_off | distance of a printed entry from its possible values, in units of the last place |
| printed_off_moved | the smaller distance of the entry moved by ±4 units: the negative control |
| token_error | number of fields of tokens that differ from those of the actions |
| token_error_moved | the smallest such number if a number is increased by 1: the negative control |
| undetermined | number of fields of tokens that the actions do not determine |
| one_hot_error | number of wrong entries of the printed one-hot vector of an input |
| one_hot_control | the smallest such number for another type: the negative control |
| misread_fields | fields of all tokens that are not read back from their one-hot rows |
| misread_control | the same if the parts of a row are read in the reverse order |
| memory_ratio | tables / one-hot rows and their layer: numbers of a token's input, or weights |
| weight_gap | |weights of tables − weights of the linear layer|, without or with its bias |

*encodings*: over all 7200 circuits.

| metric | meaning |
| --- | --- |
| circuits, functions | number of circuits, and of the polynomials that they compute |
| distinct | number of different encodings |
| functions_per_encoding | largest number of polynomials with the same encoding; at best 1 |
| feature_rank | rank of the encodings as one-hot rows, with a column of ones |
| ceiling | best accuracy over all circuits of any answer that depends on the encoding only |
| blind_lift | best accuracy of answers that depend on the types only − that of one fixed answer |

An encoding is the input of the model: the sequence of tokens. Without positions and node indices
the model cannot see their order, and the encoding is the last token and the multiset of all tokens.

*equivalence*: the largest |one-hot rows · W + b − x|. For ``lookup``, x is the sum of rows of W.
For ``sum``, x is the documented sum of tables, and W holds their values. The control exchanges two
rows of W. *padding*: the largest change of logits if three padding tokens follow a circuit. The
control does not mask them. Both are in float64.
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
    INPUT,
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
    digits,
    enumerate_circuits,
    functions,
    operation_types,
    tokens_of,
    values,
)
from journeylab.studies.exp10_circuit_encoders.document import (
    EXAMPLES,
    audit,
    one_hot_errors,
    token_errors,
    token_errors_shifted,
    undetermined,
)
from journeylab.studies.exp10_circuit_encoders.settings import Check, Computation

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = (
    *("draw", "metric", "matrix", "convention", "row", "column", "example", "part"),
    *("encoder", "task", "family", "fields", "form", "head", "value"),
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
    del streams  # draws are numbered from 0 and do not depend on a seed
    rows = list(CHECKS[job.variant](job))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    whole = dict.fromkeys(("row", "column", "example"), "Int64")
    return table.fillna({"draw": 0}).astype({"draw": "int64", "value": "float64"} | whole)


def encodings(encoder: str, tokens: Integers) -> Integers:
    """The input of an encoder for every circuit, as rows of integers ``(circuits, …)``."""
    fields, positions = ENCODERS[encoder]
    read = tokens[..., [FIELDS.index(field) for field in fields]]
    if positions or "node" in fields:
        return read.reshape(len(read), -1)
    base = 1 + int(read.max())
    numbers = read @ base ** np.arange(read.shape[-1])
    return np.column_stack((numbers[:, -1], np.sort(numbers, axis=1)))


def features(encoder: str, tokens: Integers) -> Integers:
    """A column of ones and the one-hot rows of all nodes (or the last node's and the sum of all).

    The shape is ``(circuits, features)``; features that are zero for all circuits are left out.
    """
    fields, positions = ENCODERS[encoder]
    rows = [np.eye(SIZES[f], dtype=np.int64)[tokens[..., FIELDS.index(f)]] for f in fields]
    glued = np.concatenate(rows, axis=-1)
    if positions or "node" in fields:
        flat = glued.reshape(len(glued), -1)
    else:
        flat = np.concatenate((glued[:, -1], glued.sum(axis=1)), axis=-1)
    return np.column_stack((np.ones(len(flat), dtype=np.int64), flat[:, flat.any(axis=0)]))


def _check_example(job: Computation) -> Iterator[Row]:
    del job  # the document is one draw
    for cell in audit():
        where: Row = {"matrix": cell.matrix, "convention": cell.convention}
        where |= {"row": cell.row, "column": cell.column}
        yield where | {"metric": "printed_off", "value": cell.error()}
        shifted = min(cell.error(4), cell.error(-4))
        yield where | {"metric": "printed_off_moved", "value": shifted}
    for example in EXAMPLES:
        yield {"metric": "token_error", "example": example, "value": token_errors(example)}
        shifted = token_errors_shifted(example)
        yield {"metric": "token_error_moved", "example": example, "value": shifted}
        yield {"metric": "undetermined", "example": example, "value": undetermined(example)}
    yield {"metric": "one_hot_error", "value": one_hot_errors(INPUT)}
    others = (one_hot_errors(kind) for kind in range(SIZES["type"]) if kind != INPUT)
    yield {"metric": "one_hot_control", "value": min(others)}
    yield from _read_back()
    yield from _compare_memory()


def _read_back() -> Iterator[Row]:
    """Fields that differ from the position of the largest entry in their part of the row."""
    encoder = OneHotFields(D, DOCUMENTED, generator=Generator())
    tokens = torch.from_numpy(tokens_of(enumerate_circuits()))
    glued = encoder.glue(tokens)
    for metric, order in (("misread_fields", DOCUMENTED), ("misread_control", DOCUMENTED[::-1])):
        parts = dict(zip(order, glued.split([SIZES[field] for field in order], -1), strict=True))
        read = torch.stack([parts[field].argmax(-1) for field in DOCUMENTED], -1)
        wrong = (read != tokens[..., : len(DOCUMENTED)]).sum()
        yield {"metric": metric, "value": int(wrong)}


def _compare_memory() -> Iterator[Row]:
    """The sizes of a token's input and of the weights, for both documented encoders."""
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
        matrix = features(encoder, tokens)
        counts = {
            "distinct": group.max() + 1,
            "functions_per_encoding": np.bincount(pairs[:, 0]).max(),
            "feature_rank": np.linalg.matrix_rank((matrix.T @ matrix).astype(np.float64)),
        }
        for metric, value in counts.items():
            yield {"metric": metric, "encoder": encoder, "value": int(value)}
        for task, right in answers.items():
            best = ceiling(group, right)
            yield {"metric": "ceiling", "encoder": encoder, "task": task, "value": best}
    for family, members in (("all", circuits), ("chains", enumerate_circuits(5, "previous"))):
        groups = operation_types(members)
        for task, answer in (("degree", degrees), ("value", values), ("digits", digits)):
            labels = answer(members)
            lift = ceiling(groups, labels) - ceiling(np.zeros_like(groups), labels)
            yield {"metric": "blind_lift", "family": family, "task": task, "value": lift}


def _check_equivalence(job: Computation) -> Iterator[Row]:
    for draw in range(job.draws):
        generator = Generator().manual_seed(draw)
        tokens = _sample(generator)
        for name, fields in WIRINGS.items():
            one_hot = OneHotFields(D, fields, generator=generator).double()
            summed = SummedFields(D, fields, generator=generator).double()
            twin = _twin(summed)
            for form, encoder, rows in (("lookup", one_hot, one_hot), ("sum", summed, twin)):
                case: Row = {"draw": draw, "fields": name, "form": form}
                with torch.no_grad():
                    expected = encoder(tokens)
                    glued, weight = rows.glue(tokens), rows.weight.clone()
                    error = (glued @ weight + rows.bias - expected).abs().max()
                    weight[[SIZES["type"] - 1, SIZES["type"] - 2]] = weight[
                        [SIZES["type"] - 2, SIZES["type"] - 1]
                    ]
                    exchanged = (glued @ weight + rows.bias - expected).abs().max()
                yield case | {"metric": "equivalence_error", "value": float(error)}
                yield case | {"metric": "equivalence_control", "value": float(exchanged)}


def _twin(summed: SummedFields) -> OneHotFields:
    """The one-hot encoder that equals a documented sum: value buckets 0 and 1 hold b and w + b."""
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
