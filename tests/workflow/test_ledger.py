"""Attacks on a registration, through the command line: each ends in *exploratory* or a refusal."""

import shutil
from collections.abc import Callable

import pytest
import yaml

from .conftest import Copy, commit
from .test_looks import STUDY, planted  # noqa: F401

LEDGER = f"claims/ledger/{STUDY}.jsonl"
CLAIMS = f"claims/{STUDY}.yaml"
CODE = "src/journeylab/studies/exp98_planted/compute.py"
TARGET = f"results/{STUDY}/verdicts.json"
OTHER = "registered its seeds, 0 to 35, with other"
BEFORE = "registered its seeds, 0 to 35, without it"


pytestmark = pytest.mark.system


@pytest.fixture
def project(planted, tmp_path):  # noqa: F811
    """A project with a study that was registered, run and judged."""
    return planted.duplicate(tmp_path / "project")


def rows(copy: Copy, change: Callable[[dict], object]) -> None:
    """Change the register: `change` gets its content."""

    def edited(text: str) -> str:
        content = yaml.safe_load(text)
        change(content)
        return yaml.safe_dump(content, sort_keys=False)

    copy.edit(CLAIMS, edited)


def first(**keys: object) -> Callable[[dict], object]:
    return lambda content: content["claims"][0].update(keys)


def other_margin(copy: Copy) -> None:
    rows(copy, first(region={"above": -1.0}))


def fewer_draws(copy: Copy) -> None:
    copy.configure(
        lambda config: config["studies"][STUDY]["arms"]["clear"].update(pattern="+" * 12)
    )


def other_code(copy: Copy) -> None:
    copy.edit(CODE, lambda text: text.replace("SIGNS[sign] * (1", "SIGNS[sign] * (2"))


def without_line(copy: Copy) -> None:
    def drop(text: str) -> str:
        return "".join(line for line in text.splitlines(True) if f'"{STUDY}.1"' not in line)

    copy.edit(LEDGER, drop)
    commit(copy.path)
    other_margin(copy)


def write_anew(copy: Copy) -> None:
    """The whole ledger is written anew, as if the rows as they are now were the first."""
    (copy.path / LEDGER).unlink()
    shutil.move(copy.path / ".git", copy.path / "git")
    copy.run("journeylab", "register", STUDY)
    shutil.move(copy.path / "git", copy.path / ".git")


def edited_lines(copy: Copy) -> None:
    other_margin(copy)
    write_anew(copy)


def back_dated(copy: Copy) -> None:
    edited_lines(copy)
    commit(copy.path, date="2001-01-01T00:00:00")


def renamed(copy: Copy) -> None:
    rows(copy, first(id=f"{STUDY}.9"))


def dropped(copy: Copy) -> None:
    rows(copy, lambda content: content["claims"].pop(1))


ATTACKS = {  # tests/claims/test_registration.py changes what else decides a row
    "fewer draws": (fewer_draws, f"{OTHER} settings"),
    "other code of a measure": (other_code, f"{OTHER} code"),
    "a line deleted": (without_line, f"{OTHER} region"),
    "lines edited": (edited_lines, f"{OTHER} region"),
    "lines back-dated": (back_dated, f"{OTHER} region"),
    "a row renamed": (renamed, BEFORE),
    "another row dropped": (dropped, f"{OTHER} alpha, looks or M"),
}


def start(copy: Copy) -> str:
    """What a start says before it computes anything."""
    said = copy.snakemake("-n", TARGET)
    return said.stdout + said.stderr


def test_a_registered_study_is_not_exploratory(planted):  # noqa: F811
    assert "will be exploratory" not in start(planted)


@pytest.mark.parametrize("name", ATTACKS)
def test_what_changes_after_the_seeds_were_registered_is_exploratory(name, project):
    attack, reason = ATTACKS[name]
    attack(project)
    shutil.rmtree(project.path / "results")
    commit(project.path)
    assert reason in start(project)


def explained(copy: Copy) -> str:
    return copy.run("journeylab", "explain", f"{STUDY}.1").stdout


def test_seeds_that_were_registered_cannot_be_judged_under_another_row_but_new_ones_can(project):
    """A claim is judged, its margin changed, registered again and committed, and all run again."""
    assert "registration: registered before these runs\n" in explained(project)
    project.run("journeylab", "register", "--check")
    other_margin(project)
    refused = project.run("journeylab", "register", STUDY, check=False)
    assert refused.returncode == 2
    assert f"{OTHER} region; a new revision judges it on new seeds" in refused.stderr
    write_anew(project)
    shutil.rmtree(project.path / "results")
    commit(project.path)
    project.snakemake(TARGET)
    assert "registration: exploratory: line " in (text := explained(project))
    assert f"{OTHER} region" in text
    checked = project.run("journeylab", "register", "--check", check=False)
    assert checked.returncode == 1
    assert f"{LEDGER}: a line of commit " in checked.stderr
    amendment = {"date": "2026-01-01", "rows": [f"{STUDY}.1"], "reason": "Another margin."}
    project.run("journeylab", "verify", "--record")
    shutil.copy(
        project.path / f"reference/{STUDY}.json", project.path / f"reference/{STUDY}-r1.json"
    )
    reused = {"revision": 2, "amendments": [amendment]}
    project.run("git", "checkout", "-q", "HEAD~", "--", "claims")
    rows(project, lambda content: content.update(reused))
    refused = project.run("journeylab", "register", STUDY, check=False)
    assert "seeds_from 0: revision 2 is judged on seeds from 100" in refused.stderr
    rows(project, lambda content: content.update(seeds_from=100))
    project.run("journeylab", "register", STUDY)
    assert "not committed" in start(project)
    commit(project.path)
    project.snakemake(TARGET)
    assert project.run("git", "status", "--porcelain").stdout == ""
    assert "registration: registered before these runs\n" in explained(project)


def test_a_look_at_other_numbers_of_judged_seeds_is_exploratory(project):
    project.configure(lambda config: config.update(seeds=8))
    project.snakemake(TARGET)
    assert "8 seeds at scale default are no registered look" in explained(project)


def test_evidence_of_another_register_is_exploratory(project, tmp_path):
    """A second project registers another margin, runs, and its evidence is copied."""
    other = project.duplicate(tmp_path / "other")
    shutil.rmtree(other.path / ".git")
    (other.path / LEDGER).unlink()
    other_margin(other)
    other.run("journeylab", "register", STUDY)
    commit(other.path)
    shutil.rmtree(other.path / "results")
    other.snakemake(TARGET)
    other.run("journeylab", "evidence", "add", STUDY)
    shutil.rmtree(project.path / "results")
    shutil.copytree(other.path / "evidence", project.path / "evidence")
    project.configure(lambda config: config.update(evidence="use"))
    project.snakemake(TARGET)
    assert "registration: exploratory: what decides its verdict changed" in explained(project)
