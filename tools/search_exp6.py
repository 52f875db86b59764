"""Search rate and initial spread of exp6 on pilot seeds: all settings of a run are trained at once.

    python tools/search_exp6.py random-toral/separable random-toral-scores/journey-learned:64

Prints, for every spread (row) and rate (column), the training loss of the best restart, averaged
over numbers of heads, median over the pilots 1000 to 1003. ``:64`` are the restarts (default 16 for
models with local minima, 1 for the others). The update is Adam with the schedule of config.yaml.
"""

import math
import sys
from collections.abc import Callable

import torch
from torch import Tensor

from journeylab.streams import data_streams
from journeylab.studies.exp6_coupling_rank.data import (
    counts_of,
    frequencies_of,
    generate,
    scores_of,
)
from journeylab.studies.exp6_coupling_rank.settings import HEADS, STACKED, D, Data, TableSizes
from journeylab.studies.exp6_coupling_rank.tables import FORMS

RATES = (0.03, 0.1, 0.3, 1.0)
SPREADS = (0.1, 0.3, 1.0)

PILOTS = (1000, 1001, 1002, 1003)
STEPS, WARMUP, MATCHED = 1000, 50, 3
SIZES = TableSizes()
CELLS = [(spread, rate) for spread in SPREADS for rate in RATES]

Scores = Callable[[list[Tensor]], list[Tensor]]


def main(name: str) -> None:
    """Search one run."""
    run, _, restarts = name.partition(":")
    arm, variant = run.split("/")
    dataset = arm.removesuffix("-scores")
    labels = "random" if dataset == "random-labels" else "teacher"
    data = Data(frequencies="random", operators="toral", labels=labels)
    tables = [generate(data, data_streams("exp6", dataset, seed)) for seed in PILOTS]
    if arm.endswith("-scores"):
        scores = [scores_of(table, data) for table in tables]
        target = torch.stack([x / x.square().mean().sqrt() for x in scores])
    else:
        target = torch.stack([x / x.sum() for x in (counts_of(table, data) for table in tables)])
    omega = torch.stack([frequencies_of(table) for table in tables]).float()[None, :, None]
    count = int(restarts or (1 if variant in STACKED else 16))
    parameters, forward = start(variant, count, omega)

    def losses() -> Tensor:
        every = torch.stack(forward(parameters))
        fitted = target.float()[:, None]
        if arm.endswith("-scores"):
            return (every - fitted).square().mean((-1, -2, -3))
        return -(fitted * every.log_softmax(-1)).sum((-1, -2, -3))

    train(parameters, lambda: losses().sum())
    with torch.no_grad():
        best = losses().amin(-1).mean(0).quantile(0.5, dim=-1).unflatten(0, (len(SPREADS), -1))
    print(name, *(" ".join(f"{x:.4g}" for x in row) for row in best.tolist()), sep="\n")


def start(variant: str, restarts: int, omega: Tensor) -> tuple[list[Tensor], Scores]:
    """Parameters (settings, pilots, restarts, …), equal in all settings up to the spread."""
    generator = torch.Generator().manual_seed(0)
    t, s, e, planes = SIZES.positions, SIZES.roles, SIZES.entities, D // 2
    spreads = torch.tensor([spread for spread, _ in CELLS])

    def normal(*shape: int) -> Tensor:
        drawn = torch.randn(1, len(PILOTS), restarts, *shape, generator=generator)
        return drawn * spreads.view(-1, *[1] * (drawn.dim() - 1))

    def uniform(*shape: int) -> Tensor:
        drawn = torch.rand(1, len(PILOTS), restarts, *shape, generator=generator)
        return drawn.repeat(len(CELLS), *[1] * (drawn.dim() - 1))

    if variant.startswith("journey"):
        parts = [normal(planes, 2), normal(e, planes, 2), math.pi * (2 * uniform(s, planes) - 1)]
        if variant == "journey-learned":
            parts.append(math.pi * uniform(planes))
        return parts, lambda p: [journey(p[3] if len(p) > 3 else omega, *p[:3])]
    form = FORMS[variant]
    heads = HEADS if variant in STACKED else (MATCHED,)
    shapes = [form.shapes(count, t, s, e) for count in heads]
    parts = [normal(*shape) for group in shapes for shape in group]
    size = len(shapes[0])
    return parts, lambda p: [form.join(*p[i : i + size]) for i in range(0, len(p), size)]


def journey(omega: Tensor, query: Tensor, keys: Tensor, roles: Tensor) -> Tensor:
    """⟨R_t q, R_s k_e⟩, planes as complex numbers."""
    angles = torch.arange(SIZES.positions)[:, None] * omega[..., None, :]
    queries = turn(angles) * torch.view_as_complex(query)[..., None, :]
    rotated = turn(roles)[..., None, :] * torch.view_as_complex(keys)[..., None, :, :]
    left, right = (torch.view_as_real(x).flatten(-2) for x in (queries, rotated.flatten(-3, -2)))
    return (left @ right.mT).unflatten(-1, (SIZES.roles, SIZES.entities))


def turn(angles: Tensor) -> Tensor:
    """e^{iφ}."""
    return torch.polar(torch.ones_like(angles), angles)


def train(parameters: list[Tensor], loss: Callable[[], Tensor]) -> None:
    """Adam; setting i has its own rate."""
    rates = torch.tensor([rate for _, rate in CELLS])
    first, second = ([torch.zeros_like(x) for x in parameters] for _ in range(2))
    for x in parameters:
        x.requires_grad_()
    for step in range(1, STEPS + 1):
        cosine = 0.5 * (1 + math.cos(math.pi * max(0, step - WARMUP) / (STEPS - WARMUP)))
        scale = min(step / WARMUP, cosine)
        gradients = torch.autograd.grad(loss(), parameters)
        with torch.no_grad():
            for x, gradient, mean, square in zip(parameters, gradients, first, second, strict=True):
                mean.mul_(0.9).add_(gradient, alpha=0.1)
                square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
                change = (mean / (1 - 0.9**step)) / ((square / (1 - 0.999**step)).sqrt() + 1e-8)
                x.sub_(change * (scale * rates).view(-1, *[1] * (x.dim() - 1)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:]:
        main(name)
