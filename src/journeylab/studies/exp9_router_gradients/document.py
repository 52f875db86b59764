"""The document's blocks of code, restated, and run with the names that each of them has.

A block is restated in our words and keeps which names it may use and which it reads: parameters of
its function, and torch, functional and typing, which no block imports. Names that are missing where
it runs are counted, and stand for what is evidently meant.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.nn import functional

from journeylab.models.estimators import Annealing
from journeylab.studies.exp9_router_gradients.settings import TYPES, Block

PRINTED: dict[int, float] = {0: 1.0, 30: 0.7, 70: 0.3, 100: 0.1}
"""Temperatures of the document's schedule, by per cent of the steps."""
TAU = 0.5
_NOISE = "noise = -(-(torch.rand_like({0}) + 1e-10).log() + 1e-10).log()\n"


class Restated(NamedTuple):
    """The names that a block is given, and what it does with them."""

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
        "    found = [self.compute_attention_for_timeline(x, k) for k in range(K)]\n"
        "    result = sum(probs[..., k : k + 1] * each for k, each in enumerate(found))\n"
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
        "found = self.node_router(x).view(rows, length, self.num_heads, self.num_hyper_nodes)\n"
        "found = found.transpose(1, 2)\n"
        "if self.training and use_gumbel:\n"
        "    " + _NOISE.format("found") + "    result = F.softmax((noise + found) / self.tau, -1)\n"
        "else:\n"
        "    result = F.softmax(found, -1)\n",
    ),
}
"""Every block as a text that is run; it leaves what it returns in ``result``."""


class Ran(NamedTuple):
    """What a block returned, and the names that were missing."""

    result: Tensor
    missing: tuple[str, ...]


def run(block: Block, logits: Tensor, uniform: Tensor, **changed: Any) -> Ran:
    """Run a block on logits ``(rows, n, K)``, with this in place of uniform random numbers."""
    probs = logits.softmax(-1)
    itself = SimpleNamespace(
        **{"num_hyper_nodes": TYPES, "num_heads": 1, "training": True, "tau": TAU},
        **{"baseline": 0.0, "momentum": 0.99, "get_tau": lambda: TAU},
        router=lambda x: x,
        node_router=lambda x: x,
        compute_attention_for_timeline=lambda x, k: x * k,
    )
    known = {"self": itself, "node_probs": probs, "logits": logits, "x": logits, "tau": TAU}
    known |= {"log_prob": probs.log()[..., 0], "reward": -logits[:, :1, 0], "use_gumbel": True}
    meant = {"K": TYPES, "probs": probs, "node_logits": logits}
    own = SimpleNamespace(rand_like=lambda like: uniform.view_as(like))
    scope = {"torch": own, "F": functional}
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


def chosen_by_gumbel(block: Block, logits: Tensor, uniform: Tensor) -> Tensor:
    """What a block with Gumbel noise leads to: two of them need the straight-through one."""
    result = run(block, logits, uniform).result.view_as(logits)
    if block in ("phase 1", "quick reference"):
        result = run("straight-through", logits, uniform, node_probs=result).result
    return result


def noise_of(uniform: Tensor) -> Tensor:
    """The noise that all blocks make of uniform numbers."""
    return -torch.log(-torch.log(uniform + 1e-10) + 1e-10)


def schedule_error(percent: int, over: int) -> float:
    """How far the code's temperature is from the printed one, annealing over so many per cent."""
    return abs(Annealing(over).tau(percent) - PRINTED[percent])
