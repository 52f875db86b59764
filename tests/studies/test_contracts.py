"""What holds for every study: what its datasets depend on, and what its computed runs say."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from journeylab import catalogue
from journeylab.claims.effects import Every
from journeylab.claims.schema import PILOT
from journeylab.config import RunSettings
from journeylab.streams import Streams

from ..conftest import unchecked_types
from ..made import registered
from .gathering import QUICK

COMPUTED = {
    f"{study}-{run.arm}-{run.variant}": (study, run)
    for study, settings in QUICK.studies.items()
    for run in catalogue.runs_of(study, settings)
    if run.computed
}
CUMULATIVE = "invariance_error exp2-invariance-cumulative-cumulative"
CANCELLED, LOST = "exp6-cancellation-additive-scores", "exp6-fewer-additive"
CERTIFICATES = (
    ("exp2-invariance-content", "invariance_error float64", 1e-12, CUMULATIVE, 1e-3),
    ("exp2-invariance-content", "invariance_error float32", 1e-4, CUMULATIVE, 1e-3),
    ("exp2-invariance-position-free", "invariance_error float64", 1e-12, CUMULATIVE, 1e-3),
    ("exp2-invariance-position-free", "invariance_error float32", 1e-4, CUMULATIVE, 1e-3),
    ("exp4-certificates-gauge", "gauge_error exact", 1e-9, "gauge_error broken", 1e-6),
    ("exp4-certificates-gauge", "gauge_error exact", 1e-9, "hidden_off_block", 0.1),
    ("exp4-certificates-rope", "rope_error exact", 1e-9, "rope_error broken", 1e-3),
    ("exp4-certificates-order", "order_error exact", 1e-9, "order_error broken", 1e-3),
    ("exp4-certificates-blocks", "blocks_found exact", 1e-6, "blocks_found broken", 0.3),
    ("exp4-certificates-angles", "bend exact", 1e-9, "bend noisy", 1e-9),
    ("exp4-certificates-angles", "bend noisy", 0.01, "bend broken", 0.2),
    (CANCELLED, "cancellation", 1e-12, "cancellation exp6-cancellation-additive", 0.01),
    (CANCELLED, "cancellation", 1e-12, "cancellation exp6-cancellation-separable", 0.01),
    (LOST, "lost_accuracy", 0.0, "lost_accuracy exp6-fewer-separable", 0.02),
    ("exp7-algebra-slots", "slot_within_error", 1e-12, "slot_across_effect", 0.01),
    ("exp7-algebra-text", "text_equivalence_error", 1e-12, "text_equivalence_control", 0.01),
    ("exp7-algebra-keys", "baked_key_error", 1e-12, "baked_key_control", 0.01),
    ("exp7-algebra-decoding", "decoding_mismatch", 0.0, "decoding_control", 0.01),
    ("exp8-certificates-all", "rise exact", 0.0, "rise broken", 0.01),
    ("exp8-certificates-all", "spacing_error exact", 1e-12, "spacing_error broken", 0.01),
    ("exp8-certificates-all", "dimension_error exact", 0.0, "dimension_error broken", 1.0),
    ("exp8-certificates-all", "rms_error exact", 1e-6, "rms_error broken", 0.1),
    ("exp8-certificates-all", "optimum_error exact", 0.0, "optimum_error broken", 1.0),
    ("exp8-certificates-all", "equivariance_error exact", 1e-9, "equivariance_error broken", 1e-3),
    ("exp8-certificates-all", "relabelling_error exact", 1e-9, "relabelling_error broken", 1e-3),
    ("exp9-certificates-all", "one_hot_error hard", 1e-12, "one_hot_error soft", 0.01),
    ("exp9-certificates-all", "argmax_gradient hard", 0.0, "argmax_gradient soft", 1e-3),
    ("exp9-certificates-all", "tau_changes same", 0.0, "tau_changes other", 1.0),
    ("exp9-certificates-all", "gumbel_difference same", 1e-10, "gumbel_difference other", 0.01),
    ("exp9-certificates-all", "off_block hard", 0.0, "off_block soft", 1e-3),
    ("exp9-certificates-all", "soft_error relaxed", 1e-6, "soft_error hard", 0.01),
    ("exp9-certificates-all", "reinforce_error plain", 1e-10, "reinforce_error updated", 0.0012),
    ("exp9-certificates-all", "rerouted end", 0.0, "rerouted noisy", 0.3),
    ("exp9-certificates-all", "rerouted end", 0.0, "rerouted last-phase", 0.3),
    ("exp9-certificates-all", "softness gumbel-0.1", 0.05, "softness gumbel-1", 0.2),
    ("exp10-audit-equivalence", "equivalence_error", 1e-12, "equivalence_control", 1e-3),
    ("exp10-audit-padding", "padding_error", 1e-12, "padding_control", 1e-3),
    ("exp11-exact-forward", "row_sum_error", 1e-12, "row_sum_control", 0.1),
    ("exp11-exact-forward", "invariance_error", 1e-10, "invariance_control", 1e-3),
    ("exp11-exact-hello", "twin_gap", 1e-12, "printed_twin_gap", 0.0999),
    ("exp11-exact-kmeans", "selection_gradient", 0.0, "query_gradient", 1e-3),
    ("exp11-exact-shapes", "shape_error", 0.0, "shape_control", 4.0),
    ("exp11-exact-printed", "arithmetic_error", 0.0, "arithmetic_control", 1.0),
    ("exp12-certificates-cache", "cache_error", 1e-12, "cache_control", 0.01),
    ("exp12-certificates-order", "order_error", 1e-12, "order_control", 0.01),
    ("exp12-certificates-splits", "leaks", 0.0, "leak_control", 1.0),
    ("exp12-certificates-splits", "moved", 0.0, "moved_control", 1.0),
)
"""A computed run, the rows that are at most a tolerance, and those that are above it.

