"""What the commands do by themselves: mistakes are one line, records say what ran."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from journeylab.catalogue import Stage, key_modules
from journeylab.cli import STAGES
from journeylab.config import UserError, canonical
from journeylab.records.files import read_json, read_table, sha256
from journeylab.records.fingerprint import hash_module, hash_modules
from journeylab.records.plans import Plan, write_plan
from journeylab.records.runs import START, read_run
from journeylab.stages.running import run_stage

pytestmark = pytest.mark.usefixtures("warm")

DATA = {"train": 40, "validation": 20}
JOB = {
    **{"task": "A", "variant": "toral-product", "data": DATA, "model": {"d": 4}},
    "training": {"steps": 6, "learning_rate": 0.01, "batch": 8},
}
SEEDS = (0, 1)


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["journeylab", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def make_plan(stage: Stage, study: str = "exp1", **content: Any) -> Plan:
    """A plan with the code that is there."""
    code = hash_modules(key_modules(stage, study), hash_module)
    return Plan(stage=stage, study=study, **({"code": code, "seeds": SEEDS} | content))


def generating(**content: Any) -> Plan:
    return make_plan("generate", **({"dataset": "strings", "settings": DATA} | content))


def training(data: Plan, **content: Any) -> Plan:
    place = {"arm": "A", "variant": "toral-product", "inputs": {"data": data.key}}
    return make_plan("train", **(place | {"settings": JOB, "device": "cpu"} | content))


def contents(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path) for path in folder.rglob("*") if path.is_file()}


def check_refused(
    done: subprocess.CompletedProcess[str], folder: Path, before: dict[str, str], *told: str
) -> None:
    """One line that says what is wrong, and nothing written."""
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stderr.startswith("error: ")
    assert all(part in done.stderr for part in told), done.stderr
    assert contents(folder) == before


# -- plans ----------------------------------------------------------------------------------------


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"40", b"41"))


def leave(path: Path) -> None:
    """The plan as it was written."""


MISTAKES: dict[str, tuple[Callable[[], Plan], Callable[[Path], object], tuple[str, ...]]] = {
    "a missing plan": (generating, Path.unlink, ("plan.json", "missing")),
    "a damaged plan": (generating, damage, ("plan.json", "damaged")),
    "no plan": (generating, lambda path: path.write_text("{}"), ("plan.json", "damaged")),
    "another stage's plan": (
        lambda: training(generating()),
        leave,
        ("plan.json", "'train'", "generate plan"),
    ),
    "other code": (
        lambda: generating(code="0" * 16),
        leave,
        ("generate exp1 strings seeds 0 to 1", "code changed", "snakemake"),
    ),
    "other prose": (
        lambda: generating(assets={"plotting/journeylab.mplstyle": "0" * 64}),
        leave,
        ("journeylab.mplstyle", "changed"),
    ),
    "an unknown study": (
        lambda: generating(code="").model_copy(update={"study": "exp99"}),
        leave,
        ("'exp99'", "exp7"),
    ),
    "a study without the stage": (lambda: generating(study="exp5"), leave, ("exp5", "data.py")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_plan_is_one_line_and_nothing_is_written(mistake: str, tmp_path: Path) -> None:
    planned, harm, told = MISTAKES[mistake]
    plan = tmp_path / "plan.json"
    write_plan(plan, planned())
    harm(plan)
    before = contents(tmp_path)
    done = run("generate", "--plan", "plan.json", "--output", "data.parquet", folder=tmp_path)
    check_refused(done, tmp_path, before, *told)


NEEDED: dict[Stage, str] = {
    "train": "--data",
    "measure": "--data and --run",
    "collect": "--results",
    "judge": "--results",
    "draw": "--results",
    "typeset": "--results",
}


@pytest.mark.parametrize("stage", NEEDED)
def test_an_option_that_a_stage_lacks_is_one_line(stage: Stage, tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", make_plan(stage))
    before = contents(tmp_path)
    with pytest.raises(UserError) as caught:
        run_stage(stage, tmp_path / "plan.json", tmp_path / "out" / "file")
    assert NEEDED[stage] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert contents(tmp_path) == before


def test_every_stage_is_a_command_and_needs_a_plan(tmp_path: Path) -> None:
    told = run("--help", folder=tmp_path).stdout
    assert all(f" {stage} " in told for stage in STAGES)
    done = run("generate", "--output", "data.parquet", folder=tmp_path)
    assert done.returncode == 2
    assert "--plan" in done.stderr


def test_debug_shows_where_it_happened(tmp_path: Path) -> None:
    asked = ("generate", "--plan", "none.json", "--output", "data.parquet")
    done = run("--debug", *asked, folder=tmp_path)
    assert done.returncode != 0
    assert "Traceback" in done.stderr
    assert "Traceback" not in run(*asked, folder=tmp_path).stderr


# -- a job from its data to its measurements ------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """A dataset, and the plan that it was made by."""

    folder: Path
    plan: Plan

    @property
    def data(self) -> str:
        return str(self.folder / "data.parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder, plan = tmp_path_factory.mktemp("made"), generating()
    write_plan(folder / "plan.json", plan)
    done = run("generate", "--plan", "plan.json", "--output", "data.parquet", folder=folder)
    assert done.returncode == 0, done.stderr
    return Made(folder, plan)


def train(plan: Plan, data: str, folder: Path) -> subprocess.CompletedProcess[str]:
    write_plan(folder / "train.json", plan)
    asked = ("--plan", "train.json", "--data", data, "--output", "run.json")
    return run("train", *asked, folder=folder)


def measure(plan: Plan, data: str, folder: Path) -> subprocess.CompletedProcess[str]:
    write_plan(folder / "measure.json", plan)
    asked = ("--plan", "measure.json", "--data", data, "--run", "run.json")
    return run("measure", *asked, "--output", "measurements.parquet", folder=folder)


def measuring(data: Plan, trained: Plan, **content: Any) -> Plan:
    place = {"arm": "A", "variant": "toral-product", "settings": {"strings": 20}}
    read = {"inputs": {"data": data.key, "run": trained.key}}
    return make_plan("measure", **(place | read | content))


def test_a_dataset_holds_the_seeds_of_its_plan(made: Made) -> None:
    table = read_table(Path(made.data), made.plan.key)
    assert set(table["seed"]) == set(SEEDS)
    assert (made.folder / "plan.cost.json").exists()


@pytest.mark.parametrize(
    ("asked", "ran"), [("auto", "batched"), ("sequential", "sequential"), ("batched", "batched")]
)
def test_a_record_says_what_ran_and_its_models_are_measured(
    made: Made, tmp_path: Path, asked: str, ran: str
) -> None:
    plan = training(made.plan, engine=asked)
    done = train(plan, made.data, tmp_path)
    assert done.returncode == 0, done.stderr
    record = read_run(tmp_path, plan.key)
    assert (record.engine, record.device) == (ran, "cpu")
    assert (record.kind, record.arm, record.variant) == ("trained", "A", "toral-product")
    assert [seed.status for seed in record.seeds] == ["finished", "finished"]
    assert canonical(record.settings) == canonical(JOB)
    assert record.inputs == {"data": sha256(Path(made.data))}
    assert not list(tmp_path.glob("*.checkpoint"))
    cost = read_json(tmp_path / "train.cost.json", sealed=False)
    assert cost["cpu_seconds"] > 0

    asking = measuring(made.plan, plan)
    done = measure(asking, made.data, tmp_path)
    assert done.returncode == 0, done.stderr
    table = read_table(tmp_path / "measurements.parquet", asking.key)
    assert set(table["seed"]) == set(SEEDS)
    assert {"exp1", "A", "toral-product"} == {
        *table["study"].unique(),
        *table["arm"].unique(),
        *table["variant"].unique(),
    }


def test_data_of_another_plan_are_not_trained_on(made: Made, tmp_path: Path) -> None:
    other = generating(settings=DATA | {"train": 50})
    done = train(training(other), made.data, tmp_path)
    begun = {name: sha256(tmp_path / name) for name in ("train.json", START)}
    check_refused(done, tmp_path, begun, "data.parquet")


def test_a_run_of_another_plan_is_not_measured(made: Made, tmp_path: Path) -> None:
    plan = training(made.plan)
    assert train(plan, made.data, tmp_path).returncode == 0
    other = training(made.plan, settings=JOB | {"model": {"d": 6}})
    asking = measuring(made.plan, other)
    write_plan(tmp_path / "measure.json", asking)
    before = contents(tmp_path)
    check_refused(measure(asking, made.data, tmp_path), tmp_path, before, "run.json", "planned")


def test_what_is_computed_once_has_no_seed(tmp_path: Path) -> None:
    settings = {"computed": "bridge", "variant": "rotation", "draws": 2, "lengths": [3]}
    place = {"arm": "bridge", "variant": "rotation", "seeds": None, "settings": settings}
    plan = make_plan("compute", "exp5", **place)
    write_plan(tmp_path / "plan.json", plan)
    done = run("compute", "--plan", "plan.json", "--output", "run.json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    record = read_run(tmp_path, plan.key)
    assert (record.kind, record.seeds) == ("computed", ())
    table = read_table(tmp_path / "measurements.parquet", plan.key)
    assert table["seed"].isna().all()
    assert set(table["draw"]) == {0, 1}
