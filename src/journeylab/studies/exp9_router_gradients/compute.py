"""Results without the language model: exact gradients, training of small routers, certificates.

*gradients*, per seed, with factors estimator and scale (defined in ``gradients``)

| metric | meaning |
| --- | --- |
| relative_bias, cosine, variance | of an estimator |
| monte_carlo_error | standard error of its bias, over ‖∇J‖; 0 if the moments are exact sums |
| disagreement | share of tokens that noise sends to another timeline than the argmax |

*training*, per seed, with factor budget, or share of the long budget (done in ``learning``)

| metric | meaning |
| --- | --- |
| hard_mse | test error with hard routes (argmax) |
| soft_hard_gap | hard_mse − test error of the mixture |
| accuracy | share of tokens in the timeline of their type, under the best naming |
| collapse | share of starts with a timeline that has less than 1 % of the tokens |
| sparsity, types_sparsity | mean Σ_k n_k²/N², of the router and of the true types |
| flip_rate | share of fixed tokens that change timelines in a step, over the second half |
| spread | standard deviation of the hard error over starts; other values are means over starts |
| validation_mse, alignment | hard error, and cosine of estimates with ∇J, during training |
| oracle_mse, types_mse, single_mse, random_mse | nearest type, true type, one timeline, random |

*certificates*, computed once, ``draws`` times, in double precision

| metric | meaning |
| --- | --- |
| one_hot_error | largest |sample − its argmax as one-hot|; case soft: the control |
| argmax_gradient | largest finite difference of the argmax's loss; case soft: the control |
| reinforce_error | relative bias; case plain, literal, and its two parts updated and entropy |
| soft_error | relative error of the soft gradient; case hard: from ∇J, relaxed: by differences |
| tau_changes | one-hots that differ between temperatures; case other: with other noise |
| rerouted | share of tokens that training sends elsewhere than inference; case noisy: Gumbel at
  τ = 0.1, last-phase: annealing from 70 to 100 % of its schedule, end: its last step |
| softness | 1 − the largest entry of a relaxed sample, mean over tokens; at τ = 1 and 0.1 |
| overhead | operations that an estimator adds, see ``operations`` |
| gumbel_difference | value or gradient, document's block − library; case other: with other noise |
| undefined | names that a block of the document uses but does not define |
| schedule_error | |τ of the code − τ printed|, annealing over 100 or 40 % of the steps |
| off_block | largest weight off the blocks, tokens sorted by timeline; case soft: the control |

*attention*, computed once: block_error, see ``blocks``
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from torch import Generator, Tensor

from journeylab.models.estimators import (
    Annealing,
    Estimator,
    GumbelSoftmax,
    ReinMax,
    SampledStraightThrough,
    Soft,
    StraightThrough,
    balance_loss,
    draw_gumbel,
    harden,
    softmax,
)
from journeylab.studies.exp9_router_gradients import blocks, operations
from journeylab.studies.exp9_router_gradients.document import (
    PRINTED,
    TAU,
    chosen_by_gumbel,
    noise_of,
    run,
    schedule_error,
)
from journeylab.studies.exp9_router_gradients.gradients import (
    ENTROPY,
    TAUS,
    Laboratory,
    average_of,
    disagreement,
    of_reinforce,
)
from journeylab.studies.exp9_router_gradients.learning import (
    BALANCE,
    TOKENS,
    estimator_at,
    report,
)
from journeylab.studies.exp9_router_gradients.separation import (
    draw_sequences,
    losses,
    weights,
)
from journeylab.studies.exp9_router_gradients.settings import (
    BLOCKS,
    ESTIMATED,
    SCALES,
    TRAINED,
    TYPES,
    Block,
    Computation,
    Trained,
)

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = (
    *("draw", "metric", "estimator", "scale", "budget", "share", "case", "block", "over"),
    "value",
)
TEMPERATURES = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1)
HARD: tuple[Estimator, ...] = (
    *(StraightThrough(), SampledStraightThrough(), ReinMax()),
    *(GumbelSoftmax(tau) for tau in TEMPERATURES),
    GumbelSoftmax(0.1, 0.0),
)
NOISY: tuple[Block, ...] = ("gumbel", "annealed", "phase 1", "quick reference")
MANY = 2000
"""Tokens whose routes in training and in inference are compared."""
FIRST = 100
"""The first draw of the certificates; revision 1 had 0 and above."""
STEP = 1e-6
TIMINGS, WARM = 200, 20

Row = dict[str, str | int | float]


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """Tidy rows: draw, metric, factors …, value."""
    if job.computed in ("certificates", "attention"):
        checks = CHECKS if job.computed == "certificates" else (blocks.check,)
        rows = [
            {"draw": draw} | row
            for draw in range(FIRST, FIRST + job.draws)
            for check in checks
            for row in check(Generator().manual_seed(draw))
        ]
        rows += _audit() if job.computed == "certificates" else ()
    else:
        assert streams is not None
        rows = list(_compare(job, streams) if job.computed == "gradients" else _train(job, streams))
    table = pd.DataFrame(rows, columns=list(COLUMNS)).fillna({"draw": 0})
    whole = dict.fromkeys(("share", "over"), "Int64")
    return table.astype({"draw": "int64", "value": "float64"} | whole)


def time_forms(job: Computation) -> dict[str, float]:
    """Median CPU milliseconds of a training step, by estimator; estimators are timed in turns.

    For attention: the ratios of `blocks.time_blocks`.
    """
    if job.computed == "attention":
        return blocks.time_blocks(max(2, min(job.draws, blocks.PAIRS)))
    if job.computed != "certificates":
        return {}
    timed = [name for name in TRAINED if not name.startswith(("annealing", "three"))]
    spent: dict[str, list[float]] = {name: [] for name in timed}
    generator = Generator().manual_seed(0)
    data = draw_sequences(job.rows, TOKENS, generator)
    router = torch.randn(TYPES, TYPES, generator=generator).requires_grad_()
    for turn in range(min(job.draws, TIMINGS) + WARM):
        for name in timed:
            began = time.process_time()
            estimator = estimator_at(name, 1, 1, 0.0)
            choice = estimator(data.inputs @ router, generator)
            loss = estimator.objective(losses(choice.sample, data), choice).mean()
            if name == "straight-through-balanced":
                loss = loss + BALANCE * balance_loss(choice.sample[0], choice.logits)
            loss.backward()
            if turn >= WARM:
                spent[name].append(1e3 * (time.process_time() - began))
    return {name: statistics.median(times) for name, times in spent.items()}


def _compare(job: Computation, streams: Streams) -> Iterator[Row]:
    drawn = Laboratory.draw(job.sequences, streams.generator("laboratory"))
    for scale in SCALES:
        lab = drawn.at(scale)
        for name in ESTIMATED:
            moments = lab.estimate(name, job.draws, streams.generator("noise"))
            where: Row = {"estimator": name, "scale": f"{scale:g}"}
            for metric, value in lab.compare(moments).items():
                yield where | {"metric": metric, "value": value}
        for name, tau in TAUS.items():
            moved = disagreement(lab, min(job.draws, 1000), streams.generator("noise"), tau)
            where = {"estimator": name, "scale": f"{scale:g}"}
            yield where | {"metric": "disagreement", "value": moved}


def _train(job: Computation, streams: Streams) -> Iterator[Row]:
    return report(cast(Trained, job.variant), job, streams)


def _check_forward(generator: Generator) -> Iterator[Row]:
    logits = _logits(generator)
    for case, estimators in (("hard", HARD), ("soft", (Soft(),))):
        samples = [estimator(logits, generator).sample for estimator in estimators]
        off = max(float((sample - harden(sample)).abs().max()) for sample in samples)
        yield {"metric": "one_hot_error", "case": case, "value": off}
    noise, other = draw_gumbel(logits, 1, generator), draw_gumbel(logits, 1, generator)
    first = harden(GumbelSoftmax(TEMPERATURES[0]).choose(logits, noise).sample)
    for case, each in (("same", noise), ("other", other)):
        hard = [harden(GumbelSoftmax(tau).choose(logits, each).sample) for tau in TEMPERATURES[1:]]
        changes = sum(float((route != first).any(-1).sum()) for route in hard)
        yield {"metric": "tau_changes", "case": case, "value": changes}


def _check_inference(generator: Generator) -> Iterator[Row]:
    logits = torch.randn(MANY, TYPES, generator=generator, dtype=torch.float64)
    schedule = Annealing(100)
    cases = {
        "noisy": [GumbelSoftmax(0.1)],
        "last-phase": [schedule.at(step) for step in range(70, 101)],
        "end": [schedule.at(100)],
    }
    for case, estimators in cases.items():
        samples = [estimator(logits, generator).sample for estimator in estimators]
        moved = [(sample.argmax(-1) != logits.argmax(-1)).double().mean() for sample in samples]
        yield {"metric": "rerouted", "case": case, "value": float(torch.stack(moved).max())}
    noise = draw_gumbel(logits, 1, generator)[0]
    for tau in (1.0, 0.1):
        soft = 1.0 - softmax((logits + noise) / tau).amax(-1)
        yield {"metric": "softness", "estimator": f"gumbel-{tau:g}", "value": float(soft.mean())}


def _check_argmax(generator: Generator) -> Iterator[Row]:
    data = draw_sequences(8, TOKENS, generator, torch.float64)
    router = torch.randn(TYPES, TYPES, generator=generator, dtype=torch.float64)
    moves = STEP * torch.eye(TYPES**2, dtype=torch.float64).view(-1, 1, TYPES, TYPES)
    up, down = (data.inputs @ (router + move) for move in (moves, -moves))
    for case, route in (("hard", harden), ("soft", partial(torch.softmax, dim=-1))):
        slope = (losses(route(up), data) - losses(route(down), data)).abs().max() / (2.0 * STEP)
        yield {"metric": "argmax_gradient", "case": case, "value": float(slope)}


def _check_reinforce(generator: Generator) -> Iterator[Row]:
    lab = Laboratory.draw(8, generator)
    average, _ = average_of(lab)
    cases = {
        "plain": of_reinforce(lab),
        "updated": of_reinforce(lab, baseline=average, updated=True),
        "entropy": of_reinforce(lab, baseline=average, entropy=ENTROPY),
        "literal": of_reinforce(lab, baseline=average, updated=True, entropy=ENTROPY),
    }
    for case, moments in cases.items():
        bias = lab.compare(moments)["relative_bias"]
        yield {"metric": "reinforce_error", "case": case, "value": bias}


def _check_soft(generator: Generator) -> Iterator[Row]:
    lab = Laboratory.draw(8, generator)
    estimated = lab.estimate("soft", 0, generator).mean
    moves = STEP * torch.eye(TYPES**2, dtype=torch.float64).view(-1, 1, TYPES, TYPES)
    up, down = (
        losses((lab.data.inputs @ (lab.router + move)).softmax(-1), lab.data).mean(-1)
        for move in (moves, -moves)
    )
    relaxed = ((up - down) / (2.0 * STEP)).view(TYPES, TYPES)
    for case, truth in (("hard", lab.exact), ("relaxed", relaxed)):
        error = float((estimated - truth).norm() / truth.norm())
        yield {"metric": "soft_error", "case": case, "value": error}


def _check_gumbel(generator: Generator) -> Iterator[Row]:
    logits = _logits(generator).requires_grad_()
    uniform, other = torch.rand(2, *logits.shape, generator=generator, dtype=torch.float64)
    arriving = torch.randn(logits.shape, generator=generator, dtype=torch.float64)
    for block in NOISY:
        for case, drawn in (("same", uniform), ("other", other)):
            ours = GumbelSoftmax(TAU).choose(logits, noise_of(uniform)[None]).sample[0]
            theirs = chosen_by_gumbel(block, logits, drawn)
            slopes = [torch.autograd.grad((x * arriving).sum(), logits)[0] for x in (ours, theirs)]
            off = max(_largest(ours - theirs), _largest(slopes[0] - slopes[1]))
            yield {"metric": "gumbel_difference", "block": block, "case": case, "value": off}


def _check_blocks(generator: Generator) -> Iterator[Row]:
    logits = _logits(generator)
    timeline = logits.argmax(-1)
    order = timeline.argsort(dim=-1, stable=True)
    same = timeline.gather(-1, order)
    apart = same[..., :, None] != same[..., None, :]
    for case, route in (("hard", harden(logits)), ("soft", logits.softmax(-1))):
        table = weights(route)
        moved = table.gather(-2, order[..., None].expand_as(table))
        moved = moved.gather(-1, order[..., None, :].expand_as(table))
        yield {"metric": "off_block", "case": case, "value": _largest(moved[apart])}


CHECKS: tuple[Callable[[Generator], Iterator[Row]], ...] = (
    _check_forward,
    _check_inference,
    _check_argmax,
    _check_reinforce,
    _check_soft,
    _check_gumbel,
    _check_blocks,
    operations.report,
)


def _audit() -> Iterator[Row]:
    generator = Generator().manual_seed(0)
    logits = _logits(generator)
    uniform = torch.rand(logits.shape, generator=generator, dtype=torch.float64)
    for block in BLOCKS:
        missing = run(block, logits, uniform).missing
        yield {"metric": "undefined", "block": block, "value": len(missing)}
    for over in (100, 40):
        for percent in PRINTED:
            off = schedule_error(percent, over)
            yield {"metric": "schedule_error", "share": percent, "over": over, "value": off}


def _logits(generator: Generator) -> Tensor:
    return torch.randn(4, TOKENS, TYPES, generator=generator, dtype=torch.float64)


def _largest(difference: Tensor) -> float:
    return float(difference.detach().abs().max())
