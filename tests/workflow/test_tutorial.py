"""Runs every command of docs/tutorial.md and checks that the new study touches no other study."""

import re
import subprocess
from pathlib import Path

import pytest

from journeylab.records.files import read_json

from .conftest import PROJECT, Copy, commit, copy_project

PAGE = PROJECT / "docs/tutorial.md"
STUDY = "exp99_tutorial"
ELSEWHERE = {"make paper": "journeylab paper"}
"""Commands that need LaTeX → their part without LaTeX; tests/system runs LaTeX."""
SHARED = {"config.yaml", "claims/theorems.yaml"}
OWN = ("claims/exp99.yaml", "claims/ledger/exp99.jsonl", "evidence/search/exp99.json")
EDITED = {"paper/paper.tex"}


def steps() -> list[tuple[str, str, str]]:
    """(section, language, text) of every block of code, in the order of the page."""
    blocks, section = [], ""
    pattern = re.compile(r"^## ([^\n]+)$|^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for heading, language, text in pattern.findall(PAGE.read_text(encoding="utf-8")):
        section = heading or section
        if language:
            blocks.append((section, language, text))
    return blocks


@pytest.fixture
def checkout(tmp_path: Path) -> Copy:
    """A fresh clone with two studies at the default scale."""
    copy = copy_project(tmp_path / "project")
    copy.configure(lambda config: config.update(scale="default"))
    for name in ("pyproject.toml", "paper/paper.tex"):
        (copy.path / name).parent.mkdir(exist_ok=True)
        (copy.path / name).write_bytes((PROJECT / name).read_bytes())
    commit(copy.path, "begin")
    copy.run("git", "config", "user.name", "n")
    copy.run("git", "config", "user.email", "e")
    return copy


def follow(copy: Copy, language: str, text: str) -> str:
    """Apply a diff or run the commands of a block; return their output."""
    if language == "diff":
        copy.run("git", "apply", "-", input=text)
        return ""
    script = "\n".join(ELSEWHERE.get(line, line) for line in text.splitlines())
    return copy.run("bash", "-ec", script, stderr=subprocess.STDOUT).stdout


@pytest.mark.system
def test_the_commands_of_the_tutorial_give_its_results(checkout: Copy) -> None:
    outputs: dict[str, list[str]] = {}
    for section, language, text in steps():
        outputs.setdefault(section, []).append(follow(checkout, language, text))
    trained = re.findall(r"^  train (\w+) +(\d+) of", outputs["A claim"][-1], re.MULTILINE)
    assert trained == [("some", "2")]
    made = outputs["A sentence with a number"][-1]
    assert "train exp99 some/" in made
    assert "train exp99 few/" not in made
    searched = outputs["A rate, searched"][0]
    assert "exp99: its search is recorded" in searched
    assert "of 4 runs have not what its search chose, as few/linear: training." in searched
    assert "registered before" in outputs["The verdict"][0]
    verdicts = read_json(checkout.path / "results/exp99/verdicts.json")["verdicts"]
    judged = {row["id"]: row["verdict"] for row in verdicts if row["primary"]}
    assert set(judged) == {"exp99.1", "exp99.2", "exp99.3"}
    assert None not in judged.values()
    for name in ("exp99/tables/accuracy.tex", "exp99/figures/surprise.pdf", "sources.tex"):
        assert (checkout.path / "build/paper" / name).exists()
    table = (checkout.path / "build/paper/exp99/tables/search.tex").read_text(encoding="ascii")
    assert table.count("0.03:") == 4
    check_the_new_study_is_independent(checkout)


def check_the_new_study_is_independent(copy: Copy) -> None:
    """Its checks pass, it edits no file of another study, and its edits rerun no other study."""
    folders = (f"src/journeylab/studies/{STUDY}/", "tests/studies/exp99/")
    changed = set(copy.run("git", "diff", "--name-only", "HEAD~1").stdout.split())
    own = {name for name in changed if name.startswith((*folders, *OWN))}
    assert changed - own == SHARED | EDITED
    copy.run("ruff", "check", *folders)
    copy.run("ruff", "format", "--check", *folders)
    copy.run("lint-imports")
    assert not (copy.path / "results/exp7").exists()
    assert copy.planned("reports/exp99.pdf") == set()
    copy.edit(f"src/journeylab/studies/{STUDY}/models.py", lambda text: text + "\n_CHANGED = 1\n")
    jobs = copy.planned("reports/exp99.pdf")
    assert "train" in {job[0] for job in jobs}
    assert {job[1] for job in jobs if len(job) > 1} == {"exp99"}
