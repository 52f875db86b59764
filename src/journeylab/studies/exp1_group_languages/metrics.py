"""What exp1 measures, and what its report is called."""

from journeylab.config import Metric
from journeylab.studies.exp1_group_languages.settings import (
    COMMUTING,
    FAR,
    LONGEST,
    SHORTEST,
    TASK_NAMES,
)

TITLE = "Group languages: which operators recognise which order"
TUNING = (
    "none: width, budget, rate, batch, curriculum and initial scales were fixed beforehand, one "
    "setting for all variants and tasks"
)

_LENGTHS: dict[str, tuple[str | int, ...]] = {"n": (*range(SHORTEST, LONGEST + 1), *FAR)}

_CASES: dict[str, tuple[str | int, ...]] = {
    "weights": ("Z3", "S3", "A5"),
    "parikh_split": ("commuting", "affine", "aggregation", "S3"),
    "parikh_spread": COMMUTING,
    "task": TASK_NAMES,
}


def _case(of: str) -> dict[str, tuple[str | int, ...]]:
    return {"case": _CASES[of]}


METRICS = {
    "accuracy": Metric(label="accuracy", factors=_LENGTHS),
    "worst_accuracy": Metric(label=f"accuracy at the worst length {SHORTEST} … {LONGEST}"),
    "mean_accuracy": Metric(label=f"mean accuracy over lengths {SHORTEST} … {LONGEST}"),
    "gap": Metric(label="mean over lengths of accuracy − Parikh ceiling"),
    "ceiling": Metric(label="Parikh ceiling", factors=_LENGTHS | _case("task")),
    "chance": Metric(label="best constant answer", factors=_LENGTHS | _case("task")),
    "ceiling_error": Metric(
        label="ceiling by dynamic programming against enumeration",
        factors=_case("task"),
        better="lower",
    ),
    "exact_accuracy": Metric(
        label="accuracy of exact orthogonal weights", factors=_case("weights")
    ),
    "exact_margin": Metric(
        label="least margin of exact orthogonal weights", factors=_case("weights")
    ),
    "exact_drift": Metric(
        label="distance from the exact state", factors=_case("weights"), better="lower"
    ),
    "aggregator_accuracy": Metric(label="accuracy of the scalar aggregator on B"),
    "aggregator_margin": Metric(label="least margin of the scalar aggregator on B"),
    "aggregator_bound_error": Metric(label="least margin against its closed form", better="lower"),
    "aggregator_float32": Metric(label="powers of 2.5 that float32 cannot hold, up to 100"),
    "parikh_split": Metric(
        label="Parikh classes with more than one state", factors=_case("parikh_split")
    ),
    "parikh_spread": Metric(
        label="spread of states within a Parikh class",
        factors=_case("parikh_spread"),
        better="lower",
    ),
    "missing_exponentials": Metric(label="sign changes needed − sign changes possible"),
}
