"""Tables of exp12, and the numbers of its prose that are no reductions of measurements."""

from typing import cast

from journeylab import plotting as plot
from journeylab.knowledge.tables import PRIMARY, gate_of, hits_table, undertrained, worlds_per_seed
from journeylab.plotting import RunName, StudyResults, Table
from journeylab.studies.exp12_native_kg_transfer.metrics import METRICS
from journeylab.studies.exp12_native_kg_transfer.settings import SPECS, Variant

_CHECKS = (
    *("cache_error", "cache_control", "order_error", "order_control"),
    *("leaks", "leak_control", "moved", "moved_control"),
)


def tabulate(results: StudyResults) -> dict[str, Table]:
    """hits@1 of every run by tier, in text and in the form of its KG rows; the search."""
    gate = gate_of(results)
    return {
        "hits": hits_table(
            results,
            ("Arm", "Model"),
            gate,
            _own_format,
            "Own format: triples for native models, template 1 for the others. Trained: seeds with "
            f"at least {gate} at tier 1, of all seeds.",
        ),
        "ranks": plot.medians(
            results,
            "ranks",
            "Mean natural logarithm of the rank, and the floor at tier 3: medians over seeds.",
            {
                "Tier 1": ("log_rank", PRIMARY | {"tier": "T1"}),
                "Tier 2": ("log_rank", PRIMARY | {"tier": "T2"}),
                "Tier 3": ("log_rank", PRIMARY | {"tier": "T3"}),
                "Floor": ("floor_marginal", {"tier": "T3"}),
            },
            notes="Floor: hits@1 of the most frequent answer to a relation.",
        ),
        "checks": plot.ranges(results, METRICS, dict.fromkeys(_CHECKS, ())),
        "search": plot.tabulate_trials(
            results,
            __file__,
            "log rank",
            "Search of the peak rate and the deviation of the embeddings (scale) on pilot seed "
            "1000: mean log rank of the true tail on the tier that the claims read; lower is "
            "better.",
            "They have the lowest rate within 1 % of the best. Where the steps are fewer than in "
            "the reported runs, the search favours what learns early. The rates of models that are "
            "not in the table are in the fairness table.",
        ),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Worlds of a seed, and undertrained runs."""
    return {"worlds": worlds_per_seed(results), **undertrained(results)}


def _own_format(run: RunName) -> dict[str, str | int]:
    """The factor levels of the form in which a run read its KG facts."""
    if SPECS[cast(Variant, run[1])].kg == "native":
        return {"format": "kg", "candidates": "all"}
    return PRIMARY | {"template": 1}
