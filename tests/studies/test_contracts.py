"""What holds for every study: what its datasets depend on, and what its computed runs say."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from journeylab import catalogue
from journeylab.claims.schema import PILOT
from journeylab.config import RunSettings
from journeylab.streams import Streams

from ..conftest import unchecked_types
from .gathering import QUICK

COMPUTED = [
    pytest.param(study, run, id=f"{study}-{run.arm}-{run.variant}")
    for study, settings in QUICK.studies.items()
    for run in catalogue.runs_of(study, settings)
    if run.computed
]


def shrink(settings: dict[str, Any]) -> dict[str, Any]:
    """One draw, few strings, rows and steps and the shortest length, where there are any."""
    fewest = {"draws": 1, "strings": 2**8, "length": 20, "enumerate": 4}
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


@pytest.mark.parametrize(("study", "run"), COMPUTED)
def test_computed_rows_are_declared_unique_and_the_same_again(study: str, run: RunSettings) -> None:
    metrics = catalogue.printed_names(study).metrics
    job = catalogue.computation(study, shrink(run.settings))

    def compute() -> pd.DataFrame:
        streams = None if run.once else Streams(study, PILOT)
        return catalogue.compute_part(study).compute(job, streams)

    table = compute()
    with unchecked_types():
        again = compute()
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
    assert {param.values[0] for param in COMPUTED} == set(catalogue.discover())


@pytest.mark.parametrize(
    "source", sorted(catalogue.PACKAGE.rglob("*.typ")), ids=lambda path: path.parent.name
)
def test_no_semicolon_of_prose_is_lost(source: Path) -> None:
    """Behind an expression Typst takes it for the end of the expression, and prints nothing."""
    expression = r"#[a-z][\w.]*(?:\([^()]*\)|\.[\w]+)*;"
    assert not re.findall(expression, source.read_text(encoding="utf-8"))
