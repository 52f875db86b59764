"""The page on any table, typed as it stands, and what a ledger says of its claims."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..made import PROJECT, ran

pytestmark = pytest.mark.system

PAGE = PROJECT / "docs/judge-a-table.md"


def typed(command: str, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = command.replace("python ", f"{sys.executable} ")  # tests start modules from a server
    return ran("bash", "-euc", command, folder=folder, code=code)


def write_digits(folder: Path, accuracy: str) -> None:
    """The claims on digits, and a table with this accuracy at each seed."""
    shutil.copy(PROJECT / "examples/digits/claims.yaml", folder)
    names = ("svm", "neighbours")
    values = [f"{name},{seed},{accuracy.format(seed)}" for name in names for seed in range(12)]
    (folder / "digits.csv").write_text("\n".join(["model,seed,accuracy", *values, ""]))


def test_the_page_is_right_as_it_is_typed(tmp_path):
    shutil.copytree(PROJECT / "examples", tmp_path / "examples")
    first, following, added, _ = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    before = typed(first, tmp_path)
    said = dict(
        line.split(": ")[:2] for line in before.stdout.splitlines() if line.startswith("digits.")
    )
    assert said == {
        "digits.1": "Supported",
        "digits.2": "Refuted",
        "digits.3": "Undecided by these data",
    }
    folder = tmp_path / "examples/digits"
    asked = typed(following, folder)
    assert "svm: 12,13,14,15" in asked.stdout
    after = typed(added, folder)
    assert "digits.3: Supported" in after.stdout
    typed("journeylab next claims.yaml digits.csv", folder)
    written = {path.name for path in (folder / "judged").iterdir()}
    assert written == {"verdicts.json", "figure.pdf", "figure.svg", "numbers.tex", "page.pdf"}
    printed = typed("journeylab judge --json claims.yaml - < digits.csv", folder)
    assert json.loads(printed.stdout) == json.loads((folder / "judged/verdicts.json").read_text())


def test_a_refused_table_writes_nothing(tmp_path):
    shutil.copy(PROJECT / "examples/digits/claims.yaml", tmp_path)
    (tmp_path / "digits.csv").write_text("model,seed,accuracy\nsvm,0,high\n")
    done = typed("journeylab judge claims.yaml digits.csv", tmp_path, code=2)
    assert done.stderr == (
        "error: digits.csv: row 2: accuracy: 'high': write a number, or nothing for a run that "
        "failed\n"
    )
    assert not (tmp_path / "judged").exists()


def test_claims_are_registered_if_they_were_committed_before_the_table(tmp_path):
    write_digits(tmp_path, "0.9{:02}")

    def commit(names: str) -> None:
        typed(f"git init -q && git add {names} && git commit -q -m {names[:3]}", tmp_path)

    def said() -> str:
        done = typed("journeylab judge claims.yaml digits.csv", tmp_path)
        return done.stdout.splitlines()[-1]

    assert "has no line for it; `journeylab register claims.yaml` writes it" in said()
    done = typed("journeylab register claims.yaml", tmp_path)
    assert done.stdout == "claims.yaml: wrote 3 row; commit ledger/digits.jsonl before runs begin\n"
    assert "its line in ledger/digits.jsonl is not committed" in said()
    commit("claims.yaml ledger")
    assert "digits.csv is in no commit" in said()
    commit("digits.csv")
    assert said() == "All claims were registered before the table."
    judged = [
        json.loads(line) for line in (tmp_path / "ledger/digits.jsonl").read_text().splitlines()
    ]
    assert [line["kind"] for line in judged] == ["row"] * 3 + ["judged"] * 3
    claims = tmp_path / "claims.yaml"
    claims.write_text(claims.read_text().replace("above: 0.01}", "above: 0.0}"))
    assert said().startswith("digits.1 is not shown to be registered before the runs")
    typed("journeylab register claims.yaml", tmp_path, code=2)


def test_claims_that_were_committed_after_the_table_are_not_registered(tmp_path):
    write_digits(tmp_path, "0.9")
    script = (
        "git init -q; git add digits.csv; git commit -qm table; journeylab register claims.yaml;"
        "git add .; git commit -qm claims; journeylab judge claims.yaml digits.csv"
    )
    done = typed(script, tmp_path)
    assert "not shown to be registered before the runs (digits.csv was committed" in done.stdout


def test_a_look_that_was_skipped_makes_open_rows_exploratory(tmp_path):
    shutil.copy(PROJECT / "examples/digits/claims.yaml", tmp_path)

    def said(seeds: int) -> str:
        values = [
            f"{name},{seed},{0.9665 + better + (seed % 2 - 0.5) / 100}"
            for name, better in (("svm", 0.0), ("neighbours", -0.1))
            for seed in range(seeds)
        ]
        (tmp_path / "digits.csv").write_text("\n".join(["model,seed,accuracy", *values, ""]))
        return typed("journeylab judge claims.yaml digits.csv", tmp_path).stdout

    typed("journeylab register claims.yaml", tmp_path)
    for seeds in (12, 16):
        assert "exploratory" not in said(seeds)
    assert "All rows are exploratory: 17 seeds" in said(17)
    assert "\ndigits.3 is exploratory: the look at 20 seeds was skipped.\n" in said(24)
    assert "digits.1 is exploratory" not in said(24)


STORED = """
import os, random
import mlflow

