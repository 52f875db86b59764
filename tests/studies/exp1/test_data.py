from collections import Counter

import numpy as np
import pytest

from journeylab.streams import data_streams
from journeylab.studies.exp1_group_languages.data import PADDING, draw_word, generate, lay_out
from journeylab.studies.exp1_group_languages.settings import LONGEST, SHORTEST, Data

from .results import draw_strings


def test_all_lengths_have_equally_many_strings():
    for (split, kind), rows in draw_strings().groupby(["split", "kind"]):
        sizes = Counter(rows["word"].str.len())
        step = 1 if kind == "uniform" else 2
        assert set(sizes) == set(range(SHORTEST, LONGEST + 1, step)), split
        assert max(sizes.values()) - min(sizes.values()) <= 1


def test_halved_strings_have_as_many_a_as_b():
    halved = draw_strings().query("kind == 'halved'")["word"]
    assert (halved.str.count("a") == halved.str.count("b")).all()
    assert halved.nunique() > 0.9 * len(halved)


def test_half_of_the_letters_of_uniform_strings_are_a():
    words = generate(Data(train=4100, validation=1), data_streams("exp1", "strings", 0))
    letters = "".join(words[words["kind"] == "uniform"]["word"])
    share = letters.count("a") / len(letters)
    assert abs(share - 0.5) < 4 * 0.5 / len(letters) ** 0.5


def test_columns_are_padded_after_the_last_letter():
    words = draw_strings()["word"].head(30)
    columns = lay_out(words)
    assert columns.shape == (LONGEST, 30)
    for word, column in zip(words, columns.T, strict=True):
        assert ["ab"[x] for x in column[: len(word)]] == list(word)
        assert (column[len(word) :] == PADDING).all()


def test_halved_strings_of_odd_length_are_refused():
    with pytest.raises(ValueError, match="11 letters"):
        draw_word("halved", 11, np.random.default_rng(0))
