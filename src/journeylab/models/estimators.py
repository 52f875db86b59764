"""Gradients through a hard choice of one of K, for a router or any other discrete decision.

Every estimator is called in one way, `estimator(logits, generator)`, and returns a `Choice`:
samples `[draws, ..., K]` that a model computes with, and through which a gradient reaches the
logits. `estimator.objective(losses, choice)` makes of the samples' losses what to differentiate:

```
estimator = GumbelSoftmax(0.5)
choice = estimator(router(x), generator)
estimator.objective(loss_of(choice.sample), choice).mean().backward()
```

All randomness is Gumbel noise, so that estimators can share it; `choose(logits, noise)` takes noise
that was drawn elsewhere, and is a pure function (it can be vectorised by `torch.func.vmap`).

| estimator | sample | gradient | source |
| --- | --- | --- | --- |
| `StraightThrough` | argmax | of softmax(logits) | Bengio, Léonard and Courville 2013 |
| `SampledStraightThrough` | drawn | of softmax(logits) | the same, section 4 |
| `GumbelSoftmax` | drawn | of softmax((logits + noise)/τ) | Jang, Gu and Poole 2017 |
| `ReinMax` | drawn | second order: trapezoidal rule | Liu et al. 2023, algorithm 2 |
| `Soft` | softmax(logits): not hard | its own | – |
| `Reinforce` | drawn | (loss − baseline) · ∇ log p | Williams 1992 |
| `LeaveOneOut` | several drawn | the same, the others' mean as baseline | Kool et al. 2019 |

Reinforce and LeaveOneOut are unbiased whatever the loss is; all others use its derivative with
respect to the sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor

LINEAR: tuple[tuple[float, float], ...] = ((0.0, 1.0), (1.0, 0.1))
"""Temperatures at shares of the annealing steps, straight lines between them."""
THREE_PHASES: tuple[tuple[float, float], ...] = ((0.0, 1.0), (0.3, 0.7), (0.7, 0.3), (1.0, 0.1))


class Choice(NamedTuple):
    """Samples, and the logits that they were chosen by."""

    sample: Float[Tensor, "draws *rest K"]
    logits: Float[Tensor, "*rest K"]


class Estimator(ABC):
    """A way to choose one of K, and to differentiate through it."""

    draws: int = 1

    def __call__(self, logits: Float[Tensor, "*rest K"], generator: Generator) -> Choice:
        """Choose, with noise from `generator`."""
        return self.choose(logits, draw_gumbel(logits, self.draws, generator))

    @abstractmethod
    def choose(
        self, logits: Float[Tensor, "*rest K"], noise: Float[Tensor, "draws *rest K"]
    ) -> Choice:
        """Choose, with this noise."""

    def objective(self, losses: Float[Tensor, "draws ..."], choice: Choice) -> Float[Tensor, ...]:
        """What to differentiate, of the losses of all draws; rows come first in the logits."""
        del choice
        return losses.mean(0)


class StraightThrough(Estimator):
    """The largest logit; the gradient of softmax(logits).

    Source: Bengio, Léonard and Courville, Estimating or propagating gradients through stochastic
    neurons for conditional computation, 2013, section 4.
    """

    def choose(self, logits: Tensor, noise: Tensor) -> Choice:
        """Take the argmax; noise is not used."""
        sample = pass_through(harden(logits), logits.softmax(-1))
        return Choice(sample.expand(len(noise), *sample.shape), logits)


class SampledStraightThrough(Estimator):
    """A draw from softmax(logits); the gradient of softmax(logits)."""

    def choose(self, logits: Tensor, noise: Tensor) -> Choice:
        """Draw by the Gumbel-max trick."""
        return Choice(pass_through(harden(logits + noise), logits.softmax(-1)), logits)


@dataclass(frozen=True)
class GumbelSoftmax(Estimator):
    """The largest of logits + noise; the gradient of softmax((logits + noise)/τ).

    The sample is that of `SampledStraightThrough` at every τ. The noise is multiplied by `volume`:
    at 0 the sample is the argmax. Both may be tensors that the noise broadcasts with. Source: Jang,
    Gu and Poole, Categorical reparameterization with Gumbel-softmax, 2017, section 2.2.
    """

    tau: float | Tensor = 0.5
    volume: float | Tensor = 1.0

    def choose(self, logits: Tensor, noise: Tensor) -> Choice:
        """Choose, with this noise."""
        soft = ((logits + self.volume * noise) / self.tau).softmax(-1)
        return Choice(pass_through(harden(soft), soft), logits)


class ReinMax(Estimator):
    """A draw D from p = softmax(logits); the gradient of 2·π − p/2, π = softmax at (D + p)/2.

    In expectation exact where the loss is quadratic. Source: Liu, Dong, Liu, Yu and Gao, Bridging
    discrete and backpropagation: straight-through and beyond, 2023, algorithm 2 at τ = 1.
    """

    def choose(self, logits: Tensor, noise: Tensor) -> Choice:
        """Draw by the Gumbel-max trick."""
        return Choice(self.follow(harden(logits + noise), logits), logits)

    @staticmethod
    def follow(
        drawn: Float[Tensor, "... K"], logits: Float[Tensor, "... K"]
    ) -> Float[Tensor, "... K"]:
        """Return what was drawn, with its gradient; both broadcast."""
        p = logits.softmax(-1)
        middle = ((drawn + p) / 2.0).log()
        moved = (logits + (middle - logits).detach()).softmax(-1)
        return pass_through(drawn, 2.0 * moved - p / 2.0)


class Soft(Estimator):
    """softmax(logits) itself: exact for the loss of mixtures, which hard choices do not have."""

    def choose(self, logits: Tensor, noise: Tensor) -> Choice:
        """Mix; noise is not used."""
        p = logits.softmax(-1)
        return Choice(p.expand(len(noise), *p.shape), logits)


@dataclass(frozen=True)
class Reinforce(Estimator):
    """A draw from softmax(logits); the gradient (loss − baseline) · ∇ log p(draw).

    Unbiased if the baseline, in units of the loss, does not depend on the draw; it may be a tensor
    that broadcasts with the rows. `entropy` weighs a bonus, which adds −entropy · ∇H. Gradients
    that a loss has by itself, of other parameters, stay. Source: Williams, Simple statistical
    gradient-following algorithms for connectionist reinforcement learning, 1992.
    """

    baseline: float | Tensor = 0.0
    entropy: float = 0.0

    def choose(self, logits: Tensor, noise: Tensor) -> Choice:
        """Draw by the Gumbel-max trick; the sample itself passes no gradient."""
        return Choice(harden(logits + noise), logits)

    def objective(self, losses: Tensor, choice: Choice) -> Tensor:
        """Return losses whose gradient is the estimate; log p and entropy are sums over tokens."""
        surrogate = _score(losses, losses.detach() - self.baseline, choice)
        if self.entropy:
            logs = choice.logits.log_softmax(-1)
            surrogate = surrogate + self.entropy * _sum_to(logs.exp() * logs, losses[0])
        return surrogate.mean(0)


@dataclass(frozen=True)
class LeaveOneOut(Estimator):
    """Several draws; the baseline of each is the mean loss of the others. Unbiased.

    Source: Kool, van Hoof and Welling, Buy 4 REINFORCE samples, get a baseline for free!, 2019.
    """

    draws: int = 4

    def choose(self, logits: Tensor, noise: Tensor) -> Choice:
        """Draw by the Gumbel-max trick; the samples pass no gradient."""
        return Choice(harden(logits + noise), logits)

    def objective(self, losses: Tensor, choice: Choice) -> Tensor:
        """Return losses whose gradient is the estimate."""
        fixed = losses.detach()
        others = (fixed.sum(0) - fixed) / (len(losses) - 1)
        return _score(losses, fixed - others, choice).mean(0)


@dataclass(frozen=True)
class Annealing:
    """A temperature that falls with the step, and noise only while it is above `silent_below`.

    `points` are (share of `steps`, temperature), with straight lines between them; the last one
    holds on. Source: Gradient optimization for a HyperGraph router, section 3: LINEAR as its code
    has it, THREE_PHASES as its table has it; Jang, Gu and Poole 2017 anneal exponentially.
    """

    steps: int
    points: Sequence[tuple[float, float]] = LINEAR
    silent_below: float = 0.2

    def tau(self, step: int) -> float:
        """Return the temperature after so many steps."""
        share = step / self.steps
        for (start, first), (end, last) in zip(self.points, self.points[1:], strict=False):
            if share < end:
                return first - (first - last) * (share - start) / (end - start)
        return self.points[-1][1]

    def at(self, step: int) -> GumbelSoftmax:
        """Return the estimator after so many steps."""
        tau = self.tau(step)
        return GumbelSoftmax(tau, 1.0 if tau > self.silent_below else 0.0)


def draw_gumbel(
    logits: Float[Tensor, "*rest K"], draws: int, generator: Generator
) -> Float[Tensor, "draws *rest K"]:
    """Return standard Gumbel noise, −log E for exponential E, for so many draws."""
    noise = logits.new_empty((draws, *logits.shape))
    return -noise.exponential_(generator=generator).log()


def harden(scores: Float[Tensor, "*rest K"]) -> Float[Tensor, "*rest K"]:
    """Return the largest score as a one-hot vector, the first of equal ones; it has no gradient."""
    return torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)


def pass_through(
    hard: Float[Tensor, "... K"], soft: Float[Tensor, "... K"]
) -> Float[Tensor, "... K"]:
    """Return `hard`, up to rounding, with the gradient of `soft`; both broadcast."""
    return soft + (hard - soft).detach()


def follow_average(
    average: float | Tensor, losses: Float[Tensor, "... rows"], momentum: float = 0.99
) -> Tensor:
    """Return the moving average after a step's losses: m · average + (1 − m) · their mean."""
    return momentum * average + (1.0 - momentum) * losses.detach().mean(-1)


def balance_loss(
    sample: Float[Tensor, "*rest K"], logits: Float[Tensor, "*rest K"]
) -> Float[Tensor, ""]:
    """Return K Σ_k f_k P_k: f_k the share of tokens that chose k, P_k its mean probability.

    It is 1 where tokens are spread evenly. Source: Fedus, Zoph and Shazeer 2022, equations 4 to 6,
    where it is weighed by 0.01.
    """
    k = logits.shape[-1]
    shares = harden(sample).reshape(-1, k).mean(0)
    return k * (shares * logits.softmax(-1).reshape(-1, k).mean(0)).sum()


def _score(losses: Tensor, advantage: Tensor, choice: Choice) -> Tensor:
    logs = (choice.sample.detach() * choice.logits.log_softmax(-1)).sum(-1)
    log_p = logs.flatten(losses.ndim).sum(-1) if logs.ndim > losses.ndim else logs
    return losses + advantage * (log_p - log_p.detach())


def _sum_to(values: Tensor, like: Tensor) -> Tensor:
    """Sum over all axes behind those of `like`."""
    return values.flatten(like.ndim).sum(-1)
