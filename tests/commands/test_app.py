"""Commands of the stages: a mistake gives one error line, a record describes the run."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from journeylab.catalogue import key_modules
from journeylab.config import UserError, canonical
from journeylab.records.files import read_json, read_table, sha256
from journeylab.records.fingerprint import hash_module, hash_modules
from journeylab.records.plans import Plan, write_plan
from journeylab.records.runs import read_run
from journeylab.records.stages import STAGES
from journeylab.stages.running import run_stage

from ..made import PROJECT, contents, ran

pytestmark = pytest.mark.usefixtures("warm")

DATA = {"train": 40, "validation": 20}
JOB = {
    **{"task": "A", "variant": "toral-product", "data": DATA, "model": {"d": 4}},
    "training": {"steps": 6, "learning_rate": 0.01, "batch": 8},
}
SEEDS = (0, 1)


def run(*arguments: str, folder: Path, code: int | None = None) -> subprocess.CompletedProcess[str]:
    return ran("journeylab", *arguments, folder=folder, code=code)


def make_plan(stage: str, study: str = "exp1", **content: Any) -> Plan:
    """A plan with the fingerprint of the present code."""
    code = hash_modules(key_modules(stage, study), hash_module)
    return Plan(stage=stage, study=study, **({"code": code, "seeds": SEEDS} | content))


def generate_plan(**content: Any) -> Plan:
    return make_plan("generate", **({"dataset": "strings", "settings": DATA} | content))


def train_plan(data: Plan, **content: Any) -> Plan:
    fields = {"arm": "A", "variant": "toral-product", "inputs": {"data": data.key}}
    return make_plan("train", **(fields | {"settings": JOB, "device": "cpu"} | content))


# -- plans ----------------------------------------------------------------------------------------


MISTAKES: dict[str, tuple[Callable[[], Plan], tuple[str, ...]]] = {
    "another stage's plan": (
        lambda: train_plan(generate_plan()),
        ("plan.json", "'train'", "generate plan"),
    ),
    "other code": (
        lambda: generate_plan(code="0" * 16),
        ("generate exp1 strings seeds 0 to 1", "code changed", "snakemake"),
    ),
    "other prose": (
        lambda: generate_plan(assets={"plotting/journeylab.mplstyle": "0" * 64}),
        ("journeylab.mplstyle", "changed"),
    ),
    "an unknown study": (
        lambda: generate_plan(code="").model_copy(update={"study": "exp99"}),
        ("'exp99'", "exp7"),
    ),
    "a study without the stage": (lambda: generate_plan(study="exp5"), ("exp5", "data.py")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_plan_gives_one_error_line_and_writes_nothing(mistake: str, tmp_path: Path) -> None:
    planned, expected = MISTAKES[mistake]
    write_plan(tmp_path / "plan.json", planned())
    before = contents(tmp_path)
    options = ("--plan", "plan.json", "--output", "data.parquet")
    [line] = run("generate", *options, folder=tmp_path, code=2).stderr.strip().splitlines()
    assert line.startswith("error: ")
    assert all(part in line for part in expected), line
    assert contents(tmp_path) == before


NEEDED = {
    "train": "--data",
    "measure": "--data",
    "collect": "--runs",
    "judge": "--measurements",
    "draw": "--measurements",
    "typeset": "--verdicts",
}


@pytest.mark.parametrize("stage", NEEDED)
def test_a_missing_option_gives_one_error_line(stage: str, tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", make_plan(stage))
    before = contents(tmp_path)
    with pytest.raises(UserError, match=NEEDED[stage]):
        run_stage(stage, tmp_path / "plan.json", tmp_path / "out" / "file")
    assert contents(tmp_path) == before


def test_every_stage_is_a_command_and_needs_a_plan(tmp_path: Path) -> None:
    output = run("stage", "--help", folder=tmp_path).stdout
    assert all(f" {stage} " in output for stage in STAGES)
    done = run("stage", "generate", "--output", "data.parquet", folder=tmp_path, code=2)
    assert "--plan" in done.stderr


def test_debug_prints_a_traceback(tmp_path: Path) -> None:
    arguments = ("generate", "--plan", "none.json", "--output", "data.parquet")
    done = run("--debug", *arguments, folder=tmp_path)
    assert done.returncode != 0
    assert "Traceback" in done.stderr
    assert "Traceback" not in run(*arguments, folder=tmp_path).stderr


# -- a job from its data to its measurements ------------------------------------------------------


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path]:
    """The plan of a dataset, and its file."""
    folder, plan = tmp_path_factory.mktemp("made"), generate_plan()
    write_plan(folder / "plan.json", plan)
    run("generate", "--plan", "plan.json", "--output", "data.parquet", folder=folder, code=0)
    return plan, folder / "data.parquet"


def test_a_dataset_holds_the_seeds_of_its_plan(dataset: tuple[Plan, Path]) -> None:
    plan, data = dataset
    assert set(read_table(data, plan.key)["seed"]) == set(SEEDS)
    assert data.with_name("plan.cost.json").exists()


@pytest.mark.parametrize(
    ("engine", "ran"), [("auto", "batched"), ("sequential", "sequential"), ("batched", "batched")]
)
def test_a_run_is_recorded_and_its_models_are_measured(
    dataset: tuple[Plan, Path], tmp_path: Path, engine: str, ran: str
) -> None:
    made, data = dataset
    plan = train_plan(made, engine=engine)
    write_plan(tmp_path / "train.json", plan)
    options = ("--plan", "train.json", "--data", str(data), "--output", "run.json")
    run("train", *options, folder=tmp_path, code=0)
    record = read_run(tmp_path, plan.key)
    assert (record.engine, record.device) == (ran, "cpu")
    assert (record.kind, record.arm, record.variant) == ("trained", "A", "toral-product")
    assert [seed.status for seed in record.seeds] == ["finished", "finished"]
    assert canonical(record.settings) == canonical(JOB)
    assert record.inputs == {"data": sha256(data)}
    assert not list(tmp_path.glob("*.checkpoint"))
    assert read_json(tmp_path / "train.cost.json", sealed=False)["cpu_seconds"] > 0

    run_of = {"arm": "A", "variant": "toral-product"}
    inputs = {"data": made.key, "run": plan.key}
    measured = make_plan("measure", settings={"strings": 20}, inputs=inputs, **run_of)
    write_plan(tmp_path / "measure.json", measured)
    options = ("--plan", "measure.json", "--data", str(data), "--run", "run.json")
    run("measure", *options, "--output", "measurements.parquet", folder=tmp_path, code=0)
    table = read_table(tmp_path / "measurements.parquet", measured.key)
    assert set(table["seed"]) == set(SEEDS)
    [names] = table[["study", "arm", "variant"]].drop_duplicates().to_numpy().tolist()
    assert names == ["exp1", "A", "toral-product"]


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_terminal_of_any_encoding_gets_every_character(encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "journeylab", "coverage"],
        cwd=PROJECT,
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert b"Golovneva" in done.stdout
