"""Compare fast forms with their slow twins, in interleaved pairs, one thread.

    python benchmarks/run.py [--pairs 40] [--output build/bench]

The two sides of a pair run one after the other, many times over, so that whatever else the machine
does slows both. Times are CPU times; the ratio is the median over pairs, with its quartiles.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import torch
from torch import nn
from torch.nn.functional import cross_entropy, embedding, linear

from journeylab.models.attention import causal_mask
from journeylab.models.decoding import decode_greedily
from journeylab.models.flops import training_flops
from journeylab.models.transformer import Rows, Transformer
from journeylab.operators.affine import product, weight_gradient
from journeylab.operators.dropout import Dropout, draw_key
from journeylab.operators.journey import accumulate, slot_angles
from journeylab.operators.naive import BlockTurn
from journeylab.operators.rotary import Rotation, Turn, rotary_angles, standard_frequencies
from journeylab.studies.exp7_native_kg.certify import bake as bake_keys
from journeylab.studies.exp7_native_kg.certify import stored_scores
from journeylab.training import prepare_process

VOCABULARY = 55
Step = Callable[[], object]


def training_step(turn: type[Turn], width: int, layers: int, length: int, rows: int) -> Step:
    """A whole step with operator-based values and per-token angles: batch, backward, AdamW."""
    generator = torch.Generator().manual_seed(0)
    model = Transformer(
        VOCABULARY, width=width, layers=layers, transport=True, turn=turn, generator=generator
    )
    spread = 1.0 + 0.1 * torch.randn(VOCABULARY, width // 2, generator=generator)
    table = nn.Parameter(standard_frequencies(width) * spread)
    parameters = [*model.parameters(), table]
    optimizer = torch.optim.AdamW(parameters, fused=True)

    def step() -> None:
        tokens = torch.randint(VOCABULARY, (rows, length), generator=generator)
        dropout = Dropout(0.05, draw_key(generator))
        group = Rows(tokens, accumulate(embedding(tokens, table)), causal_mask(length))
        loss = cross_entropy(model([group], dropout), tokens.roll(-1, 1).flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    return step


def textbook(step: Step) -> Step:
    """The same step with the library's affine maps as well: a model as one would first write it."""

    def plain() -> None:
        with patch("journeylab.models.transformer.affine", linear):
            step()

    return plain


def decoding(cached: bool) -> Step:
    """Greedy decoding of 64 tokens for 32 prompts."""
    generator = torch.Generator().manual_seed(0)
    model = Transformer(VOCABULARY, transport=True, generator=generator)
    prompts = torch.randint(VOCABULARY, (32, 16), generator=generator)
    frequencies = standard_frequencies(64)

    def angles(tokens: torch.Tensor) -> torch.Tensor:
        return rotary_angles(torch.arange(tokens.shape[1]), frequencies)[None]

    return lambda: decode_greedily(model, prompts, 64, angles, cached=cached)


def repository_scores(baked: bool) -> Step:
    """Scores of 48 queries against all triples of an exp7 world, keys stored turned or not."""
    generator = torch.Generator().manual_seed(0)
    frequencies, slots = standard_frequencies(64), torch.arange(13) // 6 % 3
    angles = slot_angles(torch.arange(13) % 6, slots, frequencies, torch.randn(3, 32)).repeat(96, 1)
    k, q = torch.randn(1248, 64, generator=generator), torch.randn(48, 64, generator=generator)
    query_angles = rotary_angles(torch.arange(48), frequencies)
    stored = bake_keys(k, angles)
    if baked:
        return lambda: stored_scores(q, stored, query_angles)
    return lambda: stored_scores(q, bake_keys(k, angles), query_angles)


def product_rate(width: int, tokens: int) -> float:
    """Operations per second of the map d → 4d, forward and backward: the floor's rate."""
    x, grad = torch.randn(tokens, width), torch.randn(tokens, 4 * width)
    weight, bias = torch.randn(4 * width, width), torch.randn(4 * width)

    def products() -> None:
        product(x, weight, bias)
        product(grad, weight.mT)
        weight_gradient(grad, x)

    with torch.no_grad():
        seconds = sorted(timed(products) for _ in range(50))[25]
    return 3 * 2.0 * tokens * width * 4 * width / seconds


def timed(step: Step) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def compare(fast: Step, slow: Step, pairs: int) -> dict[str, float]:
    for warm_up in (fast, slow) * 3:
        warm_up()
    times = torch.tensor([(timed(fast), timed(slow)) for _ in range(pairs)], dtype=torch.float64)
    low, ratio, high = (times[:, 1] / times[:, 0]).quantile(
        torch.tensor([0.25, 0.5, 0.75]).double()
    )
    fast_ms, slow_ms = (1e3 * times).median(0).values
    return {
        "fast_ms": fast_ms.item(),
        "slow_ms": slow_ms.item(),
        "ratio": ratio.item(),
        "low": low.item(),
        "high": high.item(),
    }


def step_against_twin(pairs: int) -> list[dict[str, object]]:
    rows = []
    for width, layers, length, count in ((64, 2, 48, 32), (90, 3, 20, 32), (32, 1, 20, 32)):
        fast, matrices = (
            training_step(turn, width, layers, length, count) for turn in (Rotation, BlockTurn)
        )
        shape = {"width": width, "layers": layers, "vocabulary": VOCABULARY}
        operations = training_flops([(count, length)], **shape)
        sizes = f"d {width}, {layers} layers, T {length}, batch {count}"
        for twin, slow in {"2×2": matrices, "2×2, textbook maps": textbook(matrices)}.items():
            result = compare(fast, slow, pairs)
            # Measured beside the pairs, so that a busy machine slows the floor as well.
            floor = 1e3 * operations / product_rate(width, count * length)
            reached = {"floor_ms": floor, "of_product_rate": floor / result["fast_ms"]}
            rows.append({"name": f"step ({twin}) {sizes}", **result, **reached})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--output", type=Path, default=Path("build/bench"))
    options = parser.parse_args()
    prepare_process(threads=1)
    results = step_against_twin(options.pairs)
    cache = compare(decoding(True), decoding(False), max(3, options.pairs // 8))
    results.append({"name": "decoding 64 tokens: baked keys against reading again", **cache})
    stored = compare(repository_scores(True), repository_scores(False), 5 * options.pairs)
    results.append({"name": "48 queries, 96 triples: baked keys against turning anew", **stored})
    print(f"{'':62}{'fast':>9}{'twin':>10}  ratio (quartiles)      floor")
    for row in results:
        floor = ""
        if "floor_ms" in row:
            floor = f"{row['floor_ms']:7.1f} ms ({row['of_product_rate']:.0%})"
        print(
            f"{row['name']:62}{row['fast_ms']:6.1f} ms{row['slow_ms']:7.1f} ms  "
            f"{row['ratio']:5.2f} ({row['low']:.2f} – {row['high']:.2f}) {floor}"
        )
    options.output.mkdir(parents=True, exist_ok=True)
    record = {"torch": torch.__version__, "machine": platform.processor(), "results": results}
    path = options.output / "engine.json"
    path.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
