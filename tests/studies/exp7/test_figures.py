from dataclasses import replace

import numpy as np

from journeylab.reports.queries import answer
from journeylab.studies.exp7_native_kg.figures import numbers
from journeylab.studies.exp7_native_kg.settings import Data

from ...made import configured
from ..gathering import draw
from .results import RUNS


def test_floors_have_labels(drawn):
    floors = {"any entity", "any of the type", "relation marginal", "relation and generation"}
    for axes in drawn["tiers"].axes:
        assert floors < {line.get_label() for line in axes.lines}
    [legend] = drawn["tiers"].legends
    assert floors < {text.get_text() for text in legend.get_texts()}


def test_points_show_every_seed(drawn):
    for name, runs in (("tiers", len(RUNS)), ("metrics", len(RUNS)), ("paired", len(RUNS) - 1)):
        for axes in drawn[name].axes:
            assert sum(len(dots.get_offsets()) for dots in axes.collections) == 2 * runs


def test_every_metric_is_shown_at_every_tier(drawn):
    titles = [axes.get_title("left") for axes in drawn["metrics"].axes[:5]]
    assert titles == ["hits@5", "MRR", "exact match", "log rank", "perplexity"]
    rows = [axes.get_ylabel() for axes in drawn["metrics"].axes[::5]]
    assert [row.split(":")[0] for row in rows] == ["Tier 1", "Tier 2", "Tier 3"]


def test_right_of_the_line_a_is_better(results):
    table = results.measurements.copy()
    own = (table["arm"] == "native") & (table["variant"] == "A")
    table.loc[own & (table["metric"] == "log_rank"), "value"] = 0.0
    table.loc[own & (table["metric"] == "hits@1"), "value"] = 1.0
    figure = draw(replace(results, measurements=table), "paired")["paired"]
    for axes in figure.axes:
        for points in axes.collections:
            assert (np.asarray(points.get_offsets())[:, 0] > 0).all()


def test_tables_have_a_row_per_run_and_count_trained_seeds(tables):
    for name in ("hits", "transfer"):
        assert len(tables[name].frame) == len(RUNS)
    assert tables["hits"].frame["Trained"].tolist() == ["0/2"] * len(RUNS)


def test_all_models_have_equal_budgets():
    settings = configured().studies["exp7"]
    budgets = {settings.resolve(*run).settings["training"]["steps"] for run in settings.trained()}
    assert len(budgets) == 1


def test_numbers_are_the_measured_sizes(results):
    sizes = {
        "entities": 45,
        "person": 30,
        "city": 10,
        "base-facts": 55,
        "transfer-facts": 11,
        "nephew_of-facts": 11,
        "text-rows": 255,
        "KG-rows.native": 96,
        "KG-rows.7a": 288,
        "KG-rows.7b-held": 96,
        "symbols": 54,
        "name-tokens": 6,
    }
    asked = {f"world_size.{key}": size for key, size in sizes.items()}
    assert answer(results, asked) == asked
    expected = {"facts.derived": 47, "worlds": "one world"}
    counts = {"runs.finished": 8, "runs.undertrained": 8}
    assert (expected | counts).items() <= numbers(results).items()


def test_worlds_of_a_seed_are_printed_and_sizes_stay_those_of_one_world(results):
    settings = results.settings
    several = settings.model_copy(update={"datasets": {"world": Data(worlds=4)}})
    assert numbers(replace(results, settings=several)) == numbers(results) | {"worlds": "4 worlds"}
    arm = settings.arms["7b-held"].model_copy(update={"data": {"worlds": 1}})
    mixed = several.model_copy(update={"arms": {**settings.arms, "7b-held": arm}})
    printed = numbers(replace(results, settings=mixed))
    assert printed["worlds"] == "4 worlds (1 in “other template”)"


def test_sizes_without_a_run_are_not_available(results):
    table, rows = results.measurements, "world_size.KG-rows.7a"
    native = replace(results, measurements=table[table["arm"] == "native"], curves=None)
    assert answer(native, [rows]) == {rows: None}
    sizes = table[table["metric"] != "world_size"]
    printed = numbers(replace(results, measurements=sizes, curves=None))
    assert printed["facts.derived"] == "n/a"
