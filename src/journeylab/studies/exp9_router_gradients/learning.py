"""Trains a linear router of the stream task with every estimator, from several starts at once.

The optimiser is Adam at a constant rate, on new sequences in every step, which all estimators of a
seed share. Rate and standard deviation of the initial weights are settings of the variant. The
value of a seed is the mean over its starts. The temperature of annealing depends on the length of
the training, so annealing is trained again for the short budget. For all other estimators, the
short training is the beginning of the long one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from journeylab.models.estimators import (
    THREE_PHASES,
    Annealing,
    Estimator,
    GumbelSoftmax,
    LeaveOneOut,
    Reinforce,
    ReinMax,
    SampledStraightThrough,
    Soft,
    StraightThrough,
    balance_loss,
    draw_gumbel,
    follow_average,
    harden,
)
from journeylab.models.hypergraph import pair_share
from journeylab.streams import Streams
from journeylab.studies.exp9_router_gradients.gradients import (
    ENTROPY,
    MOMENTUM,
    SMALLEST,
    TAUS,
    Laboratory,
)
from journeylab.studies.exp9_router_gradients.separation import (
    Sequences,
    draw_sequences,
    losses,
    matched_accuracy,
    oracle,
)
from journeylab.studies.exp9_router_gradients.settings import (
    SHARES,
    TYPES,
    Budget,
    Computation,
    Trained,
)

TOKENS = 12
WATCHED = 64
"""Sequences on which changes of routes are counted from step to step."""
BALANCE = 0.01
"""Weight of the load-balancing loss, as in the Switch Transformer."""
EMPTY = 0.01
"""A router has collapsed if a timeline has less than this share of the tokens."""
AHEAD = 50
"""Steps whose sequences are drawn at once, which saves calls."""
ALIGNED = 64
"""Number of estimates whose cosines with the exact gradient are averaged."""
OVER: dict[Trained, float] = {
    "annealing": 0.4,
    "annealing-noisy": 0.4,
    "annealing-10": 0.1,
    "annealing-100": 1.0,
    "three-phase": 1.0,
}
"""Share of the steps over which temperatures fall."""

Row = dict[str, str | int | float]


class Trajectory(NamedTuple):
    """Routers during training, by step, and their flip rates up to that step."""

    routers: dict[int, Float[Tensor, "rates scales starts K K"]]
    flips: dict[int, Float[Tensor, "rates scales starts"]]


def estimator_at(variant: Trained, step: int, steps: int, baseline: float | Tensor) -> Estimator:
    """Return the estimator of a step, counted from 1 to `steps`."""
    match variant:
        case "straight-through" | "straight-through-balanced":
            return StraightThrough()
        case "straight-through-sampled":
            return SampledStraightThrough()
        case "gumbel-1" | "gumbel-0.5" | "gumbel-0.1":
            return GumbelSoftmax(TAUS[variant])
        case "soft":
            return Soft()
        case "reinforce":
            return Reinforce(baseline)
        case "reinforce-literal":
            return Reinforce(baseline, ENTROPY)
        case "rloo":
            return LeaveOneOut()
        case "reinmax":
            return ReinMax()
    over = max(1, round(OVER[variant] * steps))
    if variant == "three-phase":
        return Annealing(over, THREE_PHASES).at(step - 1)
    if variant == "annealing-noisy":
        return Annealing(over, silent_below=0.0).at(step - 1)
    return Annealing(over).at(step - 1)


def train(
    variant: Trained,
    job: Computation,
    streams: Streams,
    steps: int,
    cells: tuple[Sequence[float], Sequence[float]] | None = None,
    shares: Sequence[int] = SHARES,
) -> Trajectory:
    """Train routers from all starts; keep them at ``shares`` (percentages) of the steps.

    ``cells`` are rates and scales, of which all pairs are trained; by default those of the job.
    All of them read the same sequences and noise, and share their starts up to the scale.
    """
    rates, scales = cells or ((job.rate,), (job.scale,))
    drawn, noise = streams.generator("batches"), streams.generator("noise")
    starts = torch.randn(job.starts, TYPES, TYPES, generator=streams.generator("init"))
    scaled = torch.tensor(list(scales)).view(-1, 1, 1, 1) * starts
    parts = [scaled.clone().requires_grad_() for _ in rates]
    groups = [{"params": [w], "lr": rate} for w, rate in zip(parts, rates, strict=True)]
    adam = torch.optim.Adam(groups, fused=True)
    baseline = torch.zeros(len(rates), *scaled.shape[:2])
    kept = {round(share * steps / 100) for share in shares} | {min(job.short, steps)}
    path = [torch.stack(parts).detach()]
    ahead: list[Sequences] = []
    for step in range(1, steps + 1):
        if not ahead:
            ahead = draw_sequences(job.rows * AHEAD, TOKENS, drawn).split(job.rows)
        data = ahead.pop()
        logits = _logits(data.inputs, torch.stack(parts))
        estimator = estimator_at(variant, step, steps, baseline[..., None])
        shared = draw_gumbel(logits[:1, :1], estimator.draws, noise)
        choice = estimator.choose(logits, shared.expand(-1, *logits.shape))
        lost = losses(choice.sample, data)
        baseline = follow_average(baseline, lost.mean(0), MOMENTUM)
        if variant == "reinforce-literal":  # its average includes this step
            estimator = estimator_at(variant, step, steps, baseline[..., None])
        objective = estimator.objective(lost, choice).mean(-1).sum()
        if variant == "straight-through-balanced":
            objective = objective + BALANCE * _imbalance(choice.sample[0], logits)
        adam.zero_grad()
        objective.backward()
        adam.step()
        path.append(torch.stack(parts).detach())
    watched = draw_sequences(WATCHED, TOKENS, streams.generator("watched")).inputs
    flips = {step: flip_rate(path[step // 2 : step + 1], watched) for step in kept - {0}}
    return Trajectory({step: path[step] for step in kept}, flips)


def flip_rate(
    path: Sequence[Float[Tensor, "*many K K"]], inputs: Float[Tensor, "rows n K"]
) -> Float[Tensor, "*many"]:
    """Return the share of tokens that change timelines in a step, averaged over a path."""
    total, before = torch.zeros(path[0].shape[:-2]), _choices(inputs, path[0])
    for routers in path[1:]:
        now = _choices(inputs, routers)
        total += (now != before).float().mean((-2, -1))
        before = now
    return total / max(len(path) - 1, 1)


def report(variant: Trained, job: Computation, streams: Streams) -> Iterator[Row]:
    """Train, and yield every metric of the routers as rows."""
    validation = draw_sequences(job.test, TOKENS, streams.generator("validation"))
    test = draw_sequences(job.test, TOKENS, streams.generator("test"))
    long = train(variant, job, streams, job.steps)
    short = train(variant, job, streams, job.short) if variant in OVER else long
    budgets: dict[Budget, tuple[Trajectory, int]] = {
        "short": (short, job.short),
        "long": (long, job.steps),
    }
    for budget, (trajectory, steps) in budgets.items():
        metrics = describe(trajectory.routers[steps][0, 0], test)
        metrics["flip_rate"] = float(trajectory.flips[steps].mean())
        for metric, value in metrics.items():
            yield {"metric": metric, "budget": budget, "value": value}
    for share in SHARES:
        step = round(share * job.steps / 100)
        routers = long.routers[step][0, 0]
        estimator = estimator_at(variant, max(step, 1), job.steps, 0.0)
        metrics = {
            "validation_mse": float(hard_losses(routers, validation).mean()),
            "alignment": alignment(estimator, routers[0], job, streams),
        }
        for metric, value in metrics.items():
            yield {"metric": metric, "share": share, "value": value}
    for metric, value in anchors(test, streams).items():
        yield {"metric": metric, "value": value}


def describe(routers: Float[Tensor, "starts K K"], test: Sequences) -> dict[str, float]:
    """Test metrics, means over starts; spread is the standard deviation of the error over them."""
    logits = _logits(test.inputs, routers)
    hard, every = harden(logits), hard_losses(routers, test)
    mixed = losses(logits.softmax(-1), test).mean(-1)
    used = hard.mean((1, 2)).amin(-1)
    right = [matched_accuracy(route, test.types) for route in hard]
    return {
        "hard_mse": float(every.mean()),
        "soft_hard_gap": float((every - mixed).mean()),
        "accuracy": sum(right) / len(right),
        "collapse": float((used < EMPTY).float().mean()),
        "sparsity": float(pair_share(hard).mean()),
        "spread": float(every.std()),
    }


def anchors(test: Sequences, streams: Streams) -> dict[str, float]:
    """Errors of routers that need no training: nearest type, true type, one timeline, random."""
    rows, n = test.values.shape
    true = torch.eye(TYPES)[test.types]
    chance = torch.randint(TYPES, (rows, n), generator=streams.generator("chance"))
    routes = {
        "oracle": oracle(test),
        "types": true,
        "single": torch.eye(TYPES)[torch.zeros_like(test.types)],
        "random": torch.eye(TYPES)[chance],
    }
    errors = {f"{name}_mse": float(losses(r, test).mean()) for name, r in routes.items()}
    return errors | {"types_sparsity": float(pair_share(true).mean())}


def alignment(
    estimator: Estimator, router: Float[Tensor, "K K"], job: Computation, streams: Streams
) -> float:
    """Return the mean cosine of single estimates with the exact gradient, on six-token sequences.

    The baseline of REINFORCE is the expected loss.
    """
    generator = streams.generator("alignment")
    drawn = Laboratory.draw(job.sequences, generator)
    lab = Laboratory(drawn.data, router.double())
    if isinstance(estimator, Reinforce):
        estimator = Reinforce(float((lab.chances * lab.losses).sum(0).mean()), estimator.entropy)
    many = lab.logits.expand(ALIGNED, -1, -1, -1)
    noise = draw_gumbel(many, estimator.draws, generator)
    estimates = lab.gradients_of(estimator, noise).mean(1).flatten(1)
    exact = lab.exact.flatten()
    sizes = (estimates.norm(dim=1) * exact.norm()).clamp_min(SMALLEST)
    return float((estimates @ exact / sizes).mean())


def _logits(
    inputs: Float[Tensor, "rows n K"], routers: Float[Tensor, "*many K K"]
) -> Float[Tensor, "*many rows n K"]:
    # Rows are flattened: one product per router is faster than one per row.
    logits: Tensor = (inputs.flatten(0, 1) @ routers).unflatten(-2, inputs.shape[:2])
    return logits


def hard_losses(routers: Float[Tensor, "*many K K"], data: Sequences) -> Float[Tensor, "*many"]:
    """Return the mean loss of every router with hard routes."""
    return losses(harden(_logits(data.inputs, routers)), data).mean(-1)


def _choices(inputs: Tensor, routers: Tensor) -> Tensor:
    return _logits(inputs, routers).argmax(-1)


def _imbalance(sample: Tensor, logits: Tensor) -> Tensor:
    """The load-balancing losses of all routers, added up."""
    every = (each.reshape(-1, *each.shape[-3:]) for each in (sample, logits))
    return torch.stack([balance_loss(*pair) for pair in zip(*every, strict=True)]).sum()
