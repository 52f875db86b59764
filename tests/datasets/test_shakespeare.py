"""Passages and windows of a text, and its unigram and bigram entropies."""

import math
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import Generator

from journeylab.config import UserError
from journeylab.datasets.settings import Shakespeare
from journeylab.datasets.shakespeare import (
    Passages,
    bigram_entropy,
    split,
    unigram_entropy,
)

TEXT = "abcdefghij" * 40


def settings(passage: int = 20, held_out: float = 0.25) -> Shakespeare:
    return Shakespeare(
        file={"sha256": "0" * 64},  # type: ignore[arg-type]
        passage=passage,
        held_out=held_out,
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text(TEXT + "rest", encoding="utf-8")
    return path


def table(file: Path, seed: int = 0) -> pd.DataFrame:
    return split(settings(), file, Generator().manual_seed(seed))


def test_passages_join_to_the_text_and_each_seed_holds_out_its_own(file: Path) -> None:
    first, second = table(file), table(file, seed=1)
    assert "".join(first["text"]) == TEXT
    assert (first["part"] == "held-out").mean() == 0.25
    assert first["part"].tolist() != second["part"].tolist()
    assert first.equals(table(file))


def test_targets_follow_their_window_within_a_passage(file: Path) -> None:
    passages = Passages.of(table(file), "train")
    drawn = passages.draw(200, 7, Generator().manual_seed(0))
    assert torch.equal(drawn.inputs[:, 1:], drawn.targets[:, :-1])
    known = {"".join(text) for text in (passages.alphabet[i] for i in passages.characters[0])}
    assert known <= set(TEXT)
    rows = {tuple(row) for row in torch.cat((drawn.inputs, drawn.targets[:, -1:]), 1).tolist()}
    starts = range(passages.characters.shape[1] - 7)
    inside = {
        tuple(row[start : start + 8]) for row in passages.characters.tolist() for start in starts
    }
    assert rows == inside  # with 200 draws, every window occurs


def test_held_out_passages_are_read_once_from_their_beginning(file: Path) -> None:
    passages = Passages.of(table(file), "held-out")
    windows = passages.read(6)
    assert windows.inputs.shape == (5 * 3, 6)
    assert torch.equal(windows.inputs.view(5, 18), passages.characters[:, :18])
    assert torch.equal(windows.targets.view(5, 18), passages.characters[:, 1:19])


def test_bigram_entropy_is_near_zero_if_every_letter_has_one_successor(file: Path) -> None:
    dataset = table(file)
    seen, held_out = (Passages.of(dataset, part) for part in ("train", "held-out"))
    first, others = (
        1 / 19,
        2 / 19,
    )  # a passage is the alphabet twice; its first letter is no target
    expected = -first * math.log(first) - 9 * others * math.log(others)
    assert unigram_entropy(seen, held_out) == pytest.approx(expected, abs=0.01)
    ones = seen.characters.numel() / 10  # of each letter; smoothing adds 1 to each successor
    assert bigram_entropy(seen, held_out) == pytest.approx(math.log((ones + 10) / ones), rel=0.1)


def test_text_too_short_for_two_parts_is_an_error(file: Path) -> None:
    with pytest.raises(UserError, match="1 passages of 300 characters, 0 of them held out"):
        split(settings(passage=300), file, Generator())