mlflow.set_experiment("other")
with mlflow.start_run():
    mlflow.log_metric("accuracy", 0.1)
mlflow.set_experiment("digits")
mlflow.autolog(silent=True)
draw = random.Random(0)
for model in ("svm", "neighbours"):
    for seed in range(12):
        try:
            with mlflow.start_run(run_name=f"{model}-{seed}", tags={"stage": "test"}):
                mlflow.log_params({"model": model, "seed": seed, "lr": 0.01})
                for step in range(3):
                    better = 0.05 * (model == "svm") + 0.01 * step
                    mlflow.log_metric("accuracy", 0.8 + better + draw.random() / 100, step=step)
                    mlflow.log_metrics({"loss": 1.0 - better, "epoch_time": 0.1}, step=step)
                if (model, seed) == ("neighbours", 5):
                    raise RuntimeError("out of memory")
        except RuntimeError:
            pass
mlflow.start_run(run_name="still running")
os._exit(0)
"""


def test_a_store_of_an_ordinary_script_is_judged_by_the_times_of_its_runs(tmp_path):
    """Steps, autologging, another experiment, a failed run, and one that never ended."""
    (tmp_path / "train.py").write_text(STORED)
    (tmp_path / "claims.yaml").write_text(
        "table: {run: model}\n"
        "claims:\n"
        "  - {id: d.1, effect: svm@accuracy - neighbours@accuracy, region: {above: 0.01}}\n"
        "  - {id: d.2, effect: svm@loss, region: {below: 0.95}}\n"
    )
    store = f"export MLFLOW_TRACKING_URI=sqlite:///{tmp_path}/mlflow.db"
    judge = "journeylab judge claims.yaml mlflow:digits"
    first = f"{store}; journeylab register claims.yaml; git init -q; git add claims.yaml ledger"
    early = typed(f"{first}; git commit -qm claims; sleep 1; python train.py; {judge}", tmp_path)
    assert "d.1: Supported" in early.stdout
    assert "12 seeds, 1 failed" in early.stdout
    assert "d.2: Supported" in early.stdout
    assert early.stdout.endswith("All claims were registered before the runs.\n")
    wrong = typed(f"{store}; {judge[:-1]}", tmp_path, code=2)
    assert "there is no such experiment; did you mean 'digits'" in wrong.stderr
    shutil.rmtree(tmp_path / ".git")
    shutil.rmtree(tmp_path / "ledger")
    late = typed(f"{first}; git commit -qm claims; {judge}", tmp_path)
    assert "runs (a run began before its line in ledger/d.jsonl)" in late.stdout
