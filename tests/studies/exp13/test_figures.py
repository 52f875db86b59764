from dataclasses import replace

import pandas as pd

from ...made import configured
from ..gathering import draw


def test_the_solved_figure_has_a_cost_beside_every_mechanism(drawn):
    [axes] = drawn["solved"].axes
    heads = [label.get_text() for label in axes.get_xticklabels()]
    assert heads == ["S3", "A5", "parity", "recall", "kFLOP"]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["RoPE", "Mamba-3, real", "linear product", "GRU"]
    texts = [text.get_text() for text in axes.texts]
    assert len([text for text in texts if text.isdigit()]) == len(names)
    assert len(texts) == 7 + len(names)  # trained runs, and a cost per mechanism


def test_searched_runs_are_bold_and_kinds_of_mechanisms_stand_apart(drawn):
    [axes] = drawn["solved"].axes
    bold = {
        (int(text.get_position()[0]), int(text.get_position()[1]))
        for text in axes.texts
        if text.get_weight() == "bold"
    }
    s3, a5, recall = 0, 1, 3
    rope, linear, gru = 0, 2, 3
    assert bold == {(s3, gru), (a5, linear), (recall, rope)}
    heights = sorted({line.get_ydata()[0] for line in axes.lines})
    assert heights == [1, 2, 3]  # RoPE | Mamba-3, real | linear product | GRU


def test_state_and_memory_stand_side_by_side(drawn):
    [axes] = drawn["both"].axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["RoPE"]
    labels = {line.get_label() for line in axes.lines}
    assert {"A5", "recall", "A5: constant answer", "recall: most frequent value"} <= labels


def test_floors_and_ceilings_stand_below_the_mechanisms(drawn):
    [axes] = drawn["length"].axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[-2:] == ["floor", "Parikh ceiling"]
    texts = {text.get_position(): text.get_text() for text in axes.texts}
    columns = [label.get_text() for label in axes.get_xticklabels()]
    assert columns == ["n", "4n"] * 4
    floors = [texts[column + 0.5, len(names) - 1.5] for column in range(8)]
    assert floors[4:6] == ["50"] * 2  # parity
    ceilings = [texts.get((column + 0.5, len(names) - 0.5)) for column in range(8)]
    assert ceilings[0] == "33"
    assert ceilings[4:] == [None] * 4


def test_panels_of_words_have_their_ceiling_and_others_none(drawn):
    for name, shown in (("words", True), ("others", False)):
        for axes in drawn[name].axes:
            labels = [line.get_label() for line in axes.lines]
            assert ("Parikh ceiling" in labels) == shown


def test_every_mechanism_of_the_default_run_has_a_row(results):
    settings = configured().studies["exp13"]
    variants = list(settings.arms["S3"].variants)
    trained = results.measurements.query("arm == 'S3' and variant == 'gru'")
    copies = [trained.assign(variant=variant) for variant in variants]
    rest = results.measurements.query("arm == 'certificates'")
    shown = replace(results, settings=settings, measurements=pd.concat([*copies, rest]))
    further = {"solved": 0, "words": 0, "length": 2}
    for name, figure in draw(shown, *further).items():
        rows = len(variants) + further[name]
        assert len(figure.axes[0].get_yticklabels()) == rows, name


def test_accuracies_have_a_row_per_mechanism_and_a_cost(tables):
    frame = tables["accuracy-4"].frame
    assert len(frame) == 4
    assert "n/a" not in set(frame["kFLOP"])
    assert int(frame["kFLOP"][0]) > int(tables["accuracy-1"].frame["kFLOP"][0])
