"""What the documents point at exists."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from journeylab.config import (
    ArmSettings,
    ComputedArm,
    Config,
    StudySettings,
    TrainedArm,
    TrainingSettings,
)

PROJECT = Path(__file__).parents[1]
PAGES = [
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")),
    *sorted((PROJECT / "docs").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_the_citation_names_the_packaged_version() -> None:
    packaged = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == packaged["project"]["version"]


def test_both_ways_to_check_a_change_run_the_same() -> None:
    own = (PROJECT / ".ci/run").read_text(encoding="utf-8").replace("\\\n", " ")
    public = yaml.safe_load((PROJECT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    steps = "\n".join(step.get("run", "") for step in public["jobs"]["ci"]["steps"])
    for text in (r"^make \S+$", r"^apt-get update.*$"):
        found = re.findall(text, own, re.MULTILINE)
        assert found
        assert found == re.findall(text, steps, re.MULTILINE)
    packages = [re.findall(r"apt-get install (.*)", text)[0].split() for text in (own, steps)]
    assert [one for one in packages[0] if one != ">/dev/null"] == packages[1]


def test_every_key_of_the_configuration_is_explained() -> None:
    page = (PROJECT / "config/README.md").read_text(encoding="utf-8")
    keys = {*Config.model_fields, *ArmSettings.model_fields, *TrainingSettings.model_fields}
    keys |= {*StudySettings.model_fields, *ComputedArm.model_fields, *TrainedArm.model_fields}
    assert sorted(key for key in keys if f"`{key}`" not in page and f"`{key}:" not in page) == []
