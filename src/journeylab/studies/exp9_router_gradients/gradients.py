"""The exact gradient of a hard router, and the moments of its estimators.

A linear router x ↦ softmax(x W) chooses a timeline for each of N tokens. The objective is the
expected loss of the choices, J(W) = mean over sequences of E_{z ~ p(W)} L(z), and its gradient

    ∇J = mean over sequences of Σ_z p(z) L(z) ∇ log p(z)

is a sum over all K^N assignments z. An estimate ĝ uses one draw per sequence, RLOO four. Its
moments are computed by such a sum, or by Monte Carlo if the noise is continuous (Gumbel):

| | meaning |
| --- | --- |
| relative bias | ‖E ĝ − ∇J‖ / ‖∇J‖ |
| cosine | of E ĝ and ∇J |
| variance | E ‖ĝ − E ĝ‖² / ‖∇J‖² |

*reinforce-ema* uses the stationary moving average as its baseline: its mean is the expected loss,
its variance that of an average over independent steps. *reinforce-literal* follows the source
document's code: the average is updated with the step's own loss first, and an entropy bonus is
added. Where the code takes means over tokens, sums are taken here; that only multiplies the
gradient by N.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from journeylab.models.estimators import (
    Choice,
    Estimator,
    GumbelSoftmax,
    LeaveOneOut,
    Reinforce,
    ReinMax,
    Soft,
    StraightThrough,
    draw_gumbel,
    pass_through,
)
from journeylab.studies.exp9_router_gradients.separation import (
    Sequences,
    draw_sequences,
    losses,
)
from journeylab.studies.exp9_router_gradients.settings import TYPES, Estimated

TOKENS = 6
"""N: all 3⁶ = 729 assignments of a sequence are summed over."""
MOMENTUM, ENTROPY, FINAL = 0.99, 0.01, 0.1
"""The document's momentum of the moving average, weight of the entropy bonus, last temperature."""
TAUS: dict[Estimated, float] = {"gumbel-1": 1.0, "gumbel-0.5": 0.5, "gumbel-0.1": 0.1}
CHUNK = 200
SMALLEST = 1e-300
"""Replaces the norm of a gradient that vanished, so that its cosine is 0 and not undefined."""


class Moments(NamedTuple):
    """E ĝ, E ‖ĝ − E ĝ‖², and the squared Monte-Carlo error of E ĝ (0 for exact sums)."""

    mean: Float[Tensor, "K K"]
    variance: float
    error: float = 0.0


