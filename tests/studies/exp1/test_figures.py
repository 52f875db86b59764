import re
from dataclasses import replace

from journeylab.reports.queries import answer
from journeylab.studies.exp1_group_languages.figures import numbers, tabulate

from .results import SEEDS


def test_the_ceiling_is_in_the_legend(drawn):
    [legend] = drawn["worst"].legends
    assert "Parikh ceiling" in {text.get_text() for text in legend.get_texts()}


def test_every_seed_is_a_point(results, drawn):
    points = sum(len(c.get_offsets()) for axes in drawn["worst"].axes for c in axes.collections)
    assert points == SEEDS * len([*results.settings.trained()])


def test_tables_mark_untrained_cases_with_a_dash(tables):
    solved = tables["solved"].frame.set_index(["Family", "Form"])
    assert solved.loc[("toral", "product state"), "A"] == f"0/{SEEDS}"
    assert solved.loc[("toral", "product state"), "Z6"] == "–"
    assert ("complex diagonal", "product state") not in solved.index


def test_overflowing_strings_are_reported_as_overflow_not_as_errors(results):
    table = results.measurements
    far = (table["n"] == 200) & (table["variant"] == "linear-aggregation")
    lost = table["value"].mask(far & (table["metric"] == "overflow"), 1.0)
    overflowing = table.assign(value=lost)[~(far & (table["metric"] == "accuracy"))]
    tables = tabulate(replace(results, measurements=overflowing))
    cell = ("general linear", "aggregation"), "B"
    for length, pattern in ((100, r"0\.\d\d"), (200, "100 % overflow")):
        frame = tables[f"far-{length}"].frame.set_index(["Family", "Form"])
        assert re.fullmatch(pattern, frame.loc[cell])


def test_numbers_for_the_prose_equal_those_of_the_tasks(results):
    assert {"order.S3": 6, "order.A5": 60, "order.Z6": 6}.items() <= numbers(results).items()
    expected = {"ceiling.Bbal.50": 0.5, "aggregator_float32.max": 4}
    assert answer(results, expected) == expected
