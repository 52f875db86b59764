"""Passages and windows of a text, and what can be said of it without order."""

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


def test_passages_are_the_text_and_a_seed_holds_its_own_share_out(file: Path) -> None:
    one, other = table(file), table(file, seed=1)
    assert "".join(one["text"]) == TEXT
    assert (one["part"] == "held-out").mean() == 0.25
    assert one["part"].tolist() != other["part"].tolist()
    assert one.equals(table(file))


def test_a_window_is_followed_by_its_targets_and_stays_in_its_passage(file: Path) -> None:
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
    assert rows == inside  # all of them, with so many draws


def test_what_is_held_out_is_read_once_from_its_beginning(file: Path) -> None:
    passages = Passages.of(table(file), "held-out")
    windows = passages.read(6)
    assert windows.inputs.shape == (5 * 3, 6)
    assert torch.equal(windows.inputs.view(5, 18), passages.characters[:, :18])
    assert torch.equal(windows.targets.view(5, 18), passages.characters[:, 1:19])


def test_a_bigram_knows_a_text_in_which_every_letter_has_one_successor(file: Path) -> None:
    dataset = table(file)
    seen, held_out = (Passages.of(dataset, part) for part in ("train", "held-out"))
    first, others = 1 / 19, 2 / 19  # a passage is the letters twice, and nothing predicts its first
    expected = -first * math.log(first) - 9 * others * math.log(others)
    assert unigram_entropy(seen, held_out) == pytest.approx(expected, abs=0.01)
    ones = seen.characters.numel() / 10  # of each letter; one is added to each of ten successors
    assert bigram_entropy(seen, held_out) == pytest.approx(math.log((ones + 10) / ones), rel=0.1)


def test_a_text_too_short_for_two_parts_is_told(file: Path) -> None:
    with pytest.raises(UserError, match="1 passages of 300 characters, 0 of them held out"):
        split(settings(passage=300), file, Generator())
