"""Search initial scale and rate of the routers of exp9 on pilot seeds, all settings at once.

    python tools/search_exp9.py straight-through gumbel-0.5
    python tools/search_exp9.py --again straight-through

Prints a line of JSON per variant: for every scale (row) and rate (column), the hard error on
validation sequences, the mean over the last fifth of the training and over the pilots, one start
each. ``--again`` searches the second grid, with three starts each.
"""

import json
import sys
import time

import torch

from journeylab.streams import Streams
from journeylab.studies.exp9_router_gradients import learning
from journeylab.studies.exp9_router_gradients.separation import draw_sequences
from journeylab.studies.exp9_router_gradients.settings import Computation

PILOTS = (1000, 1001)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1)
SCALES = (0.1, 0.5, 2.0)
AGAIN = ((0.003, 0.1, 0.3), (0.5, 2.0))
"""Rates and scales of the second grid."""
LAST = 5
"""The error is the mean over this many steps, spread over the last fifth of the training."""


def search(variant: str, again: bool) -> list[list[float]]:
    """Return errors by scale and rate."""
    cells, starts = (AGAIN, 3) if again else ((RATES, SCALES), 1)
    job = Computation(computed="training", variant=variant).model_copy(update={"starts": starts})
    marks = [100 - 20 * share // LAST for share in range(LAST)]
    errors = []
    for seed in PILOTS:
        streams = Streams("exp9", seed)
        validation = draw_sequences(job.test, learning.TOKENS, streams.generator("validation"))
        trained = learning.train(variant, job, streams, job.steps, cells, marks)
        ends = [trained.routers[round(mark * job.steps / 100)] for mark in marks]
        errors.append(learning.hard_losses(torch.stack(ends), validation).mean((0, -1)).T)
    return torch.stack(errors).mean(0).tolist()


if __name__ == "__main__":
    torch.set_num_threads(1)
    again = "--again" in sys.argv
    for name in (each for each in sys.argv[1:] if each != "--again"):
        began = time.process_time()
        table = [[round(value, 5) for value in row] for row in search(name, again)]
        print(json.dumps({"variant": name, "errors": table}), flush=True)
        print(f"{name}: {time.process_time() - began:.0f} CPU s", file=sys.stderr, flush=True)
