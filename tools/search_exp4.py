"""Search of learning rates and initial scales for the judged runs of exp4, on pilot seeds.

    python tools/search_exp4.py TEXT [RUN …]            (about 8 CPU-minutes for all runs)
    python tools/search_exp4.py TEXT RUN=RATE,SCALE …   (one setting, 10,000 and 20,000 steps)

TEXT is a copy of Tiny Shakespeare. The first form prints, for every run and point of the grid, the
held-out loss after ``STEPS`` steps, mean over the pilots, and the training loss in brackets: the
losses that ``journeylab/studies/exp4_operator_recovery/trials.csv`` keeps. The second prints the
same for a run with its setting at the budget of the study, and with twice the steps.
"""

import math
import sys
from itertools import product
from pathlib import Path

import searching

from journeylab import training
from journeylab.config import ExternalFile
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp4_operator_recovery.data import generate
from journeylab.studies.exp4_operator_recovery.models import RecoveryProblem
from journeylab.studies.exp4_operator_recovery.settings import Data, Job, Model, Training

SEEDS = (1000, 1001)
STEPS = 2000
CENTRE = (0.03, 0.5)
GRID = (CENTRE, (0.01, 0.5), (0.1, 0.5), (0.03, 0.25), (0.03, 1.0))
"""The points that every run is trained at: peak learning rate and initial scale."""

RUNS: dict[str, dict[str, object]] = {
    "single-0/near-identity": {},
    "single-0.1/near-identity": {"orthogonality": 0.1},
    "positions-free/near-identity": {"operators": "each"},
    "positions-pressed/near-identity": {
        "operators": "each",
        "orthogonality": 0.1,
        "commutator": 0.1,
    },
    "controls/rope": {"operators": "fixed"},
    "controls/frozen": {"operators": "fixed"},
}
DATA = Data(file=ExternalFile(sha256="0" * 64))
BUDGET = 10_000


def main(text: Path, asked: list[str]) -> None:
    """Print the losses of all runs, or of those that are asked for."""
    training.prepare_process(threads=1)
    for run in asked or RUNS:
        name, _, chosen = run.partition("=")
        if chosen:
            rate, scale = map(float, chosen.split(","))
            for steps in (BUDGET, 2 * BUDGET):
                print(name, steps, *train(text, name, rate, [scale], steps), flush=True)
        else:
            for rate in sorted({rate for rate, _ in GRID}):
                scales = [scale for of, scale in GRID if of == rate]
                print(name, rate, *train(text, name, rate, scales, STEPS), flush=True)


def train(text: Path, run: str, rate: float, scales: list[float], steps: int) -> list[str]:
    """For every scale, the mean over the pilot seeds of the held-out and the training loss."""
    budget = Training(
        steps=steps,
        learning_rate=rate,
        warmup=50,
        weight_decay=0.01,
        evaluate_every=steps // 4,
    )
    replicates = list(product(scales, SEEDS))
    problems = [
        RecoveryProblem(
            Job(
                variant=run.split("/")[1],
                data=DATA,
                model=Model(initial_scale=scale),
                training=budget,
                **RUNS[run],
            ),
            generate(DATA, data_streams("exp4", "corpus", seed), text),
            Streams("exp4", seed),
        )
        for scale, seed in replicates
    ]
    streams = [problem.streams for problem in problems]
    trained = searching.train(problems, budget, streams, f"{run}, rate {rate}:")
    printed = []
    for scale in scales:
        each = [t for t, (of, _) in zip(trained, replicates, strict=True) if of == scale]
        last = [searching.at_step(seed, steps) for seed in each]
        held_out, seen = (
            sum(values.get(name, math.inf) for values in last) / len(last)  # inf: it diverged
            for name in ("loss", "train_loss")
        )
        printed.append(f"{scale:g}: {held_out:.4f} ({seen:.4f})")
    return printed


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
