"""The code blocks of the source document, restated and run.

A restated block keeps the names that the original may use (the parameters of its function, torch
and functional, which no block imports) and the names that it reads. If a name is undefined when the
block runs, it is counted and replaced by what is evidently meant.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from journeylab.models.estimators import Annealing
from journeylab.studies.exp9_router_gradients.settings import TYPES, Block

PRINTED: dict[int, float] = {0: 1.0, 30: 0.7, 70: 0.3, 100: 0.1}
"""Temperatures that the document prints, by percentage of the steps."""
TAU = 0.5
_NOISE = "noise = -(-(torch.rand_like({0}) + 1e-10).log() + 1e-10).log()\n"


class Restated(NamedTuple):
    """The names that a block is given, and its code."""

    given: tuple[str, ...]
    code: str


CODE: dict[Block, Restated] = {
    "straight-through": Restated(
        ("self", "node_probs"),
        "chosen = F.one_hot(node_probs.argmax(-1), self.num_hyper_nodes).to(node_probs)\n"
        "result = (chosen - node_probs).detach() + node_probs\n",
    ),
    "gumbel": Restated(
        ("logits", "tau"),
        _NOISE.format("logits") + "mixed = F.softmax((noise + logits) / tau, -1)\n"
        "chosen = F.one_hot(mixed.argmax(-1), logits.shape[-1]).to(mixed)\n"
        "result = (chosen - mixed).detach() + mixed\n",
    ),
    "annealed": Restated(
        ("self", "logits"),
        "tau = self.get_tau()\n"
        "if tau > 0.2:\n"
        "    " + _NOISE.format("logits") + "    mixed = F.softmax((noise + logits) / tau, -1)\n"
        "else:\n"
        "    mixed = F.softmax(logits / tau, -1)\n"
        "chosen = F.one_hot(mixed.argmax(-1), logits.shape[-1]).to(mixed)\n"
        "result = (chosen - mixed).detach() + mixed\n",
    ),
    "soft": Restated(
        ("self", "x"),
        "probs = F.softmax(self.router(x), -1)\n"
        "if self.training:\n"
        "    outputs = [self.compute_attention_for_timeline(x, k) for k in range(K)]\n"
        "    result = sum(probs[..., k : k + 1] * each for k, each in enumerate(outputs))\n"
        "else:\n"
        "    result = self.hard_sparse_attention(x, probs.argmax(-1))\n",
    ),
    "reinforce": Restated(
        ("self", "log_prob", "reward"),
        "self.baseline = self.momentum * self.baseline + (1 - self.momentum) * reward.mean()\n"
        "policy = -((reward - self.baseline).detach() * log_prob).mean()\n"
        "result = policy + 0.01 * (probs * (probs + 1e-10).log()).sum(-1).mean()\n",
    ),
    "phase 1": Restated(
        ("self", "node_probs"),
        "if self.training:\n"
        "    " + _NOISE.format("node_probs") + "    node_probs = F.softmax((noise + node_logits) "
        "/ self.tau, -1)\n"
        "result = node_probs\n",
    ),
    "quick reference": Restated(
        ("self", "x", "use_gumbel"),
        "rows, length, _ = x.shape\n"
        "scores = self.node_router(x).view(rows, length, self.num_heads, self.num_hyper_nodes)\n"
        "scores = scores.transpose(1, 2)\n"
        "if self.training and use_gumbel:\n"
        "    "
        + _NOISE.format("scores")
        + "    result = F.softmax((noise + scores) / self.tau, -1)\n"
        "else:\n"
        "    result = F.softmax(scores, -1)\n",
    ),
}
"""Source text of every block; a block assigns its return value to ``result``."""


class Ran(NamedTuple):
    """The result of a block, and the names that were undefined."""

    result: Tensor
    missing: tuple[str, ...]


def run(
    block: Block,
    logits: Float[Tensor, "rows n K"],
    uniform: Float[Tensor, "rows n K"],
    **changed: Any,
) -> Ran:
    """Run a block on logits, with ``uniform`` instead of its uniform random numbers.

    ``changed`` replaces values that the block is given, by name.
    """
    probs = logits.softmax(-1)
    instance = SimpleNamespace(
        **{"num_hyper_nodes": TYPES, "num_heads": 1, "training": True, "tau": TAU},
        **{"baseline": 0.0, "momentum": 0.99, "get_tau": lambda: TAU},
        router=lambda x: x,
        node_router=lambda x: x,
        compute_attention_for_timeline=lambda x, k: x * k,
    )
    known = {"self": instance, "node_probs": probs, "logits": logits, "x": logits, "tau": TAU}
    known |= {"log_prob": probs.log()[..., 0], "reward": -logits[:, :1, 0], "use_gumbel": True}
    meant = {"K": TYPES, "probs": probs, "node_logits": logits}
    library = SimpleNamespace(rand_like=lambda like: uniform.view_as(like))
    scope = {"torch": library, "F": functional}
    scope |= {name: changed.get(name, known[name]) for name in CODE[block].given}
    missing: list[str] = []
    while True:
        space = dict(scope)
        try:
            exec(CODE[block].code, space)
        except NameError as error:
            missing.append(str(error.name))
            scope[missing[-1]] = meant[missing[-1]]
        else:
            return Ran(cast(Tensor, space["result"]), tuple(missing))


def chosen_by_gumbel(
    block: Block, logits: Float[Tensor, "rows n K"], uniform: Float[Tensor, "rows n K"]
) -> Float[Tensor, "rows n K"]:
    """The sample of a block with Gumbel noise; two blocks need the straight-through block after."""
    result = run(block, logits, uniform).result.view_as(logits)
    if block in ("phase 1", "quick reference"):
        result = run("straight-through", logits, uniform, node_probs=result).result
    return result


def noise_of(uniform: Float[Tensor, ...]) -> Float[Tensor, ...]:
    """The Gumbel noise that all blocks compute from uniform numbers."""
    return -torch.log(-torch.log(uniform + 1e-10) + 1e-10)


def schedule_error(percent: int, over: int) -> float:
    """|τ of the code − τ printed| after ``percent`` % of the steps, annealing over ``over`` %."""
    return abs(Annealing(over).tau(percent) - PRINTED[percent])
