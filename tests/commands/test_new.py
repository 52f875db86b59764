"""`journeylab new` writes a complete study and changes no file of other studies."""

import errno
import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from journeylab.claims.register import read_register
from journeylab.claims.theorems import read_theorems
from journeylab.commands import new
from journeylab.commands.new import LONGEST, _all_or_nothing, scaffold
from journeylab.config import UserError, read_yaml

from ..workflow.conftest import PROJECT

NAME = "exp99_hidden_layer"
CLAIMS = "claims/exp99.yaml"
SHARED = {"config.yaml"}
ARMS = {"few", "many", "corners"}

CONFIG = """# What a researcher edits.
seeds: {default: 12} # reported seeds

studies:
  # A study.
  exp1:
    chunk: 4 # per job

# What follows.
engine: auto
"""


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture
def skeleton(tmp_path: Path) -> Path:
    """The parts of a project that scaffolding reads before it writes."""
    project = tmp_path / "project"
    (project / "src/journeylab/studies/exp1_first").mkdir(parents=True)
    (project / "config.yaml").write_text(CONFIG, encoding="utf-8")
    (project / "claims").mkdir()
    (project / "claims/exp1.yaml").write_text("claims: []\n", encoding="utf-8")
    return project


@pytest.mark.parametrize(
    "name",
    [
        *("exp99", "exp99_", "exp_name", "exp0_name", "exp09_name", "name", "", "exp99_Name"),
        *("exp99_a b", "exp99_a;rm", "../exp99_a", "exp99_a/b", "exp99_a-b", "exp99__a"),
        *("exp99_a\n", "exp99_" + "a" * LONGEST),
    ],
)
def test_an_invalid_name_gives_one_error_line_and_writes_nothing(skeleton: Path, name: str) -> None:
    before = contents(skeleton)
    with pytest.raises(UserError, match=r"e\.g\. exp14_name") as caught:
        scaffold(name, skeleton)
    assert "\n" not in str(caught.value)
    assert contents(skeleton) == before


@pytest.mark.parametrize("part", ["config.yaml", "claims"])
def test_a_missing_part_of_the_project_is_named_and_nothing_is_written(
    skeleton: Path, part: str
) -> None:
    (skeleton / part).rename(skeleton.parent / "elsewhere")
    before = contents(skeleton)
    with pytest.raises(UserError, match=part):
        scaffold(NAME, skeleton)
    assert contents(skeleton) == before


def test_a_folder_without_a_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="run in the project"):
        scaffold(NAME, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("taken", ["config.yaml", CLAIMS, "modules", "tests"])
def test_an_existing_study_is_not_changed(skeleton: Path, taken: str) -> None:
    if taken == "modules":
        (skeleton / "src/journeylab/studies/exp99_other").mkdir()
    elif taken == "tests":
        (skeleton / "tests/studies/exp99").mkdir(parents=True)
    else:
        (skeleton / taken).write_text("studies:\n  exp99: {}\n", encoding="utf-8")
    before = contents(skeleton)
    with pytest.raises(UserError, match="exists; choose another number"):
        scaffold(NAME, skeleton)
    assert contents(skeleton) == before


@pytest.mark.parametrize("text", ["studies: {exp1: {}}\n", "engine: auto\n", "studies: []\n"])
def test_a_config_without_a_studies_block_is_not_changed(skeleton: Path, text: str) -> None:
    (skeleton / "config.yaml").write_text(text, encoding="utf-8")
    before = contents(skeleton)
    with pytest.raises(UserError, match="indented block"):
        scaffold(NAME, skeleton)
    assert contents(skeleton) == before


def test_a_failed_scaffold_leaves_no_file(skeleton: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(skeleton)

    def fail(texts: Mapping[Path, str]) -> None:
        if skeleton / "config.yaml" in texts:
            assert (skeleton / "src/journeylab/studies" / NAME / "models.py").exists()
            # a kill at this moment leaves a study that no configuration names
            assert contents(skeleton).items() >= before.items()
            raise UserError("no space")
        write(texts)

    write = new._write
    monkeypatch.setattr(new, "_write", fail)
    with pytest.raises(UserError, match="no space"):
        scaffold(NAME, skeleton)
    assert contents(skeleton) == before


def test_an_error_of_the_system_without_a_file_names_the_project(skeleton: Path) -> None:
    with (
        pytest.raises(UserError, match=rf"^{skeleton}: cannot be written \(No space"),
        _all_or_nothing(skeleton),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_section_is_added_and_all_other_text_is_kept(skeleton: Path) -> None:
    scaffold(NAME, skeleton)
    after = (skeleton / "config.yaml").read_text(encoding="utf-8")
    start, end = after.index("  # Hidden layer."), after.index("\n# What follows.")
    assert after[:start].rstrip("\n") + "\n" + after[end:] == CONFIG
    assert list(yaml.safe_load(after)["studies"]) == ["exp1", "exp99"]


def test_the_claims_of_a_new_study_are_part_of_the_register(skeleton: Path) -> None:
    shutil.copy2(PROJECT / "claims/looks.yaml", skeleton / "claims")
    scaffold(NAME, skeleton)
    register = read_register(skeleton / "claims")
    assert list(register.studies) == ["exp1", "exp99"]
    claims = register.studies["exp99"].claims
    assert {claim.id for claim in claims if claim.primary} == {"exp99.1", "exp99.2"}
    assert {claim.kind for claim in claims if not claim.primary} == {"number", "exact"}
    assert list(read_yaml(skeleton / CLAIMS)) == ["revision", "measures", "claims"]


def test_the_theorem_of_the_example_is_listed_once(skeleton: Path) -> None:
    shutil.copy2(PROJECT / "claims/looks.yaml", skeleton / "claims")
    path = skeleton / "claims/theorems.yaml"
    path.write_text(
        "documents:\n  paper: {title: a paper, studies: [exp1]}\n\n"
        'theorems:\n  - {label: "thm:a", document: paper, name: A, says: Yes.}\n'
    )
    scaffold("exp98_first", skeleton)
    first = path.read_text()
    scaffold("exp99_second", skeleton)
    assert path.read_text() == first
    theorems = read_theorems(skeleton / "claims")
    assert set(theorems.by_label) == {"thm:a", "prop:example"}
    assert theorems.document(theorems.by_label["prop:example"]).studies == ("exp98",)
    assert set(read_register(skeleton / "claims").studies) == {"exp1", "exp98", "exp99"}


def test_a_second_study_does_not_change_the_first(skeleton: Path) -> None:
    scaffold(NAME, skeleton)
    before = contents(skeleton)
    written = scaffold("exp100_other", skeleton)
    after = contents(skeleton)
    changed = {name for name in before if after[name] != before[name]}
    assert changed == SHARED
    assert {str(path.relative_to(skeleton)) for path in written} == set(after) - set(
        before
    ) | SHARED


def test_a_new_study_has_two_trained_arms_and_a_computed_one(skeleton: Path) -> None:
    """With one trained arm, a figure that pools arms by mistake would look right."""
    scaffold(NAME, skeleton)
    arms = read_yaml(skeleton / "config.yaml")["studies"]["exp99"]["arms"]
    assert arms.keys() == ARMS
    assert [name for name, arm in arms.items() if "computed" in arm] == ["corners"]
