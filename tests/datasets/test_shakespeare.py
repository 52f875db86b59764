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
    REPLACEMENT,
    Passages,
    bigram_entropy,
    split,
    unigram_entropy,
)

TEXT = "abcdefghij" * 40
GUIDE = Path(__file__).parents[2] / "docs" / "glossary.md"


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


def test_passages_make_up_the_text_and_every_seed_holds_out_its_share(file: Path) -> None:
    first, other = table(file), table(file, seed=1)
    assert "".join(first["text"]) == TEXT
    assert (first["part"] == "held-out").mean() == 0.25
    assert first["part"].tolist() != other["part"].tolist()
    assert first.equals(table(file))


def test_targets_follow_their_inputs_within_the_same_passage() -> None:
    passages = Passages(torch.arange(40).view(2, 20), TEXT)
    drawn = passages.draw(400, 7, Generator().manual_seed(0))
    assert torch.equal(drawn.inputs[:, 1:], drawn.targets[:, :-1])
    rows = {tuple(row) for row in torch.cat((drawn.inputs, drawn.targets[:, -1:]), 1).tolist()}
    starts = (*range(13), *range(20, 33))
    assert rows == {tuple(range(start, start + 8)) for start in starts}  # every window is drawn


@pytest.mark.parametrize(("length", "fitting"), [(6, 18), (9, 18), (10, 10), (19, 19)])
def test_held_out_passages_are_read_once_from_their_beginning(
    file: Path, length: int, fitting: int
) -> None:
    passages = Passages.of(table(file), "held-out")
    windows = passages.read(length)
    assert windows.inputs.shape == (5 * fitting // length, length)
    assert torch.equal(windows.inputs.view(5, fitting), passages.characters[:, :fitting])
    assert torch.equal(windows.targets.view(5, fitting), passages.characters[:, 1 : fitting + 1])


def test_bigrams_predict_a_text_in_which_every_letter_has_one_successor(file: Path) -> None:
    dataset = table(file)
    seen, held_out = (Passages.of(dataset, part) for part in ("train", "held-out"))
    first, others = 1 / 19, 2 / 19  # a passage is the letters twice, and nothing predicts its first
    expected = -first * math.log(first) - 9 * others * math.log(others)
    assert unigram_entropy(seen, held_out) == pytest.approx(expected, abs=0.01)
    ones = seen.characters.numel() / 10  # per letter; 1 is added to each of ten successors
    assert bigram_entropy(seen, held_out) == pytest.approx(math.log((ones + 10) / ones), rel=0.1)


def test_a_text_too_short_for_two_parts_is_refused(file: Path) -> None:
    with pytest.raises(UserError, match="404 characters are 1 passages of 300, 0 of them held out"):
        split(settings(passage=300), file, Generator())
    file.write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="0 characters are 0 passages of 20"):
        split(settings(), file, Generator())


def test_characters_outside_printable_ascii_share_one_replacement(file: Path) -> None:
    file.write_bytes("“naïve”\r\n\tκ → λ 😀~ ".encode() * 20)
    text = "".join(table(file)["text"])
    assert text.startswith(f"{REPLACEMENT}na{REPLACEMENT}ve{REPLACEMENT}\n")
    assert set(text) == {*"nave ~\n", REPLACEMENT}
    passages = Passages.of(table(file), "train")
    assert passages.characters.max() < len(passages.alphabet) == 8


def test_printable_ascii_is_left_as_it_is(file: Path) -> None:
    printable = "".join(map(chr, range(32, 127))) + "\n"
    file.write_text(printable * 20, encoding="utf-8")
    assert "".join(table(file)["text"]) == printable * 20


def test_a_file_that_is_not_utf_8_is_refused(file: Path) -> None:
    file.write_bytes(b"to be \xff or not")
    with pytest.raises(UserError, match=r"text: is not UTF-8 text \(byte 6\)"):
        table(file)


def test_the_guide_of_the_quick_scale_is_long_enough() -> None:
    parts = split(settings(passage=256, held_out=0.1), GUIDE, Generator())["part"]
    assert (parts == "held-out").sum() >= 3
    assert (parts == "train").sum() >= 30
