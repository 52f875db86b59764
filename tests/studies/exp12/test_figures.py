import pytest

from journeylab.knowledge.tables import PRIMARY
from journeylab.plotting import StudyResults
from journeylab.reports.queries import answer as query
from journeylab.studies.exp12_native_kg_transfer.figures import mean_over_templates, numbers

from ..gathering import draw
from .results import RUNS, SEEDS, SETTINGS


def test_every_seed_is_a_point_that_averages_the_templates(drawn):
    runs_of = {"conditions": 9, "bridging": 4}
    assert drawn.keys() == runs_of.keys()
    for name, runs in runs_of.items():
        for axes in drawn[name].axes:
            points = sum(len(dots.get_offsets()) for dots in axes.collections)
            assert points == SEEDS * runs, name


def test_the_mean_is_over_the_templates_of_a_seed(results):
    asked = {"format": "text", "template": (0, 2), "candidates": "all", "tier": "T2"}
    rows = results.tidy("hits@1", **asked)
    means = mean_over_templates(results, rows)
    assert len(means) == len(rows) / 2
    means = means.set_index(["arm", "variant", "seed"])["value"]
    for run, values in rows.groupby(["arm", "variant", "seed"], observed=True)["value"]:
        assert means[run] == pytest.approx(values.mean())


def test_missing_runs_are_not_drawn(results):
    table = results.measurements
    some = StudyResults("exp12", SETTINGS, table[table["arm"] == "split"], results.names)
    assert set(draw(some)) == {"conditions"}


def test_table_has_every_run_and_counts_trained_seeds(results, tables):
    frame = tables["hits"].frame
    assert len(frame) == len(RUNS)
    low = results.measurements["value"].where(results.measurements["tier"] == "T1").min()
    undertrained = numbers(results)["runs.undertrained"]
    assert (undertrained > 0) == (low < 0.95)
    trained = sum(int(cell.partition("/")[0]) for cell in frame["Trained"])
    assert trained == SEEDS * len(RUNS) - undertrained


def test_numbers_are_the_measured_sizes_and_medians(results):
    sizes = {"size-k1": 45, "size-k3": 135}
    asked = {f"world_size.entities.{arm}": size for arm, size in sizes.items()}
    rows = results.pool("hits@1", arm="split", variant="A", tier="T2", **PRIMARY)
    asked["hits-1.T2.text.0.all.split.A"] = rows["value"].median()
    assert query(results, asked) == asked
