"""Small jobs and results of exp2."""

from dataclasses import replace
from typing import Any

from journeylab.plotting import StudyResults
from journeylab.studies.exp2_shuffled_kb import settings as own

from ..gathering import computed, gather, small_problem, untrained

SYMBOLS = {"keys": 12, "values": 4, "questions": 80}
LOOKUPS = own.Lookups(task="lookup", sizes=(5, 8), **SYMBOLS)
RELATIONS = own.Relations(task="relations", subjects=2, relations=3, **SYMBOLS)


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


def make_problem(*args: str, **training: float) -> Any:
    job = make_job(*args, **training)
    return small_problem("exp2", job, job.data.task)


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
    few = own.Evaluation(permutations=1)
    tables, curves = untrained("exp2", settings, range(2), few, steps=(100, 200))
    once = {"draws": 1, "data": own.Lookups(task="lookup"), "model": own.Model()}
    tables += computed("exp2", "witness", own.VARIANTS["lookup"], **once)
    tables += computed("exp2", "invariance", ["content"], **once)
    tables += computed("exp2", "recursion", **once)
    cumulative = {"computed": "invariance"} | once
    tables += computed("exp2", "invariance-cumulative", ["cumulative"], **cumulative)
    names = {"small-sorted": "sorted", "small-shuffled": "shuffled"}
    results = gather("exp2", settings, tables, curves)
    return replace(results, names=results.names.model_copy(update={"arms": names}))