Rows have a metric, and may have a level of any factor, or be those of another run.
"""


def shrink(settings: dict[str, Any]) -> dict[str, Any]:
    """Two draws, few strings, rows and steps and the shortest length, where there are any."""
    fewest = {"draws": 2, "strings": 2**8, "length": 20, "enumerate": 4}
    fewest |= {"steps": 4, "short": 2, "starts": 2, "test": 20}
    smaller = {name: min(settings[name], size) for name, size in fewest.items() if name in settings}
    if "lengths" in settings:
        smaller["lengths"] = settings["lengths"][:1]
    if "training" in settings:
        smaller["training"] = settings["training"] | {"steps": 2, "warmup": 0}
    if "train" in settings.get("data", {}):
        smaller["data"] = settings["data"] | {"train": 100, "test": 20}
    return settings | smaller


@pytest.mark.parametrize("study", catalogue.discover())
def test_no_dataset_depends_on_the_training_engine(study: str) -> None:
    engine = "journeylab.training"
    generated = catalogue.key_modules("generate", study)
    assert not [module for module in generated if module.startswith(engine)]
    assert engine in catalogue.key_modules("train", study)


def compute(study: str, run: RunSettings) -> pd.DataFrame:
    job = catalogue.computation(study, shrink(run.settings))
    streams = None if run.once else Streams(study, PILOT)
    return catalogue.compute_part(study).compute(job, streams)


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_rows_are_declared_unique_and_the_same_again(name: str) -> None:
    study, run = COMPUTED[name]
    metrics = catalogue.printed_names(study).metrics
    table = compute(study, run)
    with unchecked_types():
        again = compute(study, run)
    pd.testing.assert_frame_equal(table, again, check_exact=True)
    repeated = table.duplicated(list(table.columns[:-1])).any()
    assert repeated == ((study, run.arm) == ("exp8", "certificates"))  # several rises in a case
    assert list(table.columns[[-1]]) == ["value"]
    assert {"draw", "metric"} < set(table.columns)
    assert not {"study", "arm", "variant", "seed"} & set(table.columns)
    assert set(table["metric"]) <= set(metrics)
    for metric, rows in table.groupby("metric"):
        factors = metrics[metric].factors
        assert set(rows.dropna(axis="columns", how="all")) <= {"draw", "metric", "value", *factors}
        for factor, levels in factors.items():
            assert set(rows[factor]) <= set(levels), (metric, factor)


@cache
def computed_once(name: str) -> pd.DataFrame:
    with unchecked_types():
        return compute(*COMPUTED[name])


def rows_of(name: str, which: str) -> pd.Series:
    """The values of a metric, or of its rows that have a level, or of those of another run."""
    metric, _, of = which.partition(" ")
    table = computed_once(of if of in COMPUTED else name)
    chosen = table[table["metric"] == metric]
    if of not in ("", *COMPUTED):
        chosen = chosen[(chosen == of).any(axis="columns")]
    assert len(chosen)
    return chosen["value"]


@pytest.mark.parametrize(("name", "exact", "most", "control", "least"), CERTIFICATES)
def test_a_certificate_holds_and_its_control_does_not(
    name: str, exact: str, most: float, control: str, least: float
) -> None:
    assert rows_of(name, exact).max() <= most
    assert rows_of(name, control).min() >= least >= most


@pytest.mark.parametrize("name", [name for name in COMPUTED if name.startswith(("exp7", "exp12"))])
def test_timed_forms_have_the_same_result(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(fast: Callable[[], Tensor], slow: Callable[[], Tensor], pairs: int) -> object:
        torch.testing.assert_close(fast().double(), slow().double(), atol=1e-4, rtol=0.0)
        compared.append(pairs)
        return {"ratio": 1.0}

    study, run = COMPUTED[name]
    part = catalogue.compute_part(study)
    monkeypatch.setattr(part, "compare", compare)
    timed = part.time_forms(catalogue.computation(study, shrink(run.settings)))
    assert timed == ({"ratio": 1.0} if compared else {})
    assert bool(compared) == name.endswith(("keys", "decoding", "cache"))


@pytest.mark.parametrize(
    ("study", "others"), [("exp7", {"split_deviation", "count_deviation"}), ("exp12", set())]
)
def test_every_registered_tolerance_has_a_control_beyond_it(study: str, others: set[str]) -> None:
    limits = {
        claim.effect.every.metric: claim.region.high
        for claim in registered().studies[study].claims
        if isinstance(claim.effect, Every) and claim.region.kind == "at_most"
    }
    rows = [row for row in CERTIFICATES if row[0].startswith(f"{study}-")]
    assert limits.keys() - others == {exact for _, exact, *_ in rows}
    assert all(most == limits[exact] < least for _, exact, most, _, least in rows)


@pytest.mark.parametrize(
    ("study", "section", "settings", "message"),
    [
        ("exp2", "Lookups", {"task": "lookup", "keys": 40}, "a repository of 100 needs as many"),
        ("exp2", "Relations", {"task": "relations", "keys": 3}, "5 subjects need as many"),
        ("exp4", "Model", {"length": 20}, "multiple of 8"),
        ("exp4", "UntrainedArm", {"computed": "random", "variants": ["rope"]}, "replicates"),
        ("exp5", "BridgeCases", {"contraction": 0.5}, "stay above 1e-150"),
        ("exp6", "Computation", {"computed": "rank", "variant": "separable"}, "no variant"),
        ("exp7", "Data", {"generations": (4, 8, 9)}, "write four generations"),
        ("exp7", "Data", {"generations": (4, 9, 9, 9)}, "9 children of 4 fathers"),
        ("exp7", "Data", {"generations": (4, 8, 7, 9)}, "7 children of 8 fathers"),
        ("exp7", "Data", {"cities": 3}, "write 5"),
        ("exp7", "Data", {"teaching": 0.8, "transfer": 0.2}, "leave a share"),
        ("exp9", "Computation", {"computed": "training", "variant": "x"}, "unknown variant"),
        ("exp9", "Computation", {"computed": "training", "variant": "soft", "steps": 100}, "short"),
        ("exp9", "Model", {"d": 8, "heads": 3}, "write a divisor of d, 8"),
        ("exp10", "Data", {"operations": 5}, "wiring any"),
        ("exp10", "Data", {"test": 0.6, "train": 0.5}, "at most 1"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    study: str, section: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        getattr(catalogue.settings_part(study), section)(**settings)


@pytest.mark.parametrize(
    ("study", "arm", "changes", "message"),
    [
        ("exp2", "relations", {"variant": "rope"}, "unknown variant 'rope' of task relations"),
        ("exp2", "relations", {"size": 20}, "relations has the size of its groups"),
        ("exp2", "M20-sorted", {"size": 7}, "size 7: accepted: 20, 50, 100"),
        ("exp2", "M20-sorted", {"size": None}, "size None: accepted: 20, 50, 100"),
        ("exp2", "invariance", {"variant": "tag"}, "unknown variant 'tag' of task lookup"),
        ("exp4", "single-0", {"commutator": 0.1}, "a single operator commutes with itself"),
        ("exp4", "controls", {"orthogonality": 0.1}, "a fixed operator"),
        ("exp4", "single-0", {"model": {"length": 512}}, "too short for windows of 512"),
        ("exp6", "random-toral-scores", {"variant": "additive-outputs"}, "has no scores to fit"),
        ("exp8", "learning-full", {"variant": "all"}, "unknown variant 'all'"),
        ("exp8", "geometry", {"variant": "scalar"}, "unknown variant 'scalar'"),
        ("exp9", "language", {"model": {"length": 512}}, "too short for windows of 512"),
        ("exp11", "string-double", {"variant": "kmeans"}, "more outputs"),
        ("exp11", "sentence", {"variant": "kmeans"}, "more outputs"),
    ],
)
def test_runs_that_contradict_themselves_are_refused(
    study: str, arm: str, changes: dict[str, Any], message: str
) -> None:
    run = next(run for run in catalogue.runs_of(study, QUICK.studies[study]) if run.arm == arm)
    changed = {
        name: run.settings[name] | value if isinstance(value, dict) else value
        for name, value in changes.items()
    }
    job = catalogue.computation if run.computed else catalogue.trained_job
    with pytest.raises(ValidationError, match=message):
        job(study, run.settings | changed)


def test_every_study_computes_something_without_training() -> None:
    assert {study for study, _ in COMPUTED.values()} == set(catalogue.discover())


@pytest.mark.parametrize(
    "source", sorted(catalogue.PACKAGE.rglob("*.typ")), ids=lambda path: path.parent.name
)
def test_no_semicolon_of_prose_is_lost(source: Path) -> None:
    """Behind an expression Typst takes it for the end of the expression, and prints nothing."""
    expression = r"#[a-z][\w.]*(?:\([^()]*\)|\.[\w]+)*;"
    assert not re.findall(expression, source.read_text(encoding="utf-8"))
