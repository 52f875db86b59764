"""The page on any table, typed as it stands, and what a ledger says of its claims."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mlflow import MlflowClient

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/judge-a-table.md"


def typed(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = command.replace("python ", f"{sys.executable} ")  # tests start modules from a server
    return subprocess.run(
        ["bash", "-euc", command], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_page_is_right_as_it_is_typed(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    first, following, added, _ = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    before = typed(first, tmp_path)
    assert before.returncode == 0, before.stderr
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
    assert asked.returncode == 0, asked.stderr
    assert "svm: 12,13,14,15" in asked.stdout
    after = typed(added, folder)
    assert after.returncode == 0, after.stderr
    assert "digits.3: Supported" in after.stdout
    assert typed("journeylab next claims.yaml digits.csv", folder).returncode == 0
    written = {path.name for path in (folder / "judged").iterdir()}
    assert written == {"verdicts.json", "figure.pdf", "figure.svg", "numbers.tex", "page.pdf"}
    printed = typed("journeylab judge --json claims.yaml - < digits.csv", folder)
    assert json.loads(printed.stdout) == json.loads((folder / "judged/verdicts.json").read_text())


def test_a_refused_table_writes_nothing(tmp_path):
    shutil.copy(ROOT / "examples/digits/claims.yaml", tmp_path)
    (tmp_path / "digits.csv").write_text("model,seed,accuracy\nsvm,0,high\n")
    done = typed("journeylab judge claims.yaml digits.csv", tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "error: digits.csv: row 2: accuracy: 'high': write a number, or nothing for a run that "
        "failed\n"
    )
    assert not (tmp_path / "judged").exists()


def test_claims_are_registered_if_they_were_committed_before_the_table(tmp_path):
    shutil.copy(ROOT / "examples/digits/claims.yaml", tmp_path)
    values = [f"{name},{seed},0.9{seed:02}" for name in ("svm", "neighbours") for seed in range(12)]
    (tmp_path / "digits.csv").write_text("\n".join(["model,seed,accuracy", *values, ""]))

    def commit(names: str) -> None:
        done = typed(f"git init -q && git add {names} && git commit -q -m {names[:3]}", tmp_path)
        assert done.returncode == 0, done.stderr

    def said() -> str:
        done = typed("journeylab judge claims.yaml digits.csv", tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1]

    assert "has no line for it" in said()
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
    assert typed("journeylab register claims.yaml", tmp_path).returncode == 2


def test_claims_that_were_committed_after_the_table_are_not_registered(tmp_path):
    shutil.copy(ROOT / "examples/digits/claims.yaml", tmp_path)
    values = [f"{name},{seed},0.9" for name in ("svm", "neighbours") for seed in range(12)]
    (tmp_path / "digits.csv").write_text("\n".join(["model,seed,accuracy", *values, ""]))
    script = (
        "git init -q; git add digits.csv; git commit -qm table; journeylab register claims.yaml;"
        "git add .; git commit -qm claims; journeylab judge claims.yaml digits.csv"
    )
    done = typed(script, tmp_path)
    assert "not shown to be registered before the runs (digits.csv was committed" in done.stdout


def test_the_runs_of_an_mlflow_experiment_are_judged(tmp_path):
    store = f"sqlite:///{tmp_path}/mlflow.db"
    client = MlflowClient(store)
    experiment = client.create_experiment("digits")
    for model, better in (("svm", 0.05), ("neighbours", 0.0)):
        for seed in range(12):
            run = client.create_run(experiment).info.run_id
            client.log_param(run, "model", model)
            client.log_param(run, "seed", seed)
            client.log_metric(run, "accuracy", 0.9 + better + seed / 1000)
            failed = (model, seed) == ("svm", 3)
            client.set_terminated(run, "FAILED" if failed else "FINISHED")
    (tmp_path / "claims.yaml").write_text(
        "table: {run: model}\n"
        "claims:\n"
        "  - {id: d.1, effect: svm@accuracy - neighbours@accuracy, region: {above: 0.01}}\n"
    )
    judge = f"MLFLOW_TRACKING_URI={store} journeylab judge claims.yaml"
    done = typed(f"{judge} mlflow:digits", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "d.1: Supported" in done.stdout
    assert "12 seeds, 1 failed" in done.stdout
    wrong = typed(f"{judge} mlflow:digit", tmp_path)
    assert wrong.returncode == 2
    assert "there is no such experiment; did you mean 'digits'" in wrong.stderr
