import pytest

from journeylab.catalogue import printed_names

from .results import RUNS

NAMES = printed_names("exp8")


def test_every_test_set_has_its_anchors_and_every_seed_a_dot(results, drawn):
    axes = drawn["tests"].axes
    tests = ("iid", "close", "held-out", "shifted")
    assert len(axes) == 2 * len(tests)
    for arm, row in (("axial", axes[:4]), ("full", axes[4:])):
        for each, test in zip(row, tests, strict=True):
            [line] = [drawn for drawn in each.lines if drawn.get_label() == "greedy"]
            rates = results.pool("greedy_optimal", test=test, arm="axial").groupby("seed")["value"]
            assert line.get_xdata()[0] == pytest.approx(rates.first().median())
            dots = sum(len(c.get_offsets()) for c in each.collections)
            assert dots == 2 * len(RUNS[arm])


def test_the_figure_of_printed_numbers_marks_the_documents_number_and_width(drawn):
    [axes] = drawn["printed"].axes
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["printed"].get_ydata()[0] == 0.9943
    assert lines["width of the document"].get_xdata()[0] == 512


def test_tables_list_every_run_and_the_widths_of_the_printed_numbers(tables):
    assert len(tables["rates"].frame) == sum(map(len, RUNS.values()))
    assert tables["printed"].frame["Printed at width"].tolist() == ["none", "62, 64"]
    geometry = tables["geometry"].frame.set_index("Embedding")
    assert geometry.loc[NAMES.labels["scalar"], "1st component"] == "1.000"
    order = tables["vectors"].frame.set_index(["Arm", "Variant"])["Order"]
    assert order[NAMES.arms["axial"], NAMES.labels["discrete"]] != "–"
