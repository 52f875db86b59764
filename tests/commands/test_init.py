"""`journeylab init` writes a whole project or nothing, whose studies journeylab finds."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from journeylab.commands.demo import show_verdicts
from journeylab.commands.init import COMMAND, STUDY, create_project
from journeylab.config import UserError

from ..made import contents, git, ran

KEYS = """
import json
from journeylab.workflow.planning import WorkflowPlan
from journeylab.config import read_yaml
from pathlib import Path
plans = dict(WorkflowPlan(read_yaml(Path("config.yaml"))).plans())
print(json.dumps({name: plan.key for name, plan in plans.items()}))
"""
CHANGED = """
from pathlib import Path
from journeylab.claims.register import read_register
from journeylab.workflow.round import ReviewedVersion
version = ReviewedVersion(Path(), "v1", read_register(Path("claims")))
print(version.studies(["exp1"])["exp1"].code)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("init") / "My Paper"
    create_project(folder)
    return folder


def python(
    project: Path, *arguments: str, code: int | None = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    return ran(sys.executable, "-c", *arguments, folder=project, code=code, **variables)


@contextmanager
def edited(path: Path, change: Callable[[str], str]) -> Iterator[None]:
    """A project in which a file has another text for a while."""
    text = path.read_text(encoding="utf-8")
    path.write_text(change(text), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")


def keys(project: Path) -> dict[str, str]:
    planned: dict[str, str] = json.loads(python(project, KEYS).stdout)
    return planned


def test_a_project_has_its_own_studies_only(project: Path) -> None:
    listed = python(project, COMMAND, "list").stdout.splitlines()
    assert [line for line in listed if line.startswith("exp")] == ["exp1  Hidden layer"]


def test_a_project_has_few_files_and_is_set_up_from_the_wheel(project: Path) -> None:
    """No index of packages has it."""
    assert len(contents(project)) <= 20
    assert re.search(r"FOLDER/journeylab-\d", (project / "README.md").read_text(encoding="utf-8"))


def test_an_edited_study_of_a_project_moves_the_keys_that_read_it(project: Path) -> None:
    before = keys(project)
    models = project / "studies" / STUDY / "models.py"
    with edited(models, lambda text: f"{text}\n_CHANGED = 1\n"):
        after = keys(project)
    moved = {name for name in before if before[name] != after[name]}
    runs = {name for name in before if name.endswith(("train.json", "measure.json"))}
    later = {f"exp1/{stage}.json" for stage in ("collect", "judge", "draw", "typeset")}
    later |= {f"exp1/looks/{seeds}.json" for seeds in range(12, 36, 4)}
    assert len(runs) == 7 * 6 + 2
    assert moved == runs | later | {"respond.json", "index.json"}


def test_a_round_names_the_edited_modules_of_a_projects_own_study(project: Path) -> None:
    measure = project / "studies" / STUDY / "measure.py"
    for step in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "a"), ("tag", "v1")):
        git(project, *step)
    with edited(measure, lambda text: f"{text}\n_CHANGED = 1\n"):
        done = python(project, CHANGED)
    assert (done.stdout, done.stderr) == (f"('studies.{STUDY}.measure',)\n", "")


def test_new_adds_a_study_to_the_project(project: Path) -> None:
    python(project, COMMAND, "new", "exp2_second")
    models = (project / "studies/exp2_second/models.py").read_text(encoding="utf-8")
    assert "from studies.exp2_second.settings import" in models
    assert "exp2/many/hidden/seeds-00-11/train.json" in keys(project)


def test_a_folder_with_files_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="exists and is not empty"):
        create_project(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_project_can_be_written_into_the_empty_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "paper").mkdir()
    monkeypatch.chdir(tmp_path / "paper")
    create_project(Path())
    names = {path.name for path in Path().iterdir()}
    assert {"Snakefile", "config.yaml", "studies", ".gitignore"} <= names
    assert not [name for name in names if name.startswith(".init-")]
    assert 'name = "paper"' in Path("pyproject.toml").read_text(encoding="utf-8")


def test_a_failed_demo_shows_why(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (
        edited(project / "claims/exp1.yaml", lambda text: text.replace("theorem:", "theorm:")),
        pytest.raises(UserError, match="its last lines are above"),
    ):
        show_verdicts(project)
    assert "did you mean 'theorem'?" in capsys.readouterr().err


def test_a_project_that_cannot_be_completed_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(project: Path, name: str) -> None:
        raise UserError("no template")

    monkeypatch.setattr("journeylab.commands.init._texts", fail)
    with pytest.raises(UserError, match="no template"):
        create_project(tmp_path / "paper")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.system
@pytest.mark.parametrize("known", [True, False], ids=["a known author", "no author"])
def test_the_first_commit_is_made_or_explained(tmp_path: Path, known: bool) -> None:
    nobody = {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    for role in ("AUTHOR", "COMMITTER"):
        nobody |= {f"GIT_{role}_NAME": "A" if known else "", f"GIT_{role}_EMAIL": "a@b.c"}
    done = python(tmp_path, COMMAND, "init", "paper", **nobody)
    assert ("set user.name" in done.stdout) is not known
    assert ("registers the claims" in done.stdout) is known
