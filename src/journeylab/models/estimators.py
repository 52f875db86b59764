"""Gradient estimators for a hard choice among K options, for a router or another discrete decision.

Every estimator is called as `estimator(logits, generator)` and returns a `Choice`: samples
`[draws, ..., K]` that a model uses, and through which a gradient may reach the logits.
`estimator.objective(losses, choice)` turns the losses of the samples into the objective to
differentiate:

```
estimator = GumbelSoftmax(0.5)
choice = estimator(router(x), generator)
estimator.objective(loss_of(choice.sample), choice).mean().backward()
```

All randomness is Gumbel noise, so estimators can share it: `choose(logits, noise)` takes noise that
was drawn before. It is a pure function and works under `torch.func.vmap`.

| estimator | sample | gradient | source |
| --- | --- | --- | --- |
| `StraightThrough` | argmax | of softmax(logits) | Bengio, Léonard and Courville 2013 |
| `SampledStraightThrough` | drawn | of softmax(logits) | the same, section 4 |
| `GumbelSoftmax` | drawn | of softmax((logits + noise)/τ) | Jang, Gu and Poole 2017 |
| `ReinMax` | drawn | second order: trapezoidal rule | Liu et al. 2023, algorithm 2 |
| `Soft` | softmax(logits): not hard | its own | – |
| `Reinforce` | drawn | (loss − baseline) · ∇ log p | Williams 1992 |
| `LeaveOneOut` | several drawn | the same, the mean of the others as baseline | Kool et al. 2019 |

Reinforce and LeaveOneOut are unbiased for every loss; all others use the derivative of the loss
with respect to the sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor

Logits = Float[Tensor, "*rest K"]
Noise = Float[Tensor, "draws *rest K"]
Losses = Float[Tensor, "draws ..."]

LINEAR: tuple[tuple[float, float], ...] = ((0.0, 1.0), (1.0, 0.1))
"""Pairs (share of the annealing steps, temperature), interpolated linearly."""
THREE_PHASES: tuple[tuple[float, float], ...] = ((0.0, 1.0), (0.3, 0.7), (0.7, 0.3), (1.0, 0.1))


class Choice(NamedTuple):
    """Samples, one-hot up to rounding (soft for `Soft`), and the logits of their distribution."""

    sample: Float[Tensor, "draws *rest K"]
    logits: Logits


class Estimator(ABC):
    """Chooses one of K options, and defines a gradient with respect to the logits."""

    draws: int = 1

    def __call__(self, logits: Logits, generator: Generator) -> Choice:
        """Return a choice, with noise from `generator`."""
        return self.choose(logits, draw_gumbel(logits, self.draws, generator))

    @abstractmethod
    def choose(self, logits: Logits, noise: Noise) -> Choice:
        """Return the choice for the given noise."""

    def objective(self, losses: Losses, choice: Choice) -> Float[Tensor, ...]:
        """Return the objective to differentiate, one per row, from the losses of all draws.

        The axes of `losses` after the first are the leading axes of the logits.
        """
        del choice
        return losses.mean(0)


class StraightThrough(Estimator):
    """Sample: the largest logit. Gradient: that of softmax(logits).

    Source: Bengio, Léonard and Courville, Estimating or propagating gradients through stochastic
    neurons for conditional computation, 2013, section 4.
    """

    def choose(self, logits: Logits, noise: Noise) -> Choice:
        """Return the argmax; only the number of draws is read from the noise."""
        sample = pass_through(harden(logits), softmax(logits))
        return Choice(sample.expand(len(noise), *sample.shape), logits)


class SampledStraightThrough(Estimator):
    """Sample: drawn from softmax(logits). Gradient: that of softmax(logits)."""

    def choose(self, logits: Logits, noise: Noise) -> Choice:
        """Draw by the Gumbel-max trick."""
        return Choice(pass_through(harden(logits + noise), softmax(logits)), logits)


@dataclass(frozen=True)
class GumbelSoftmax(Estimator):
    """Sample: the largest of logits + noise. Gradient: that of softmax((logits + noise)/τ).

    For every τ, the sample is that of `SampledStraightThrough`. The noise is multiplied by
    `volume`; at 0 the sample is the argmax. `tau` and `volume` may be tensors that broadcast with
    the noise. Source: Jang, Gu and Poole, Categorical reparameterization with Gumbel-softmax, 2017,
    section 2.2.
    """

    tau: float | Float[Tensor, ...] = 0.5
    volume: float | Float[Tensor, ...] = 1.0

    def choose(self, logits: Logits, noise: Noise) -> Choice:
        """Return the largest of logits + volume · noise."""
        soft = softmax((logits + self.volume * noise) / self.tau)
        return Choice(pass_through(harden(soft), soft), logits)


class ReinMax(Estimator):
    """Sample: D, drawn from p = softmax(logits). Gradient: that of 2·π − p/2.

    π has the value (D + p)/2 and the gradient of softmax(θ) at θ = log((D + p)/2). For a quadratic
    loss, the gradient is exact in expectation.
    Source: Liu, Dong, Liu, Yu and Gao, Bridging discrete and backpropagation: straight-through and
    beyond, 2023, algorithm 2 at τ = 1.
    """

    def choose(self, logits: Logits, noise: Noise) -> Choice:
        """Draw by the Gumbel-max trick."""
        return Choice(self.follow(harden(logits + noise), logits), logits)

    @staticmethod
    def follow(
        drawn: Float[Tensor, "... K"], logits: Float[Tensor, "... K"]
    ) -> Float[Tensor, "... K"]:
        """Return the one-hot draws with the gradient of ReinMax; the arguments broadcast."""
        p = softmax(logits)
        middle = ((drawn + p) / 2.0).log()
        # The value of the logits is replaced by that of `middle`; their gradient is kept.
        pi = softmax(logits + (middle - logits).detach())
        return pass_through(drawn, 2.0 * pi - p / 2.0)


class Soft(Estimator):
    """Sample: softmax(logits) itself. Exact for the loss of the mixture, not of a hard choice."""

    def choose(self, logits: Logits, noise: Noise) -> Choice:
        """Return softmax(logits); only the number of draws is read from the noise."""
        p = softmax(logits)
        return Choice(p.expand(len(noise), *p.shape), logits)


@dataclass(frozen=True)
class Reinforce(Estimator):
    """Sample: drawn from softmax(logits). Gradient: (loss − baseline) · ∇ log p(draw).

    The estimate is unbiased if the baseline does not depend on the draw. The baseline has the units
    of the loss and may be a tensor that broadcasts with the rows. `entropy` is the weight of an
    entropy bonus, which adds −entropy · ∇H. The gradient of the loss with respect to other
    parameters is unchanged. Source: Williams, Simple statistical gradient-following algorithms for
    connectionist reinforcement learning, 1992.
    """

    baseline: float | Float[Tensor, ...] = 0.0
    entropy: float = 0.0

    def choose(self, logits: Logits, noise: Noise) -> Choice:
        """Draw by the Gumbel-max trick; the sample itself passes no gradient."""
        return Choice(harden(logits + noise), logits)

    def objective(self, losses: Losses, choice: Choice) -> Float[Tensor, ...]:
        """Return losses whose gradient is the estimate.

        If the logits have more axes than the rows of the losses (tokens), log p and the entropy are
        summed over them.
        """
        surrogate = _score(losses, losses.detach() - self.baseline, choice)
        if self.entropy:
            logs = _log_softmax(choice.logits)
            surrogate = surrogate + self.entropy * _sum_to(logs.exp() * logs, losses[0])
        return surrogate.mean(0)


@dataclass(frozen=True)
class LeaveOneOut(Estimator):
    """Several draws; the baseline of each draw is the mean loss of the others. Unbiased.

    Needs at least two draws, which is not checked: with one the objective is NaN.
    Source: Kool, van Hoof and Welling, Buy 4 REINFORCE samples, get a baseline for free!, 2019.
    """

    draws: int = 4

    def choose(self, logits: Logits, noise: Noise) -> Choice:
        """Draw by the Gumbel-max trick; the samples pass no gradient."""
        return Choice(harden(logits + noise), logits)

    def objective(self, losses: Losses, choice: Choice) -> Float[Tensor, ...]:
        """Return losses whose gradient is the estimate."""
        fixed = losses.detach()
        others = (fixed.sum(0) - fixed) / (len(losses) - 1)
        return _score(losses, fixed - others, choice).mean(0)


@dataclass(frozen=True)
class Annealing:
    """`GumbelSoftmax` with a falling temperature, and noise while τ is above `silent_below`.

    `points` are pairs (share of `steps`, temperature), interpolated linearly; the last temperature
    holds after them. Source: Gradient optimization for a HyperGraph router, section 3. LINEAR is
    the schedule in its code and THREE_PHASES the schedule in its table; Jang, Gu and Poole 2017
    anneal exponentially.
    """

    steps: int
    points: Sequence[tuple[float, float]] = LINEAR
    silent_below: float = 0.2

    def tau(self, step: int) -> float:
        """Return the temperature after this many steps."""
        share = step / self.steps
        for (start, first), (end, last) in zip(self.points, self.points[1:], strict=False):
            if share < end:
                return first - (first - last) * (share - start) / (end - start)
        return self.points[-1][1]

    def at(self, step: int) -> GumbelSoftmax:
        """Return the estimator after this many steps."""
        tau = self.tau(step)
        return GumbelSoftmax(tau, 1.0 if tau > self.silent_below else 0.0)


def draw_gumbel(logits: Logits, draws: int, generator: Generator) -> Noise:
    """Return standard Gumbel noise for all draws, −log E with E ~ Exp(1), like the logits."""
    noise = logits.new_empty((draws, *logits.shape))
    return -noise.exponential_(generator=generator).log()


def harden(scores: Float[Tensor, "*rest K"]) -> Float[Tensor, "*rest K"]:
    """Return argmax(scores) as a one-hot vector without gradient; the first maximum wins ties."""
    return torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)


def softmax(scores: Float[Tensor, "*rest K"]) -> Float[Tensor, "*rest K"]:
    """Return the softmax over the last axis, computed over the first: ten times faster at K = 3."""
    return scores.movedim(-1, 0).softmax(0).movedim(0, -1)


def pass_through(
    hard: Float[Tensor, "... K"], soft: Float[Tensor, "... K"]
) -> Float[Tensor, "... K"]:
    """Return `hard`, up to rounding, with the gradient of `soft`; both broadcast."""
    return soft + (hard - soft).detach()


def follow_average(
    average: float | Float[Tensor, ...], losses: Float[Tensor, "... rows"], momentum: float = 0.99
) -> Float[Tensor, ...]:
    """Return the moving average m · average + (1 − m) · mean(losses), where m is the momentum."""
    return momentum * average + (1.0 - momentum) * losses.detach().mean(-1)


def balance_loss(
    sample: Float[Tensor, "*rest K"], logits: Float[Tensor, "*rest K"]
) -> Float[Tensor, ""]:
    """Return K Σ_k f_k P_k: f_k the share of tokens that chose k, P_k its mean probability.

    It is 1 if the tokens are spread evenly. Source: Fedus, Zoph and Shazeer 2022, equations 4 to 6,
    where its weight is 0.01.
    """
    k = logits.shape[-1]
    shares = harden(sample).reshape(-1, k).mean(0)
    return k * (shares * softmax(logits).reshape(-1, k).mean(0)).sum()


def _score(losses: Tensor, advantage: Tensor, choice: Choice) -> Tensor:
    logs = (choice.sample.detach() * _log_softmax(choice.logits)).sum(-1)
    log_p = logs.flatten(losses.ndim).sum(-1) if logs.ndim > losses.ndim else logs
    # The value is that of the losses; the addend is 0 and carries only the gradient.
    return losses + advantage * (log_p - log_p.detach())


def _log_softmax(scores: Tensor) -> Tensor:
    return scores.movedim(-1, 0).log_softmax(0).movedim(0, -1)


def _sum_to(values: Tensor, like: Tensor) -> Tensor:
    """Sum over all axes after those of `like`."""
    return values.flatten(like.ndim).sum(-1)
