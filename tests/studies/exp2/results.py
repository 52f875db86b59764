"""Small jobs and results of exp2."""

from dataclasses import replace
from functools import cache

import pandas as pd

from journeylab.plotting import StudyResults
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp2_shuffled_kb import settings as own
from journeylab.studies.exp2_shuffled_kb.data import generate
from journeylab.studies.exp2_shuffled_kb.models import Retrieval

from ..gathering import gather, of_computed, problems, untrained

SYMBOLS = {"keys": 12, "values": 4, "questions": 80}
LOOKUPS = own.Lookups(task="lookup", sizes=(5, 8), **SYMBOLS)
RELATIONS = own.Relations(task="relations", subjects=2, relations=3, **SYMBOLS)
RUNS = [
    ("small-sorted", "rope"),
    ("small-sorted", "content"),
    ("small-shuffled", "position-free"),
    ("relations", "untagged"),
]


@cache
def draw(data: own.Data, seed: int) -> pd.DataFrame:
    return generate(data, data_streams("exp2", data.task, seed))


def make_job(variant: str, order: str = "shuffled", **training: float) -> own.Job:
    """A job of a variant on small repositories; its task follows from its name."""
    lookup = variant in own.VARIANTS["lookup"]
    budget = {"steps": 300, "learning_rate": 1e-2, "evaluate_every": 150}
    return own.Job(
        variant=variant,
        size=5 if lookup else None,
        order=order,
        attention="softmax",
        data=LOOKUPS if lookup else RELATIONS,
        model=own.Model(d=16),
        training=own.Training(**budget | training),
    )


def make_problem(variant: str, *args: str, **training: float) -> Retrieval:
    job = make_job(variant, *args, **training)
    return Retrieval(job, draw(job.data, 1000), Streams("exp2", 1000))


def make_results() -> StudyResults:
    """Untrained models of two seeds, invented curves, and an arm that did not run."""
    keys = {"dataset": "keys"}
    arms = {
        "relations": own.Arm(dataset="relations", variants={"untagged": {}}),
        "small-shuffled": own.Arm(**keys, size=5, variants={"position-free": {}}),
        "small-sorted": own.Arm(
            **keys, size=5, order="sorted", variants={"rope": {}, "content": {}}
        ),
        "large-shuffled": own.Arm(**keys, size=8, enabled=False, variants={"rope": {}}),
    }
    settings = own.Settings(
        arms=arms,
        datasets={"keys": LOOKUPS, "relations": RELATIONS},
        training=own.Training(steps=7, learning_rate=0.1),
    )

    make, few = problems("exp2", settings), own.Evaluation(permutations=1)
    tables, curves = untrained("exp2", RUNS, range(2), make, few, steps=(100, 200))
    checks = {"witness": own.VARIANTS["lookup"], "invariance": ["content"], "recursion": ["all"]}
    data = own.Lookups(task="lookup")
    for check, variants in checks.items():
        for variant in variants:
            job = own.Computation(
                computed=check, variant=variant, draws=1, data=data, model=own.Model()
            )
            tables.append(of_computed("exp2", check, job))
    names = {"small-sorted": "sorted", "small-shuffled": "shuffled"}
    cumulative = {"computed": "invariance", "variant": "cumulative", "draws": 1}
    job = own.Computation(**cumulative, data=data, model=own.Model())
    tables.append(of_computed("exp2", "invariance-cumulative", job))
    results = gather("exp2", settings, tables, curves)
    return replace(results, names=results.names.model_copy(update={"arms": names}))
