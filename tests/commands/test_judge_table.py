"""The page on any table, typed as it stands; and the measurements of the pipeline."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/judge-a-table.md"


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = command.replace("python ", f"{sys.executable} ")  # tests start modules from a server
    return subprocess.run(
        ["bash", "-euc", command], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_page_is_right_as_it_is_typed(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    first, following, added, _ = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    before = run(first, tmp_path)
    assert before.returncode == 0, before.stderr
    said = dict(line.split(": ")[:2] for line in before.stdout.splitlines() if "digits." in line)
    assert said == {
        "digits.1": "Supported",
        "digits.2": "Refuted",
        "digits.3": "Undecided by these data",
    }
    folder = tmp_path / "examples/digits"
    asked = run(following, folder)
    assert asked.returncode == 0, asked.stderr
    assert "svm: 12,13,14,15" in asked.stdout
    after = run(added, folder)
    assert after.returncode == 0, after.stderr
    assert "digits.3: Supported" in after.stdout
    assert run("journeylab next claims.yaml digits.csv", folder).returncode == 0
    written = {path.name for path in (folder / "judged").iterdir()}
    assert written == {"verdicts.json", "figure.pdf", "figure.svg", "numbers.tex", "page.pdf"}
    printed = run("journeylab judge --json claims.yaml - < digits.csv", folder)
    assert json.loads(printed.stdout) == json.loads((folder / "judged/verdicts.json").read_text())


def test_a_refused_table_writes_nothing(tmp_path):
    shutil.copy(ROOT / "examples/digits/claims.yaml", tmp_path)
    (tmp_path / "digits.csv").write_text("model,seed,accuracy\nsvm,0,high\n")
    done = run("journeylab judge claims.yaml digits.csv", tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "error: digits.csv: row 2: accuracy: 'high': write a number, or nothing for a run that "
        "failed\n"
    )
    assert not (tmp_path / "judged").exists()
