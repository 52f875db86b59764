"""Documents agree with the project: links, versions, configuration keys, theorems."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from journeylab.claims.theorems import read_theorems
from journeylab.config import (
    ArmSettings,
    ComputedArm,
    Config,
    StudySettings,
    TrainedArm,
    TrainingSettings,
)

from .made import PROJECT

PAGES = [
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")),
    *sorted((PROJECT / "docs").glob("*.md")),
]
THEOREMS = read_theorems(PROJECT / "claims")


def labels_by_study() -> dict[str, set[str]]:
    """Study → theorem labels of its claims; a new study belongs to no document and is left out."""
    studies = {study for document in THEOREMS.documents.values() for study in document.studies}
    paths = {study: PROJECT / f"claims/{study}.yaml" for study in studies}
    return {
        study: {
            row["theorem"] for row in yaml.safe_load(path.read_text(encoding="utf-8"))["claims"]
        }
        for study, path in paths.items()
    }


def theorem_lists() -> Iterator[str]:
    """For each source document, a heading and a list of its theorems, as the glossary has them."""
    for key, document in THEOREMS.documents.items():
        title = document.title[0].upper() + document.title[1:]
        yield f"**{title}** ({', '.join(document.studies)})"
        yield "\n".join(
            f"- **{theorem.name}**, `{label}`: {theorem.says}"
            for label, theorem in THEOREMS.by_label.items()
            if theorem.document == key
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_relative_link_has_its_file_and_its_heading(page: Path) -> None:
    missing = []
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        path, _, part = link.partition("#")
        target = page.parent / path if path else page
        if "://" in link or (target.exists() and not part):
            continue
        text = target.read_text(encoding="utf-8") if target.exists() else ""
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in headings}
        if part not in anchors:
            missing.append(link)
    assert missing == []


def test_claims_and_theorems_yaml_name_the_same_theorems() -> None:
    assert set().union(*labels_by_study().values()) == set(THEOREMS.by_label)


def test_a_study_is_listed_in_the_documents_of_its_theorems() -> None:
    for study, labels in labels_by_study().items():
        documents = {THEOREMS.by_label[label].document for label in labels}
        assert all(study in THEOREMS.documents[document].studies for document in documents)


def test_theorem_lists_agree_with_theorems_yaml() -> None:
    text = (PROJECT / "docs/glossary.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- documents -->\n\n(.*?)\n\n<!-- end -->", text, re.DOTALL)
    expected = "\n\n".join(theorem_lists())
    assert block, "docs/glossary.md has no block between <!-- documents --> and <!-- end -->"
    assert block[1] == expected, f"write into docs/glossary.md:\n{expected}"


def test_citation_and_badge_have_the_package_version() -> None:
    packaged = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    version = packaged["project"]["version"]
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == version
    assert f"/badge/version-{version}-" in (PROJECT / "README.md").read_text(encoding="utf-8")


def test_the_public_ci_runs_the_same_script() -> None:
    public = yaml.safe_load((PROJECT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    commands = [step["run"] for step in public["jobs"]["ci"]["steps"] if "run" in step]
    assert commands[-1] == "bash .ci/run"
    assert not [command for command in commands[:-1] if "make" in command or "apt-get" in command]


def test_every_rule_names_the_conda_environment() -> None:
    entry = yaml.safe_load((PROJECT / ".snakemake-workflow-catalog.yml").read_text("utf-8"))
    assert entry["usage"]["software-stack-deployment"] == {"conda": True}
    for path in sorted((PROJECT / "workflow/rules").glob("*.smk")):
        for rule in re.split(r"^rule ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            assert '    conda:\n        "../envs/journeylab.yaml"' in rule, (path, rule[:20])
            assert "container:" not in rule
    environment = yaml.safe_load((PROJECT / "workflow/envs/journeylab.yaml").read_text("utf-8"))
    assert {"pip": ["--constraint ../../constraints.txt", "--editable ../..[pipeline]"]} in (
        environment["dependencies"]
    )


def test_every_configuration_key_is_documented() -> None:
    page = (PROJECT / "config/README.md").read_text(encoding="utf-8")
    keys = {*Config.model_fields, *ArmSettings.model_fields, *TrainingSettings.model_fields}
    keys |= {*StudySettings.model_fields, *ComputedArm.model_fields, *TrainedArm.model_fields}
    assert sorted(key for key in keys if f"`{key}`" not in page and f"`{key}:" not in page) == []
