"""Compare fast forms with slow references, in interleaved pairs, on one thread.

    python benchmarks/run.py [--only PART …] [--pairs 40] [--output build/bench]

Prints a table, writes a JSON file per part, and draws cost against work from all JSON files.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import torch
from attention import written_out_against_fused
from ensembles import SETTINGS, VOCABULARY, Text, batched_against_sequential
from gpu import seeds_on_a_gpu
from judge_power import wrong_verdicts
from pairs import Row, print_table, product_rate, with_floor, write
from pipeline import time_pipeline
from places import places_against_whole_rows
from plot import draw
from scans import against_the_loop
from timelines import blocks_against_all_scores
from torch import Tensor, nn
from torch.nn.functional import linear

from journeylab.models.decoding import decode_greedily
from journeylab.models.transformer import Transformer
from journeylab.operators.journey import slot_angles
from journeylab.operators.naive import BlockTurn
from journeylab.operators.rotary import Rotation, rotary_angles, standard_frequencies
from journeylab.records.cost import Step, compare
from journeylab.streams import Streams
from journeylab.training import prepare_process
from journeylab.training.loop import SingleSeed


def engine_step(problem: Text) -> Step:
    """Return a training step as the engine takes it, progress and checkpoints aside."""
    learner = SingleSeed(problem, SETTINGS, Streams("exp0", 0), "", torch.device("cpu"))
    return lambda: learner.advance(1, SETTINGS.learning_rate)


def plain_step(problem: Text) -> Step:
    """Return the same training step with a module, `clip_grad_norm_` and `AdamW`."""
    generator = torch.Generator().manual_seed(0)
    model = problem.build(generator)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=SETTINGS.learning_rate, fused=True)

    def step() -> None:
        loss = problem.loss(model, problem.batch(1, generator, generator))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, SETTINGS.clip)
        optimizer.step()

    return step


textbook = patch("journeylab.models.transformer.affine", linear)
"""Decorator of a step with PyTorch's affine maps: a model as a textbook would write it."""


def decoding(cached: bool) -> Step:
    """Return greedy decoding of 64 tokens for 32 prompts."""
    generator = torch.Generator().manual_seed(0)
    model = Transformer(VOCABULARY, transport=True, generator=generator)
    prompts = torch.randint(VOCABULARY, (32, 16), generator=generator)
    frequencies = standard_frequencies(64)

    def angles(tokens: torch.Tensor) -> torch.Tensor:
        return rotary_angles(torch.arange(tokens.shape[1]), frequencies)[None]

    return lambda: decode_greedily(model, prompts, 64, angles, cached=cached)


def repository_scores(baked: bool) -> Step:
    """Return the scores of 48 queries against all triples of an exp7 world.

    Stored keys are either rotated once (`baked`) or rotated again for the queries.
    """
    generator = torch.Generator().manual_seed(0)
    frequencies, slots = standard_frequencies(64), torch.arange(13) // 6 % 3
    angles = slot_angles(torch.arange(13) % 6, slots, frequencies, torch.randn(3, 32)).repeat(96, 1)
    k, q = torch.randn(1248, 64, generator=generator), torch.randn(48, 64, generator=generator)
    query_angles = rotary_angles(torch.arange(48), frequencies)

    def turned(x: Tensor, by: Tensor) -> Tensor:
        return Rotation.by(by).apply(x)

    stored = turned(k, angles)
    if baked:
        return lambda: turned(q, query_angles) @ stored.T
    return lambda: turned(q, query_angles) @ turned(k, angles).T


def step_against_twin(pairs: int) -> list[Row]:
    rows: list[Row] = []
    for width, layers, length, count in ((64, 2, 48, 32), (90, 3, 20, 32), (32, 1, 20, 32)):
        problem = Text(width, layers, length, count)
        fast, matrices = engine_step(problem), plain_step(replace(problem, turn=BlockTurn))
        operations = problem.flops_per_step(nn.Module())
        sizes = f"d {width}, {layers} layers, T {length}, batch {count}"
        for twin, slow in {"2×2": matrices, "2×2, textbook maps": textbook(matrices)}.items():
            result = compare(fast, slow, pairs)
            # The rate is measured right after the pairs, so that other load affects both.
            reached = with_floor(result, operations / product_rate(width, count * length))
            named: Row = {"name": f"step ({twin}) {sizes}", "twin": twin, "work": operations}
            rows.append(named | reached)
    return rows


def cached_keys(pairs: int) -> list[Row]:
    reading = compare(decoding(True), decoding(False), max(3, pairs // 8))
    scoring = compare(repository_scores(True), repository_scores(False), 5 * pairs)
    return [
        {"name": "decoding 64 tokens: baked keys against no cache", **reading},
        {"name": "48 queries, 96 triples: baked keys against rotating again", **scoring},
    ]


PARTS: dict[str, Callable[[int], list[Row]]] = {
    "steps": step_against_twin,
    "places": places_against_whole_rows,
    "cached": cached_keys,
    "attention": written_out_against_fused,
    "timelines": blocks_against_all_scores,
    "scans": against_the_loop,
    "ensembles": batched_against_sequential,
    "gpu": seeds_on_a_gpu,
    "pipeline": time_pipeline,
    "judge": wrong_verdicts,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--output", type=Path, default=Path("build/bench"))
    options = parser.parse_args()
    prepare_process(threads=1)
    print(f"{'':62}{'fast':>11}{'slow':>12}  ratio (quartiles)        floor (reached)")
    for part in options.only:
        rows = PARTS[part](options.pairs)
        print_table(rows)
        if rows:
            write(options.output / f"{part}.json", rows)
    draw(options.output)


if __name__ == "__main__":
    main()
