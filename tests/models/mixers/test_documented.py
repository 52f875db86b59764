"""The example of docs/models.md runs, and its tables list every mechanism."""

import re
from pathlib import Path

from journeylab.models.mixers.registry import MECHANISMS

PAGE = (Path(__file__).parents[3] / "docs/models.md").read_text("utf-8")
SECTION = PAGE.partition("## Sequence mixers")[2].partition("\n## ")[0]


def test_documented_example_runs():
    code = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)[0]  # test_names has the second
    shown: dict[str, object] = {}
    exec(code, shown)
    assert shown["mixed"].shape == (8, 50, 32)
    assert shown["logits"].shape == (8, 50, 60)


def test_tables_list_every_mechanism_once():
    first_cells = re.findall(r"^\| (`.*?) \|", SECTION, re.MULTILINE)
    listed = [name for cell in first_cells for name in re.findall(r"`(.*?)`", cell)]
    assert sorted(listed) == sorted(MECHANISMS), "docs/models.md: a row for each mechanism"
