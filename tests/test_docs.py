"""What the documents point at exists."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parents[1]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_the_citation_names_the_packaged_version() -> None:
    packaged = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == packaged["project"]["version"]