@dataclass(frozen=True, eq=False)
class Laboratory:
    """Sequences and a linear router in double precision, with all assignments of every sequence."""

    data: Sequences
    router: Float[Tensor, "K K"]

    @classmethod
    def draw(cls, sequences: int, generator: Generator, scale: float = 1.0) -> Laboratory:
        """Draw sequences and a router from N(0, scale²); `scale` multiplies one drawn router."""
        data = draw_sequences(sequences, TOKENS, generator, torch.float64)
        drawn = torch.randn(TYPES, TYPES, generator=generator, dtype=torch.float64)
        return cls(data, scale * drawn)

    def at(self, scale: float) -> Laboratory:
        """The same sequences, and the router times `scale`."""
        return Laboratory(self.data, scale * self.router)

    @cached_property
    def logits(self) -> Float[Tensor, "rows n K"]:
        """x W: the router's logits."""
        return self.data.inputs @ self.router

    @cached_property
    def assignments(self) -> Float[Tensor, "z rows n K"]:
        """Every assignment of a sequence, one-hot, the same for all sequences."""
        rows, n = self.data.values.shape
        every = torch.tensor(list(product(range(TYPES), repeat=n)))
        return one_hot(every, TYPES).double()[:, None].expand(-1, rows, -1, -1)

    @cached_property
    def losses(self) -> Float[Tensor, "z rows"]:
        """The loss of every assignment."""
        return losses(self.assignments, self.data)

    @cached_property
    def slopes(self) -> Float[Tensor, "z rows n K"]:
        """∂L/∂z of the mixture's loss, at every assignment."""
        route = self.assignments.clone().requires_grad_()
        return torch.autograd.grad(losses(route, self.data).sum(), route)[0]

    @cached_property
    def chances(self) -> Float[Tensor, "z rows"]:
        """p(z): the probability of every assignment."""
        logs = self.logits.log_softmax(-1)
        return (self.assignments * logs).sum((-2, -1)).exp()

    @cached_property
    def exact(self) -> Float[Tensor, "K K"]:
        """∇J."""
        return self._mean(self.losses[..., None, None] * self._scores)

    def objective(self, router: Float[Tensor, "K K"]) -> Float[Tensor, ""]:
        """Return J(W) of another router on the same sequences."""
        chances = Laboratory(self.data, router).chances
        return (chances * self.losses).sum(0).mean()

    def estimate(self, name: Estimated, draws: int, generator: Generator) -> Moments:
        """Return the moments of an estimator; `draws` counts the Monte-Carlo samples."""
        return _MOMENTS[name](self, name, draws, generator)

    def compare(self, moments: Moments) -> dict[str, float]:
        """Relative bias, cosine, variance, and the Monte-Carlo error of the bias, over ‖∇J‖.

        The squared Monte-Carlo error is subtracted from the squared bias.
        """
        size = self.exact.square().sum()
        off = (moments.mean - self.exact).square().sum() - moments.error
        scale = (moments.mean.norm() * self.exact.norm()).clamp_min(SMALLEST)
        return {
            "relative_bias": float((off.clamp_min(0.0) / size).sqrt()),
            "cosine": float((moments.mean * self.exact).sum() / scale),
            "variance": float(moments.variance / size),
            "monte_carlo_error": float((moments.error / size).sqrt()),
        }

    def gradients_of(
        self, estimator: Estimator, noise: Float[Tensor, "draws m rows n K"]
    ) -> Float[Tensor, "m rows K K"]:
        """Return m gradient estimates of every sequence."""
        logits = self.logits.expand_as(noise[0]).clone().requires_grad_()
        choice = estimator.choose(logits, noise)
        objective = estimator.objective(losses(choice.sample, self.data), choice)
        return self._to_router(torch.autograd.grad(objective.sum(), logits)[0])

    @cached_property
    def _scores(self) -> Float[Tensor, "z rows K K"]:
        """∇ log p(z) for every sequence."""
        return self._to_router(self.assignments - self.logits.softmax(-1))

    def _to_router(
        self, slopes: Float[Tensor, "*rest rows n K"]
    ) -> Float[Tensor, "*rest rows K K"]:
        return torch.einsum("rni,...rnk->...rik", self.data.inputs, slopes)

    def _mean(self, values: Float[Tensor, "z rows K K"]) -> Float[Tensor, "K K"]:
        """The expectation over assignments, and the mean over sequences."""
        return torch.einsum("zr,zrik->ik", self.chances, values) / self.chances.shape[1]

    def _enumerated(self, estimates: Float[Tensor, "z rows K K"]) -> Moments:
        rows = self.chances.shape[1]
        means = torch.einsum("zr,zrik->rik", self.chances, estimates)
        seconds = torch.einsum("zr,zrik,zrik->r", self.chances, estimates, estimates)
        spread = seconds - means.square().sum((-2, -1))
        return Moments(means.mean(0), float(spread.sum()) / rows**2)

    def _of_path(self, follow: Callable[[Tensor, Tensor], Tensor]) -> Moments:
        """The moments of an estimator that passes ∂L/∂z back along a path from the logits to z."""
        logits = self.logits.expand_as(self.assignments).clone().requires_grad_()
        sample = follow(self.assignments, logits)
        slopes = torch.autograd.grad(sample, logits, self.slopes)[0]
        return self._enumerated(self._to_router(slopes))

    def _of_score(self, estimator: Reinforce) -> Moments:
        logits = self.logits.expand_as(self.assignments).clone().requires_grad_()
        choice = Choice(self.assignments[None], logits)
        objective = estimator.objective(self.losses[None], choice)
        return self._enumerated(self._to_router(torch.autograd.grad(objective.sum(), logits)[0]))

    def _fixed(self, estimator: Estimator) -> Moments:
        estimates = self.gradients_of(estimator, torch.zeros_like(self.logits)[None, None])
        return Moments(estimates[0].mean(0), 0.0)


def of_reinforce(
    lab: Laboratory, *, baseline: float = 0.0, updated: bool = False, entropy: float = 0.0
) -> Moments:
    """Return the moments of REINFORCE; if `updated`, the baseline includes the step's own losses.

    `baseline` is then the moving average before the step. Losses of other sequences are independent
    of the draw, so the bias comes from the share (1 − m)/rows of the sequence's own loss. The
    variance is that of a fixed baseline.
    """
    expected = (lab.chances * lab.losses).sum(0)
    if not updated:
        return lab._of_score(Reinforce(baseline, entropy))
    rows = len(expected)
    others = (expected.sum() - expected) / rows
    seen = MOMENTUM * baseline + (1.0 - MOMENTUM) * (others + lab.losses / rows)
    return lab._of_score(Reinforce(seen, entropy))


