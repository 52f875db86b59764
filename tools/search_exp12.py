"""Search of learning rates and initial scales for the arms of exp12, on pilot seeds.

``python tools/search_exp12.py CASE VARIANT STEPS SEEDS SCALES RATES`` trains every combination and
prints one row for each: hits@1 and mean log rank by tier, in text and template 0. For example
``python tools/search_exp12.py k1 A 1000 1000,1001 own,small 0.001,0.002,0.004``.
The table is kept in ``journeylab/studies/exp12_native_kg_transfer/search.py``.
"""

import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from journeylab import training
from journeylab.knowledge.settings import Evaluation, Model, Training
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp12_native_kg_transfer.data import generate
from journeylab.studies.exp12_native_kg_transfer.measure import measure
from journeylab.studies.exp12_native_kg_transfer.models import problem
from journeylab.studies.exp12_native_kg_transfer.settings import Data, Job

CASES: dict[str, tuple[int, dict[str, object], dict[str, float]]] = {
    # tokens of a name, world, regularisation
    "k1": (1, {"k": 1}, {}),
    "k3": (1, {"k": 3}, {}),
    "k10": (1, {"k": 10}, {}),
    "m2": (2, {"k": 3}, {}),
    "m4-k1": (4, {"k": 1}, {}),
    "m4-k3": (4, {"k": 3}, {}),
    "m4-k10": (4, {"k": 10}, {}),
    "p10": (1, {"world": "attributes", "bridging": 0.1}, {}),
    "p70": (1, {"world": "attributes"}, {}),
    "unseen-k3": (1, {"k": 3}, {"weight_decay": 0.3, "dropout": 0.2}),
    "unseen": (1, {"k": 10}, {"weight_decay": 0.3, "dropout": 0.2}),
}
SCALES = {
    "own": {"embedding_scale": 1.0, "output_scale": 1.0},
    "small": {"embedding_scale": 0.02, "output_scale": 5.0},
}


def main(case: str, variant: str, steps: str, seeds: str, scales: str, rates: str) -> None:
    """Train and print."""
    training.prepare_process(threads=1)
    tokens, world, regularisation = CASES[case]
    data = Data(**world)  # type: ignore[arg-type]
    replicates = list(product(scales.split(","), map(int, seeds.split(","))))
    facts = {
        seed: generate(data, data_streams("exp12", data.world, seed)) for _, seed in replicates
    }
    for rate in map(float, rates.split(",")):
        budget = {"weight_decay": 0.01, "dropout": 0.05} | regularisation
        settings = Training(
            steps=int(steps),
            learning_rate=rate,
            warmup=50,
            evaluate_every=int(steps),
            checkpoint_every=10**6,
            **budget,  # type: ignore[arg-type]
        )
        started = time.process_time()
        problems = [
            problem(
                Job(
                    variant=variant,
                    tokens=tokens,
                    data=data,
                    model=Model(**SCALES[scale]),
                    training=settings,
                ),
                facts[seed],
                Streams("exp12", seed),
            )
            for scale, seed in replicates
        ]
        with tempfile.TemporaryDirectory() as folder:
            trained = training.train_seeds(
                problems,
                settings,
                [Streams("exp12", seed) for _, seed in replicates],
                Path(folder),
                training.Execution("batched", "cpu"),
                label=f"{case} {variant} {rate}:",
                identity="search",
            )
        spent = time.process_time() - started
        for (scale, seed), posed, each in zip(replicates, problems, trained, strict=True):
            model = posed.build(Streams("exp12", seed).generator("init"))
            model.load_state_dict(each.state)
            job = posed.job
            table = measure(job, Evaluation(templates=(0,)), posed, model)
            table = table[(table["format"] == "text") & (table["candidates"] == "all")]
            by_tier = table.pivot_table(index="metric", columns="tier", values="value")
            values = [
                f"{by_tier.loc[metric, tier]:.4f}"
                for tier in ("T1", "T2", "T3")
                for metric in ("hits@1", "log_rank")
            ]
            loss = each.curve[each.curve["metric"] == "loss"]["value"].iloc[-1]
            print(
                case, variant, steps, scale, rate, seed, *values, f"{loss:.4f}", f"{spent:.0f}",
                sep=",", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
