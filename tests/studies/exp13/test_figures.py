from pathlib import Path

import pandas as pd

from journeylab.catalogue import load
from journeylab.plotting import StudyResults, styled
from journeylab.studies.exp13_published_mixers import figures

ROOT = Path(__file__).parents[3]


def test_the_solved_figure_has_a_cost_beside_every_mechanism(drawn):
    [axes] = drawn["solved"].axes
    heads = [label.get_text() for label in axes.get_xticklabels()]
    assert heads == ["S3", "A5", "parity", "recall", "kFLOP"]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["RoPE", "Mamba-3, real", "GRU", "linear product"]
    texts = [text.get_text() for text in axes.texts]
    assert len([text for text in texts if text.isdigit()]) == len(names)
    assert texts.count("") == 4 * 4 - 7


def test_panels_of_words_have_their_ceiling_and_others_none(drawn):
    for name, shown in (("words", True), ("others", False)):
        for axes in drawn[name].axes:
            labels = [line.get_label() for line in axes.lines]
            assert ("Parikh ceiling" in labels) == shown


def test_every_mechanism_of_the_default_run_has_a_row(results):
    settings = load(ROOT / "config.yaml").studies["exp13"]
    variants = list(settings.arms["S3"].variants)
    rows = results.measurements
    trained = rows[(rows["arm"] == "S3") & (rows["variant"] == "gru")]
    copies = [trained.assign(variant=variant) for variant in variants]
    rest = rows[rows["arm"] == "certificates"]
    shown = StudyResults("exp13", settings, pd.concat([*copies, rest]))
    with styled():
        drawn = figures.draw(shown)
    for name in ("solved", "words", "length"):
        assert len(drawn[name].axes[0].get_yticklabels()) == len(variants), name


def test_accuracies_have_a_row_per_mechanism_and_a_cost(results):
    tables = figures.tabulate(results)
    frame = tables["accuracy-4"].frame
    assert len(frame) == 4
    assert "–" not in set(frame["kFLOP"])
    assert int(frame["kFLOP"][0]) > int(tables["accuracy-1"].frame["kFLOP"][0])


def test_without_training_nothing_is_drawn(results):
    alone = results.measurements[results.measurements["arm"] == "certificates"]
    with styled():
        assert figures.draw(StudyResults("exp13", results.settings, alone)) == {}
