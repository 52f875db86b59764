"""Tiny Shakespeare, if there is a copy: its hash, and the split of every seed."""

from pathlib import Path

import pytest
import yaml

from journeylab.datasets.shakespeare import Passages, bigram_entropy, unigram_entropy
from journeylab.records.files import sha256
from journeylab.streams import data_streams
from journeylab.studies.exp4_operator_recovery.data import generate
from journeylab.studies.exp4_operator_recovery.settings import Data

CORPUS = Path(__file__).parents[4] / "shared" / "data" / "tinyshakespeare.txt"
CONFIG = yaml.safe_load((Path(__file__).parents[3] / "config.yaml").read_text(encoding="utf-8"))
WRITTEN = CONFIG["studies"]["exp4"]["datasets"]["corpus"]


@pytest.mark.skipif(not CORPUS.exists(), reason="no copy of Tiny Shakespeare")
def test_the_copy_of_tiny_shakespeare_is_the_configured_file():
    assert sha256(CORPUS) == WRITTEN["file"]["sha256"]
    assert CORPUS.stat().st_size == WRITTEN["file"]["bytes"]
    data = Data.model_validate(WRITTEN)
    tables = [generate(data, data_streams("exp4", "corpus", seed), CORPUS) for seed in (1000, 1001)]
    parts = [table["part"].tolist() for table in tables]
    assert parts[0] != parts[1]
    assert [part.count("held-out") for part in parts] == [round(0.1 * len(tables[0]))] * 2
    seen, held_out = (Passages.of(tables[0], part) for part in ("train", "held-out"))
    assert len(seen.alphabet) == 65
    assert 3.2 < unigram_entropy(seen, held_out) < 3.4  # nats: letters of English
    assert 2.4 < bigram_entropy(seen, held_out) < 2.6


def test_the_location_of_the_file_is_no_part_of_the_dataset():
    elsewhere = WRITTEN | {"file": WRITTEN["file"] | {"path": "a/copy.txt", "url": None}}
    assert Data.model_validate(elsewhere).model_dump() == Data.model_validate(WRITTEN).model_dump()
