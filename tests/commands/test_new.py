"""`journeylab new` writes a complete study and changes no file of other studies."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from journeylab.claims.register import read_register
from journeylab.claims.theorems import read_theorems
from journeylab.commands.new import LONGEST, scaffold
from journeylab.config import UserError, read_yaml

from ..made import contents

NAME = "exp99_hidden_layer"
CLAIMS = "claims/exp99.yaml"
SHARED = {"config.yaml"}
ARMS = {"few": False, "many": False, "corners": True}
"""The arms of a new study, and which of them are computed."""
Prepare = Callable[[Path], object]

CONFIG = """# What a researcher edits.
seeds: {default: 12} # reported seeds

studies:
  # A study.
  exp1:
    chunk: 4 # per job

# What follows.
engine: auto
"""


@pytest.fixture
def skeleton(tmp_path: Path) -> Path:
    """The parts of a project that scaffolding reads before it writes."""
    project = tmp_path / "project"
    (project / "src/journeylab/studies/exp1_first").mkdir(parents=True)
    (project / "config.yaml").write_text(CONFIG, encoding="utf-8")
    (project / "claims").mkdir()
    (project / "claims/exp1.yaml").write_text("claims: []\n", encoding="utf-8")
    return project


def written(file: str, text: str) -> Prepare:
    return lambda project: (project / file).write_text(text, encoding="utf-8")


def made(folder: str) -> Prepare:
    return lambda project: (project / folder).mkdir(parents=True)


def lost(part: str) -> Prepare:
    return lambda project: (project / part).rename(project.parent / "elsewhere")


INVALID = (
    *("exp99", "exp99_", "exp_name", "exp0_name", "exp09_name", "name", "", "exp99_Name"),
    *("exp99_a b", "exp99_a;rm", "../exp99_a", "exp99_a/b", "exp99_a-b", "exp99__a"),
    *("exp99_a\n", "exp99_" + "a" * LONGEST),
)
TAKEN = "exists; choose another number"
REFUSED: list[tuple[Prepare, str, str]] = [
    *((lambda _: None, name, r"e\.g\. exp14_name") for name in INVALID),
    *((lost(part), NAME, part) for part in ("config.yaml", "claims")),
    (made("src/journeylab/studies/exp99_other"), NAME, TAKEN),
    (made("tests/studies/exp99"), NAME, TAKEN),
    *((written(at, "studies:\n  exp99: {}\n"), NAME, TAKEN) for at in ("config.yaml", CLAIMS)),
    (written("config.yaml", "studies: {exp1: {}}\n"), NAME, "indented block"),
    (written("config.yaml", "engine: auto\n"), NAME, "indented block"),
    (written("config.yaml", "studies: []\n"), NAME, "indented block"),
    (lambda project: shutil.rmtree(project), NAME, "run in the project"),
]


@pytest.mark.parametrize(("prepare", "name", "message"), REFUSED)
def test_what_is_refused_gives_one_error_line_and_writes_nothing(
    skeleton: Path, prepare: Prepare, name: str, message: str
) -> None:
    prepare(skeleton)
    before = contents(skeleton)
    with pytest.raises(UserError, match=message):
        scaffold(name, skeleton)
    assert contents(skeleton) == before


def test_a_section_is_added_and_all_other_text_is_kept(skeleton: Path) -> None:
    scaffold(NAME, skeleton)
    after = (skeleton / "config.yaml").read_text(encoding="utf-8")
    start, end = after.index("  # Hidden layer."), after.index("\n# What follows.")
    assert after[:start].rstrip("\n") + "\n" + after[end:] == CONFIG
    studies = yaml.safe_load(after)["studies"]
    assert list(studies) == ["exp1", "exp99"]
    # with one trained arm, a figure that pools arms by mistake would look right
    arms = studies["exp99"]["arms"]
    assert {name: "computed" in arm for name, arm in arms.items()} == ARMS


def test_the_claims_of_a_new_study_are_part_of_the_register(skeleton: Path) -> None:
    (skeleton / "claims/looks.yaml").write_text("alpha: 0.05\n", encoding="utf-8")
    scaffold(NAME, skeleton)
    register = read_register(skeleton / "claims")
    assert list(register.studies) == ["exp1", "exp99"]
    claims = register.studies["exp99"].claims
    assert {claim.id for claim in claims if claim.primary} == {"exp99.1", "exp99.2"}
    assert {claim.kind for claim in claims if not claim.primary} == {"number", "exact"}
    assert list(read_yaml(skeleton / CLAIMS)) == ["revision", "measures", "claims"]


def test_the_theorem_of_the_example_is_listed_once(skeleton: Path) -> None:
    (skeleton / "claims/looks.yaml").write_text("alpha: 0.05\n", encoding="utf-8")
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
    document = theorems.by_label["prop:example"].document
    assert theorems.documents[document].studies == ("exp98",)
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
