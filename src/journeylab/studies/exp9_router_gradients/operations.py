"""Counts of scalar operations: what an estimator adds to a layer of attention in timelines.

A matrix product of a × b and b × c entries counts 2abc operations, a view none, and every other
call as many as its largest argument or result has entries, forward and backward. The count is that
of the operations called, so that it is the same on every machine; it is not a time.

The layer has the sizes of the language model of config.yaml. `overhead` relates to a step of the
layer (forward and backward, in blocks) whose routes are given:

| part | operations |
| --- | --- |
| estimator | from the logits to the route and back, beyond those of the argmax as one-hot |
| step | of a step whose router learns, beyond those of a step with given routes |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from journeylab.models.estimators import (
    Choice,
    Estimator,
    GumbelSoftmax,
    Reinforce,
    Soft,
    StraightThrough,
    harden,
)
from journeylab.models.hypergraph import HyperGraphAttention, attend_softly, attend_sparsely
from journeylab.studies.exp9_router_gradients.settings import Model

ROWS = 4
"""Windows of a counted step."""
COUNTED: dict[str, Estimator] = {
    "straight-through": StraightThrough(),
    "gumbel-0.5": GumbelSoftmax(0.5),
    "soft": Soft(),
    "reinforce": Reinforce(),
}
SILENT = (StraightThrough, Soft)
"""Estimators that need no noise."""
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")

Row = dict[str, str | int | float]


class Counter(TorchDispatchMode):
    """Counts the scalar operations of all calls in its context in ``total``."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total: int = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the call and count it."""
        result = func(*args, **(kwargs or {}))
        read = [each for each in tree_leaves(args) if isinstance(each, Tensor)]
        if func._schema.name.removeprefix("aten::") in _PRODUCTS:
            self.total += 2 * read[-2].numel() * read[-1].shape[-1]
        elif not func.is_view and "view" not in func._schema.name:
            made = [each for each in tree_leaves(result) if isinstance(each, Tensor)]
            self.total += max((each.numel() for each in read + made), default=0)
        return result


def count(run: Callable[[], object]) -> int:
    """Return the number of scalar operations of a call."""
    counter = Counter()
    with counter:
        run()
    return counter.total


def report(generator: Generator) -> Iterator[Row]:
    """Rows of overhead, by estimator and part."""
    sizes = Model()
    layer = HyperGraphAttention(sizes.d, sizes.heads, sizes.timelines, generator=generator)
    x = torch.randn(ROWS, sizes.length, sizes.d, generator=generator)
    logits = layer.logits(x).detach().requires_grad_()
    weights = list(layer.parameters())

    def choose(estimator: Estimator, logits: Tensor) -> Choice:
        if isinstance(estimator, SILENT):
            return estimator.choose(logits, torch.zeros_like(logits)[None])
        return estimator(logits, generator)

    def alone(estimator: Estimator) -> None:
        choice = choose(estimator, logits)
        if choice.sample.requires_grad:
            torch.autograd.grad(choice.sample, logits, torch.ones_like(choice.sample))
        else:
            losses = torch.ones(1, ROWS)
            torch.autograd.grad(estimator.objective(losses, choice).mean(), logits)

    def step(estimator: Estimator) -> None:
        choice = choose(estimator, layer.logits(x))
        form = attend_softly if isinstance(estimator, Soft) else attend_sparsely
        lost = layer(x, choice.sample[0], form).square().mean((-2, -1))
        torch.autograd.grad(estimator.objective(lost[None], choice).mean(), weights)

    def follow() -> None:
        route = harden(logits.detach())
        lost = layer(x, route).square().mean()
        torch.autograd.grad(lost, weights, allow_unused=True)

    fixed, chosen = count(follow), count(lambda: harden(logits.detach()))
    for name, estimator in COUNTED.items():
        parts = {
            "estimator": count(partial(alone, estimator)) - chosen,
            "step": count(partial(step, estimator)) - fixed,
        }
        for part, added in parts.items():
            yield {"metric": "overhead", "estimator": name, "case": part, "value": added / fixed}
