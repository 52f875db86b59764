"""Results select, pair and name rows as figures need them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from journeylab.config import StudySettings, TrainedArm, UserError
from journeylab.plotting import StudyResults, median

from ..made import named

ROWS = [
    ("few", "linear", 0, "accuracy", 0.75),
    ("many", "linear", 0, "accuracy", 0.95),
    ("corners", "all", None, "share", 0.5),
]


def results() -> StudyResults:
    columns = ["arm", "variant", "seed", "metric", "value"]
    names = named(metrics={"nothing": "measured in no run"})
    return StudyResults("exp1", StudySettings(), pd.DataFrame(ROWS, columns=columns), names)


def test_rows_of_several_arms_are_pooled_only_on_request() -> None:
    with pytest.raises(ValueError, match="accuracy is measured in arms few, many"):
        results().select("accuracy", variant="linear")
    assert results().select("accuracy", arm="many")["value"].tolist() == [0.95]
    assert results().pool("accuracy", variant="linear")["value"].tolist() == [0.75, 0.95]


def test_a_single_arm_needs_no_name() -> None:
    assert results().select("share")["value"].tolist() == [0.5]
    assert results().select("nothing").empty
    assert results().select("nothing", factor="of nothing").empty
    with pytest.raises(KeyError, match="factor"):
        results().select("share", factor="of nothing")


def test_a_metric_that_the_study_does_not_have_is_refused() -> None:
    with pytest.raises(UserError, match=r"exp1: metric 'nothign' is drawn, .*mean 'nothing'"):
        results().tidy("nothign")


def trained(**given) -> StudyResults:
    """Two arms; one seed of linear in “many” failed, and another one's value is infinite."""
    rows = [
        (arm, variant, seed, "accuracy", split, 0.5)
        for arm, variant in (("N10", "linear"), ("N9", "linear"), ("N9", "hidden"))
        for seed in range(2)
        for split in ("seen", "new")
        if (arm, variant, seed) != ("N10", "linear", 1)
    ]
    table = pd.DataFrame(rows, columns=["arm", "variant", "seed", "metric", "split", "value"])
    table.loc[table.index[-1], "value"] = np.inf
    status = ("finished", "failed")
    seeds = tuple(SimpleNamespace(seed=i, status=word) for i, word in enumerate(status))
    run = SimpleNamespace(arm="N10", variant="linear", seeds=seeds)
    chosen = TrainedArm(variants={"linear": {}, "hidden": {}})
    settings = StudySettings(arms={"N10": chosen, "N9": chosen})
    labels = {"hidden": "one layer", "linear": "a line"}
    return StudyResults("exp1", settings, table, named(labels=labels, **given), runs=(run,))


def test_a_failed_seed_is_a_row_without_a_value_at_every_level() -> None:
    rows = trained().tidy("accuracy", arm="N10")
    assert rows[rows["seed"] == 1][["split", "model"]].to_numpy().tolist() == [
        ["seen", "a line"],
        ["new", "a line"],
    ]
    assert rows["value"].isna().tolist() == [False, False, True, True]
    assert len(trained().tidy("accuracy", arm=["N10", "N9"], split="new")) == 6
    assert trained().tidy("accuracy", variant="hidden")["value"].isna().sum() == 1
    assert trained().failures("N10", "linear") == 1


def test_values_that_are_no_numbers_are_rows_without_a_value() -> None:
    results = trained()
    results.measurements["value"] = float("nan")
    rows = results.tidy("accuracy", arm="N10")
    assert len(rows) == len(trained().tidy("accuracy", arm="N10"))
    assert rows["value"].isna().all()


def test_if_no_seed_finished_every_seed_is_a_row_without_a_value() -> None:
    known = trained(metrics={"accuracy": "accuracy"})
    results = replace(known, measurements=known.measurements.iloc[:0])
    rows = results.tidy("accuracy", split="new")
    assert rows[["arm", "variant", "seed", "split"]].to_numpy().tolist() == [
        ["N10", "linear", 1, "new"]
    ]
    assert rows["value"].isna().all()
    assert list(rows["model"].cat.categories) == ["a line"]


def test_whole_numbers_among_levels_are_integers() -> None:
    results = trained()
    results.measurements["n"], results.measurements["rate"] = 8.0, 0.5
    assert results.tidy("accuracy").iloc[0][["n", "rate"]].astype(str).tolist() == ["8", "0.5"]


def test_a_pair_needs_both_values_of_a_seed() -> None:
    results = trained()
    table = results.measurements
    table.loc[table["arm"] == "N10", "value"] = 0.75
    rows = results.paired("accuracy", ("N10", "linear"), split="new")
    assert rows.set_index(["variant", "seed"])["value"].dropna().to_dict() == {
        ("linear", 0): -0.25,
        ("hidden", 0): -0.25,
    }
    assert rows["value"].isna().sum() == 2
    assert results.paired("accuracy", ("N10", "hidden"), split="new").empty
    with pytest.raises(pd.errors.InvalidIndexError):
        results.paired("accuracy", ("N10", "linear"))


def test_names_in_print_stand_in_their_order_and_others_are_counted() -> None:
    results = trained(arms={"N10": "ten"})
    rows = results.tidy("accuracy")
    assert list(rows["model"].cat.categories) == ["one layer", "a line"]
    assert list(rows["data"].cat.categories) == ["ten", "N9"]
    assert list(rows["run"].cat.categories) == ["a line, ten", "one layer, N9", "a line, N9"]
    assert list(results.styles) == ["one layer", "a line"]
    assert results.present == [("N10", "linear"), ("N9", "hidden"), ("N9", "linear")]


def test_a_median_has_decimals_or_is_not_available() -> None:
    assert (median(pd.Series([1 / 3]), 2), median(pd.Series([], dtype=float))) == ("0.33", "n/a")
