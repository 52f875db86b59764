import numpy as np
import pytest

from journeylab.datasets.sequences import READ, UNLABELLED, WRITE
from journeylab.studies.exp13_published_mixers.shortcuts import floor
from journeylab.studies.exp13_published_mixers.tasks import KEYS, VALUES, draw_rows

ROWS = 20_000


def _second_half(length):
    return np.arange(1 + length) > length // 2


@pytest.mark.parametrize("length", [32, 128])
@pytest.mark.parametrize("task", ["parity", "arithmetic"])
def test_a_constant_answer_is_as_good_as_any(task, length):
    _, labels = draw_rows(task, ROWS, length, np.random.default_rng(0))
    half = labels[:, _second_half(length)]
    shares = np.bincount(half[half != UNLABELLED]) / (half != UNLABELLED).sum()
    assert shares.max() == pytest.approx(floor(task, length), abs=0.005)


@pytest.mark.parametrize("length", [32, 64, 128])
def test_the_bit_written_most_often_is_right_as_often_as_computed(length):
    tokens, labels = draw_rows("flip-flop", ROWS, length, np.random.default_rng(0))
    instructions, bits = tokens[:, 1::2] - 1, tokens[:, 2::2] - 1
    votes = np.where(instructions == WRITE, 2 * bits - 1, 0).cumsum(1)
    read = (instructions == READ) & _second_half(length)[1::2]
    stored = 2 * labels[:, 1::2] - 1
    right = np.where(votes == 0, 0.5, np.sign(votes) == stored)
    assert right[read].mean() == pytest.approx(floor("flip-flop", length), abs=0.01)


@pytest.mark.parametrize("length", [16, 64, 128, 256])
def test_the_most_frequent_value_is_right_as_often_as_computed(length):
    tokens, _ = draw_rows("associative", ROWS, length, np.random.default_rng(0))
    values = tokens - 2 - KEYS
    counts = np.stack([(values == value).sum(1) for value in range(VALUES)])
    pairs = min(length // 4, KEYS)
    assert counts.sum(0).tolist() == [pairs] * ROWS
    shares = counts.max(0) / pairs
    assert shares.mean() == pytest.approx(floor("associative", length), abs=0.003)


def test_a_word_problem_has_its_floor_elsewhere():
    with pytest.raises(ValueError, match=r"ceilings\.py"):
        floor("S3", 32)
