"""Tables of medians and of ranges, whose cells have keys."""

import pandas as pd
import pytest

from journeylab.config import StudySettings, TrainedArm, UserError
from journeylab.plotting import StudyResults, medians, multiples, ranges, styled, table

from ..made import named

NAMES = named(
    labels={"linear": "a line"},
    arms={"few": "2 points", "many": "9 points"},
    metrics={
        "accuracy": {"label": "accuracy", "factors": {"split": ["seen", "new"]}},
        "error": "an error",
        "speed": "measured in no run",
    },
)
COLUMNS = {"Seen": ("accuracy", {"split": "seen"}), "New": ("accuracy", {"split": "new"})}


def results() -> StudyResults:
    trained = [
        (arm, "linear", seed, "accuracy", split, None, base + seed / 10)
        for arm, base in (("many", 0.5), ("few", 0.1))
        for split in ("seen", "new")
        for seed in range(3)
        if (arm, split) != ("few", "new")
    ]
    exact = [("corners", "all", None, "error", None, case, x) for case, x in (("broken", 2.0),) * 2]
    exact += [("corners", "all", None, "error", None, "exact", x) for x in (-1.0, 3.0)]
    columns = ["arm", "variant", "seed", "metric", "split", "case", "value"]
    chosen = TrainedArm(variants={"linear": {}})
    return StudyResults(
        "exp1",
        StudySettings(arms={"few": chosen, "many": chosen}),
        pd.DataFrame([*trained, *exact], columns=columns),
        NAMES,
    )


def test_a_cell_is_the_median_over_seeds_and_has_a_key() -> None:
    table = medians(results(), COLUMNS)
    assert table.frame.to_dict("list") == {
        "Arm": ["2 points", "9 points"],
        "Variant": ["a line", "a line"],
        "Seen": ["0.200", "0.600"],
        "New": ["–", "0.600"],
    }
    assert table.numeric == ("Seen", "New")
    assert table.numbers == pytest.approx(
        {"few-linear.seen": 0.2, "many-linear.seen": 0.6, "many-linear.new": 0.6}
    )


def test_levels_are_printed_in_the_order_of_their_titles() -> None:
    titles = {"split": {"seen": "training", "new": "test"}}
    columns = {"Rate": ("accuracy", {})}
    shown = medians(results(), columns, "many", ("split",), places=1, titles=titles)
    assert shown.frame.to_dict("list") == {"Split": ["training", "test"], "Rate": ["0.6", "0.6"]}


def test_an_anchor_is_a_median_over_seeds() -> None:
    assert results().anchor("accuracy", arm="many") == pytest.approx(0.6)
    assert results().anchor("accuracy", arm="none") is None


def test_columns_after_the_words_are_numeric() -> None:
    shown = table([{"Arm": "few", "Model": "a line", "Rate": "0.2"}], words=2)
    assert shown.numeric == ("Rate",)


def test_rows_of_a_single_arm_are_levels_of_a_factor() -> None:
    table = medians(results(), {"Rate": ("accuracy", {})}, "many", by=("arm", "split"))
    assert table.frame.columns.tolist() == ["Split", "Rate"]
    assert set(table.numbers) == {"many-seen.rate", "many-new.rate"}


def test_levels_are_not_mixed() -> None:
    with pytest.raises(ValueError, match="exp1: Rate: choose levels of all its factors"):
        medians(results(), {"Rate": ("accuracy", {})})


def test_a_metric_that_no_run_measured_makes_no_row_and_no_figure() -> None:
    assert medians(results(), {"Rate": ("speed", {"of": 1})}).frame.empty
    assert ranges(results(), {"speed": ("of",)}).frame.empty
    assert multiples("speed", height=1.0, names={"of": {1: "one"}})(results()) is None


def test_a_line_that_names_a_metric_is_its_median_in_the_panel() -> None:
    of = results()
    new = of.measurements["split"] == "new"
    of.measurements.loc[new, "value"] += 0.3
    titles = {"split": {"seen": "training", "new": "test"}}
    draw = multiples(
        "accuracy", names=titles, lines={"median": "accuracy"}, row="data", col="split"
    )
    with styled():
        figure = draw(of)
    assert figure is not None
    drawn = [
        [line.get_xdata()[0] for line in axes.lines if line.get_label() == "median"]
        for axes in figure.axes
    ]
    assert drawn == [[pytest.approx(0.2)], [], [pytest.approx(0.6)], [pytest.approx(0.9)]]
    with pytest.raises(UserError, match="metric 'acuracy' is drawn, but is unknown"):
        multiples("accuracy", lines={"median": "acuracy"})(of)


def test_ranges_have_a_row_for_each_level() -> None:
    table = ranges(results(), {"error": ("case",)})
    assert table.frame.to_numpy().tolist() == [
        ["an error", "broken", "2.00", "2.00"],
        ["an error", "exact", "−1.00", "3.00"],
    ]
    assert table.numbers["error-exact.largest"] == 3.0
    assert ranges(results(), {"error": ()}).numbers == {
        "error.smallest": -1.0,
        "error.largest": 3.0,
    }