def average_of(lab: Laboratory) -> tuple[float, float]:
    """Return mean and variance of the stationary moving average of a fixed router's losses."""
    mean = (lab.chances * lab.losses).sum(0)
    spread = (lab.chances * lab.losses.square()).sum(0) - mean.square()
    of_step = float(spread.sum()) / len(mean) ** 2
    return float(mean.mean()), of_step * (1.0 - MOMENTUM) / (1.0 + MOMENTUM)


def _straight_through(lab: Laboratory, *_: object) -> Moments:
    return lab._fixed(StraightThrough())


def _annealed(lab: Laboratory, *_: object) -> Moments:
    return lab._fixed(GumbelSoftmax(FINAL, 0.0))


def _soft(lab: Laboratory, *_: object) -> Moments:
    return lab._fixed(Soft())


def _sampled(lab: Laboratory, *_: object) -> Moments:
    return lab._of_path(lambda z, logits: pass_through(z, logits.softmax(-1)))


def _reinmax(lab: Laboratory, *_: object) -> Moments:
    return lab._of_path(ReinMax.follow)


def _gumbel(lab: Laboratory, name: Estimated, draws: int, generator: Generator) -> Moments:
    """By Monte Carlo, in single precision."""
    data = Sequences(lab.data.types, *(each.float() for each in lab.data[1:]))
    single = Laboratory(data, lab.router.float())
    rows = len(data.types)
    total, seconds = torch.zeros(rows, TYPES, TYPES, dtype=torch.float64), 0.0
    for start in range(0, draws, CHUNK):
        count = min(CHUNK, draws - start)
        noise = draw_gumbel(single.logits.expand(count, -1, -1, -1), 1, generator)
        estimates = single.gradients_of(GumbelSoftmax(TAUS[name]), noise)
        total += estimates.sum(0)
        seconds += float(estimates.square().sum())
    means = total / draws
    variance = (seconds / draws - float(means.square().sum())) / rows**2
    return Moments(means.mean(0), variance, variance / draws)


def _plain(lab: Laboratory, *_: object) -> Moments:
    return of_reinforce(lab)


def _moving(lab: Laboratory, *_: object) -> Moments:
    baseline, spread = average_of(lab)
    mean, variance, _none = of_reinforce(lab, baseline=baseline)
    scores = torch.einsum("zr,zrik,zrik->", lab.chances, lab._scores, lab._scores)
    rows = lab.chances.shape[1]
    return Moments(mean, variance + spread * float(scores) / rows**2)


def _literal(lab: Laboratory, *_: object) -> Moments:
    baseline, _spread = average_of(lab)
    return of_reinforce(lab, baseline=baseline, updated=True, entropy=ENTROPY)


def _left_out(lab: Laboratory, *_: object) -> Moments:
    """The estimate is the sample covariance of loss and score, whose variance is known exactly.

    For n draws it is μ₂₂/n − (n − 2)/(n(n − 1))·μ₁₁² + μ₂₀μ₀₂/(n(n − 1)), in central moments.
    """
    n = LeaveOneOut().draws
    off = lab.losses - (lab.chances * lab.losses).sum(0)
    pairs = torch.einsum("zr,zr,zrik->rik", lab.chances, off, lab._scores)
    fourth = torch.einsum("zr,zr,zrik->", lab.chances, off.square(), lab._scores.square())
    of_loss = (lab.chances * off.square()).sum(0)
    of_score = torch.einsum("zr,zrik->r", lab.chances, lab._scores.square())
    both = (of_loss * of_score).sum() - (n - 2) * pairs.square().sum()
    rows = lab.chances.shape[1]
    variance = float(fourth / n + both / (n * (n - 1))) / rows**2
    return Moments(pairs.mean(0), variance)


_MOMENTS: dict[Estimated, Callable[[Laboratory, Estimated, int, Generator], Moments]] = {
    "straight-through": _straight_through,
    "straight-through-sampled": _sampled,
    "gumbel-1": _gumbel,
    "gumbel-0.5": _gumbel,
    "gumbel-0.1": _gumbel,
    "annealed": _annealed,
    "soft": _soft,
    "reinforce": _plain,
    "reinforce-ema": _moving,
    "reinforce-literal": _literal,
    "rloo": _left_out,
    "reinmax": _reinmax,
}


def disagreement(lab: Laboratory, draws: int, generator: Generator, tau: float) -> float:
    """Return the share of tokens that noise sends to another timeline than the argmax."""
    noise = draw_gumbel(lab.logits, draws, generator)
    moved = ((lab.logits + noise) / tau).argmax(-1) != lab.logits.argmax(-1)
    return float(moved.double().mean())
