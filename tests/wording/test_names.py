"""The printed text of a study is read from one file, and mistakes are one line."""

import re
from pathlib import Path

import pytest
import yaml

from journeylab.config import Metric, UserError
from journeylab.wording.names import read_names

WRITTEN = {
    "title": "A title",
    "question": "Why?",
    "tuning": "none",
    "factors": {"n": ["1..3", 8], "case": ["one", "two"]},
    "metrics": {
        "loss": "loss in nats",
        "hits@1": {"label": "hits", "factors": {"n": None, "case": "other"}},
    },
}


def write(folder: Path, **changed: object) -> Path:
    (folder / "names.yaml").write_text(yaml.safe_dump(WRITTEN | changed), encoding="utf-8")
    return folder


def test_a_factor_without_levels_has_those_of_the_study(tmp_path: Path) -> None:
    names = read_names(write(tmp_path))
    assert names.metrics["loss"] == Metric(label="loss in nats")
    assert names.metrics["hits@1"].factors == {"n": (1, 2, 3, 8), "case": ("other",)}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"question": ""}, "question: '': "),
        ({"question": "It is so."}, "question: 'It is so.': write one sentence that ends in ?"),
        ({"metrics": None}, "metrics: None: "),
        (
            {"metrics": {"loss": {"label": "loss", "factor": {}}}},
            "metrics.loss.factor: unknown key",
        ),
        (
            {"metrics": {"loss": {"label": "loss", "factors": {"m": None}}}},
            "metrics: loss: factors: m: write its levels, here or in factors",
        ),
        ({"factors": {"n": [0.5]}}, "factors.n.0.str: 0.5: "),
        ({"lables": {}}, "lables: unknown key; did you mean"),
    ],
)
def test_a_mistake_is_one_line_with_file_key_and_value(
    changed: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=f"^{tmp_path / 'names.yaml'}: {re.escape(message)}"):
        read_names(write(tmp_path, **changed))


def test_names_of_an_older_study_are_pointed_to_their_place(tmp_path: Path) -> None:
    (tmp_path / "metrics.py").touch()
    with pytest.raises(UserError, match=r"metrics\.py: printed text is in names\.yaml now: write"):
        read_names(tmp_path)
