"""Small results of exp3."""

import pandas as pd

from journeylab.catalogue import resolve_run
from journeylab.plotting import StudyResults
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp3_order_information import settings as own
from journeylab.studies.exp3_order_information.compute import compute
from journeylab.studies.exp3_order_information.data import generate
from journeylab.studies.exp3_order_information.measure import measure
from journeylab.studies.exp3_order_information.models import ProbeTraining

from ..gathering import flat_curve, gather, of_computed, of_seed

RUNS = {"C2-d4": ("sum", "standard"), "C2-d16": ("standard",)}


def enumerate_sets() -> list[pd.DataFrame]:
    """The enumeration of every set of frequencies."""
    sizes = {"computed": "enumeration", "draws": 1, "lengths": (8, 16), "strings": 2**16}
    jobs = {variant: own.Computation(variant=variant, **sizes) for variant in own.SETS}
    return [of_computed("exp3", "enumeration", v, compute(job, None)) for v, job in jobs.items()]


def make_results() -> StudyResults:
    """Untrained probes of two seeds, invented curves and a small enumeration."""
    off = {"enabled": False}
    arms = {
        "C2-d4": own.Arm(colours=2, d=4, variants={"sum": {}, "mean": off, "standard": {}}),
        "C2-d16": own.Arm(colours=2, d=16, variants={"sum": off, "standard": {}}),
        "C3-d4": own.Arm(colours=3, d=4, enabled=False, variants={"sum": {}}),
        "C4-d4": own.Arm(colours=4, d=4, enabled=False, variants={"sum": {}}),
    }
    settings = own.Settings(
        arms=arms,
        datasets={"strings": own.Data(held_out=20, seen=20)},
        model=own.Model(hidden=8),
        training=own.Training(steps=2, learning_rate=0.1),
    )
    tables, curves = enumerate_sets(), []
    for arm, variants in RUNS.items():
        for variant in variants:
            job = own.Job.model_validate(resolve_run("exp3", settings, arm, variant).settings)
            for seed in range(2):
                run = of_seed("exp3", arm, variant, seed)
                data = generate(job.data, data_streams("exp3", "strings", seed))
                problem = ProbeTraining(job, data)
                model = problem.build(Streams("exp3", seed).generator("init"))
                tables.append(measure(job, own.Evaluation(), problem, model).assign(**run))
                curves += flat_curve(run, problem.evaluate(model))
    return gather("exp3", settings, tables, curves)
