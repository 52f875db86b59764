"""Search of learning rates and initial scales for the judged models of exp12, on a pilot seed.

``python tools/search_exp12.py`` prints the rows that
``journeylab/studies/exp12_native_kg_transfer/trials.csv`` keeps, ``python tools/search_exp12.py
unseen/A size-k1/A`` those of some runs. All of it takes about 12 CPU-minutes. Models of one rate
are trained at once.
"""

import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from journeylab import catalogue, training
from journeylab.knowledge.settings import Evaluation
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp12_native_kg_transfer.data import generate
from journeylab.studies.exp12_native_kg_transfer.measure import measure
from journeylab.studies.exp12_native_kg_transfer.models import problem
from journeylab.studies.exp12_native_kg_transfer.settings import Job


class Case(NamedTuple):
    """A searched model: the tier that its claims read, and the steps of the search."""

    tier: str
    steps: int


SEED = 1000
CASES = {
    "size-k1/A": Case("T2", 1000),
    "size-k10/A": Case("T2", 1000),
    "size-k10/B": Case("T2", 1000),
    "split-k3/A": Case("T2", 800),
    "split-k3/A-plus-causal": Case("T2", 800),
    "bridging-p70/A": Case("T2", 800),
    "bridging-p70/B": Case("T2", 800),
    "unseen/A": Case("T3", 1000),
    "unseen/A-tail": Case("T3", 1000),
    "unseen/B": Case("T3", 1000),
    "unseen/B-mlm": Case("T3", 1000),
}
"""The searched runs. Runs of the same model in another size of the world, or with another bridged
share, take the setting that is found here."""
SCALES = {
    "0.02": {"embedding_scale": 0.02, "output_scale": 5.0},
    "1": {"embedding_scale": 1.0, "output_scale": 1.0},
}
"""Deviation of the embeddings → initial scale."""
POINTS = (("0.02", "0.001"), ("0.02", "0.002"), ("0.02", "0.004"), ("1", "0.002"))
"""The grid: deviation of the embeddings and peak rate."""
MORE = (("0.02", "0.008"), ("0.02", "0.016"))
"""Added one after the other, for models that learn best at the largest rate that was tried."""

Row = tuple[str, str, float, float, float]


def main(runs: list[str]) -> None:
    """Print the rows of the given runs, by default of all."""
    training.prepare_process(threads=1)
    print("run,deviation,rate,hits_T1,hits,log_rank", flush=True)
    for run in runs or CASES:
        points = sorted(POINTS, key=lambda point: point[1])
        rows = [row for rate, of_rate in groupby(points, lambda point: point[1])
                for row in train(run, [scale for scale, _ in of_rate], rate)]  # fmt: skip
        for scale, rate in MORE:
            if min(rows, key=lambda row: row[-1])[1] == max(row[1] for row in rows):
                rows += train(run, [scale], rate)
        for scale, rate, *values in rows:
            print(run, scale, rate, *(f"{value:.2f}" for value in values), sep=",", flush=True)


def train(run: str, scales: list[str], rate: str) -> list[Row]:
    """Train a run at one rate and several initial scales: deviation, rate, hits@1 of tier 1, and
    hits@1 and mean log rank of the tier of its case.
    """
    case, streams = CASES[run], Streams("exp12", SEED)
    study = catalogue.load(Path("config.yaml")).studies["exp12"]
    written = study.resolve(*run.split("/")).settings
    steps = {"steps": case.steps, "evaluate_every": case.steps, "learning_rate": float(rate)}
    jobs = [
        Job.model_validate(
            written
            | {"training": written["training"] | steps}
            | {"model": written["model"] | SCALES[scale]}
        )
        for scale in scales
    ]
    facts = generate(jobs[0].data, data_streams("exp12", jobs[0].data.world, SEED))
    problems = [problem(job, facts, streams) for job in jobs]
    with tempfile.TemporaryDirectory() as folder:
        results = training.train_seeds(
            problems,
            jobs[0].training,
            [streams] * len(jobs),
            Path(folder),
            training.Execution("batched", "cpu"),
            label=f"{run}, rate {rate}:",
            identity="search",
        )
    rows = []
    for scale, job, posed, result in zip(scales, jobs, problems, results, strict=True):
        model = posed.build(streams.generator("init"))
        model.load_state_dict(result.state)
        table = measure(job, Evaluation(templates=(0,)), posed, model)
        table = table[(table["format"] == "text") & (table["candidates"] == "all")]
        values = table.set_index(["metric", "tier"])["value"]
        cells = (("hits@1", "T1"), ("hits@1", case.tier), ("log_rank", case.tier))
        rows.append((scale, rate, *(float(values[cell]) for cell in cells)))
    return rows


if __name__ == "__main__":
    main(sys.argv[1:])
