"""Small jobs and results of exp10."""

from functools import cache

import pandas as pd
from torch import nn

from journeylab.catalogue import resolve_run
from journeylab.plotting import StudyResults
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp10_circuit_encoders import settings as own
from journeylab.studies.exp10_circuit_encoders.compute import compute
from journeylab.studies.exp10_circuit_encoders.data import generate
from journeylab.studies.exp10_circuit_encoders.measure import measure
from journeylab.studies.exp10_circuit_encoders.models import Circuits

from ..gathering import flat_curve, gather, of_computed, of_seed

RUNS = {"degree": ("sum", "tree"), "digits": ("sum-wiring",), "heads-token": ("sum-wiring",)}
CHAINS = own.Data(operations=5, wiring="previous", test=0.05, train=0.02)


@cache
def draw_circuits(data: own.Data = CHAINS) -> pd.DataFrame:
    return generate(data, data_streams("exp10", "chains", 1000))


def make_problem(
    variant: str,
    task: str = "degree",
    head: str = "last",
    steps: int = 2,
    seed: int = 1000,
    every: int = 1,
    **training: float,
) -> Circuits:
    """A problem of a variant on every ``every``-th circuit."""
    chosen = {"steps": steps, "learning_rate": 0.003, "evaluate_every": steps} | training
    job = own.Job(
        variant=variant,
        task=task,
        head=head,
        data=CHAINS,
        model=own.Model(spread=0.3),
        training=own.Training(**chosen),
    )
    return Circuits(job, draw_circuits().iloc[::every], Streams("exp10", seed))


def build(problem: Circuits) -> nn.Module:
    """The untrained model of a problem."""
    return problem.build(Streams("exp10", 1000).generator("init"))


def make_results() -> StudyResults:
    """Untrained models of two seeds, invented curves, and the audit."""
    arms = {
        arm: own.Arm(
            task="digits" if arm == "digits" else "degree",
            head="token" if arm == "heads-token" else "last",
            variants=list(variants),
        )
        for arm, variants in RUNS.items()
    }
    training = own.Training(steps=2, learning_rate=0.1)
    settings = own.Settings(arms=arms, datasets={"chains": CHAINS}, training=training)
    tables, curves = [], []
    for arm, variants in RUNS.items():
        for variant in variants:
            job = own.Job.model_validate(resolve_run("exp10", settings, arm, variant).settings)
            for seed in (1000, 1001):
                run = of_seed("exp10", arm, variant, seed)
                problem = make_problem(variant, job.task, job.head, seed=seed, every=20)
                table = measure(job, own.Evaluation(), problem, build(problem))
                tables.append(table.assign(**run))
                curves += flat_curve(run, {"accuracy": 0.3})
    for check in ("example", "encodings", "equivalence", "padding"):
        job = own.Computation(computed="audit", variant=check, draws=1)
        tables.append(of_computed("exp10", "audit", check, compute(job, None)))
    return gather("exp10", settings, tables, curves)
