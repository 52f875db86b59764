"""Small jobs and results of exp10."""

from typing import Any

from journeylab.plotting import StudyResults
from journeylab.studies.exp10_circuit_encoders import settings as own

from ..gathering import computed, gather, small_problem, untrained

RUNS = {"degree": ("sum", "tree"), "digits": ("sum-wiring",), "heads-token": ("sum-wiring",)}
CHAINS = own.Data(operations=5, wiring="previous", test=0.05, train=0.02)


def make_problem(
    variant: str, task: str = "degree", head: str = "last", steps: int = 2, **training: float
) -> Any:
    chosen = {"steps": steps, "learning_rate": 0.003, "evaluate_every": steps} | training
    job = own.Job(
        variant=variant,
        task=task,
        head=head,
        data=CHAINS,
        model=own.Model(spread=0.3),
        training=own.Training(**chosen),
    )
    return small_problem("exp10", job, "chains")


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
    learned = {"accuracy": 0.3}
    tables, curves = untrained("exp10", settings, (1000, 1001), own.Evaluation(), learned)
    checks = ("example", "encodings", "equivalence", "padding")
    tables += computed("exp10", "audit", checks, draws=1)
    return gather("exp10", settings, tables, curves)
