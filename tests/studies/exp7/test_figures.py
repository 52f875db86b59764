from collections import defaultdict
from dataclasses import replace

import numpy as np

from journeylab.reports.queries import answer
from journeylab.studies.exp7_native_kg.figures import numbers
from journeylab.studies.exp7_native_kg.settings import Data

from ...made import configured
from ..gathering import draw


def test_points_show_every_seed(results, drawn):
    trained = [*results.settings.trained()]
    compared = [run for run in trained if run[0] != "marks" and run[1] != "B"]
    shown = {"answer": len(compared), "templates": len(trained)}
    for name, runs in shown.items():
        for axes in drawn[name].axes:
            assert sum(len(dots.get_offsets()) for dots in axes.collections) == 2 * runs


def test_right_of_the_line_a_model_is_better_than_b(results):
    table = results.measurements.copy()
    own = table["variant"].isin(["A", "C"])
    table.loc[own & (table["metric"] == "hits@1"), "value"] = 1.0
    figure = draw(replace(results, measurements=table), "answer")["answer"]
    for axes in figure.axes:
        for points in axes.collections:
            assert (np.asarray(points.get_offsets())[:, 0] > 0).all()


def test_tables_have_a_row_per_run(results, tables):
    for name in ("hits", "others"):
        assert len(tables[name].frame) == len([*results.settings.trained()])


def test_all_models_of_a_reading_have_equal_budgets():
    settings = configured().studies["exp7"]
    budgets = defaultdict(set)
    for run in settings.trained():
        budgets[run[0]].add(settings.resolve(*run).settings["training"]["steps"])
    assert {len(steps) for steps in budgets.values()} == {1}
    assert budgets["words"] == budgets["marks"]


def test_numbers_are_the_measured_sizes(results):
    sizes = {
        "entities.characters": 45,
        "person.characters": 30,
        "city.characters": 10,
        "base-facts.characters": 55,
        "transfer-facts.characters": 11,
        "nephew_of-facts.characters": 11,
        "text-rows.words": 255,
        "KG-rows.characters.A": 96,
        "KG-rows.characters.B": 96,
        "KG-rows.marks": 288,
        "symbols.characters": 54,
        "symbols.words": 91,
        "name-tokens.characters": 6,
        "name-tokens.words": 1,
    }
    asked = {f"world_size.{key}": size for key, size in sizes.items()}
    assert answer(results, asked) == asked
    expected = {"facts.derived": 47, "worlds": "one world"}
    counts = {"runs.finished": 12, "runs.undertrained": 12}
    assert (expected | counts).items() <= numbers(results).items()


def test_worlds_of_a_seed_are_printed_and_sizes_stay_those_of_one_world(results):
    settings = results.settings
    several = settings.model_copy(update={"datasets": {"plan": Data(worlds=4)}})
    assert numbers(replace(results, settings=several)) == numbers(results) | {"worlds": "4 worlds"}
    arm = settings.arms["words"].model_copy(update={"data": {"worlds": 1}})
    mixed = several.model_copy(update={"arms": {**settings.arms, "words": arm}})
    printed = numbers(replace(results, settings=mixed))
    assert printed["worlds"] == "4 worlds (1 in “one token a name”)"


def test_sizes_without_a_run_are_not_available(results):
    table, rows = results.measurements, "world_size.KG-rows.words"
    characters = replace(results, measurements=table[table["arm"] == "characters"], curves=None)
    assert answer(characters, [rows]) == {rows: None}
    sizes = table[table["metric"] != "world_size"]
    printed = numbers(replace(results, measurements=sizes, curves=None))
    assert printed["facts.derived"] == "n/a"
