"""A report's numbers belong to its stated settings; exit 0 means that the target is current.

Each case has files that are intact, but stale or of another run.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from journeylab.records import runs
from journeylab.records.files import (
    MEASUREMENTS,
    VERDICTS,
    read_json,
    read_origin,
    read_table,
    table_origin,
    write_json,
    write_table,
)
from journeylab.records.stages import plan_path

from ..made import pdf_text
from .conftest import Copy, made_once

pytestmark = pytest.mark.workflow

NATIVE = "exp7/characters/A/seeds-1000-1001"
OTHER = "exp7/characters/Aprime/seeds-1000-1001"
DATA = "data/exp7/plan/seeds-1000-1001.parquet"
MEASURE = "src/journeylab/knowledge/measure.py"


def raise_rate(config: dict[str, Any]) -> None:
    config["studies"]["exp7"]["training"]["learning_rate"] = 0.02


def enlarge_world(config: dict[str, Any]) -> None:
    config["studies"]["exp7"]["datasets"]["plan"]["cities"] = 12


def lose_everything(copy: Copy) -> None:
    shutil.rmtree(copy.path / ".snakemake")


def empty_metadata(copy: Copy) -> None:
    for path in (copy.path / ".snakemake/metadata").rglob("*"):
        if path.is_file():
            path.write_text("")


def touch_all(copy: Copy) -> None:
    for name in ("plans", "data", "results", "reports"):
        for path in sorted((copy.path / name).rglob("*")):
            os.utime(path)


def lose_plans(copy: Copy) -> None:
    shutil.rmtree(copy.path / "plans")


def refusal(done: subprocess.CompletedProcess) -> str:
    """The error line of a stage that refused its input."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode == 2, done.stderr
    assert len(lines) == 1, done.stderr
    assert "snakemake" in lines[0]
    return lines[0]


def measure(copy: Copy) -> subprocess.CompletedProcess:
    files = {"data": DATA, "run": f"results/{NATIVE}/run.json", "output": "out.parquet"}
    return copy.stage("measure", f"{NATIVE}/measure.json", **files)


@pytest.fixture(scope="session")
def other_world(finished: Copy, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The same project, finished with a larger dataset."""

    def make(folder: Path) -> None:
        copy = finished.duplicate(folder / "project")
        copy.configure(enlarge_world)
        copy.snakemake("reports/exp7.pdf")

    return Copy(made_once(tmp_path_factory, "otherwise", make) / "project")


# -- without snakemake's metadata -----------------------------------------------------------------


@pytest.mark.parametrize(
    "forget", [empty_metadata, pytest.param(lose_everything, marks=pytest.mark.system)]
)
def test_an_edited_learning_rate_retrains_without_metadata(
    project: Copy, forget: Callable[[Copy], None]
) -> None:
    forget(project)
    project.configure(raise_rate)
    trained = {job[1:] for job in project.planned() if job[0] == "train"}
    assert ("exp7", "characters", "A", "seeds-1000-1001") in trained
    assert len(trained) == 3
    project.snakemake(f"results/{NATIVE}/run.json")
    record = runs.read_run(project.path / "results" / NATIVE)
    assert record.settings["training"]["learning_rate"] == 0.02


@pytest.mark.parametrize("disturb", [lose_everything, touch_all, lose_plans])
def test_lost_metadata_changed_file_times_or_lost_plans_rerun_nothing(
    project: Copy, disturb: Callable[[Copy], None]
) -> None:
    disturb(project)
    assert project.planned() == set()


def test_a_reverted_edit_reruns_nothing(project: Copy) -> None:
    before = (project.path / "config.yaml").read_bytes()
    project.configure(raise_rate)
    assert "train" in project.rules()
    (project.path / "config.yaml").write_bytes(before)
    assert project.planned() == set()


def test_plans_of_disabled_runs_are_removed(project: Copy) -> None:
    project.configure(
        lambda config: config["studies"]["exp7"]["arms"]["words"].update(enabled=False)
    )
    project.snakemake(f"results/{NATIVE}/run.json")
    assert not list((project.path / "plans/exp7/words").rglob("train.json"))
    assert list((project.path / "plans/exp7/characters").rglob("train.json"))


@pytest.mark.parametrize("newer", [True, False])
def test_old_results_that_are_put_back_are_made_anew(
    project: Copy, other_world: Copy, newer: bool
) -> None:
    """As by a checkout of git or DVC; the metadata of snakemake describe the files before."""
    for name in ("data", "results", "reports"):
        shutil.rmtree(project.path / name)
        shutil.copytree(other_world.path / name, project.path / name)
    if newer:
        touch_all(project)
    made = {"generate", "train", "measure", "collect", "judge", "draw", "typeset"}
    assert made <= project.rules()
    assert list((project.path / "results").rglob("weights.safetensors"))


@pytest.mark.parametrize("since", [True, False])
def test_a_run_costs_what_all_its_attempts_did(project: Copy, since: bool) -> None:
    """As after a kill: the run has begun, and its progress file knows the cost so far."""
    plan, folder = project.path / f"plans/{NATIVE}/train.json", project.path / "again"
    start = runs.read_host(project.path / "results" / NATIVE)
    kept = {name: getattr(start, name) for name in runs.RunStart.model_fields}
    folder.mkdir()
    runs.begin_run(folder, runs.RunStart(**kept))
    progress = plan.with_suffix(".progress.json")
    cost = {"cpu_seconds": 5000.0, "imports_seconds": 1.0, "wall_seconds": 7000.0, "peak_mib": 9e5}
    write_json(progress, {"done": 4, "before": 0, "total": 24, "cost": cost}, sealed=False)
    if not since:  # it is of an earlier run of the same plan
        os.utime(progress, (1.0, 1.0))
    project.stage("train", f"{NATIVE}/train.json", data=DATA, output="again/run.json")
    spent = runs.read_host(folder).cost
    assert (spent.cpu_seconds > 5000.0, spent.wall_seconds > 7000.0) == (since, since)
    assert (spent.peak_mib == 9e5) == since
    later = read_json(progress, sealed=False)
    assert later["done"] == later["total"]
    assert (later["cost"]["cpu_seconds"] > 5000.0) == since


# -- files of other settings ----------------------------------------------------------------------


def test_data_made_with_other_settings_are_refused(project: Copy, other_world: Copy) -> None:
    shutil.copy(other_world.path / DATA, project.path / DATA)
    assert DATA in refusal(measure(project))
    assert DATA in refusal(
        project.stage("train", f"{NATIVE}/train.json", data=DATA, output="elsewhere/run.json")
    )
    assert not (project.path / "out.parquet").exists()
    assert not (project.path / "elsewhere/run.json").exists()


@pytest.mark.parametrize("other", [["weights.safetensors"], None])
def test_weights_or_all_files_of_another_variant_are_refused(
    project: Copy, other: list[str] | None
) -> None:
    source, folder = (project.path / "results" / name for name in (OTHER, NATIVE))
    for name in other or [path.name for path in folder.iterdir()]:
        shutil.copy2(source / name, folder / name)
    assert (other[0] if other else f"results/{NATIVE}/run.json") in refusal(measure(project))


@pytest.mark.parametrize(
    ("stage", "file", "output"),
    [
        ("collect", f"results/{NATIVE}/measurements.parquet", "out.parquet"),
        ("judge", "results/exp7/measurements.parquet", "out.json"),
        ("draw", "results/exp7/measurements.parquet", "elsewhere/manifest.json"),
        ("draw", "results/exp7/verdicts.json", "elsewhere/manifest.json"),
        ("draw", f"results/{NATIVE}/run.json", "elsewhere/manifest.json"),
        ("typeset", "results/exp7/verdicts.json", "reports/exp7.pdf"),
        ("typeset", f"results/{NATIVE}/run.json", "reports/exp7.pdf"),
        ("typeset", "reports/exp7/manifest.json", "reports/exp7.pdf"),
        ("respond", "reports/exp7", "elsewhere/page"),
        ("index", "reports/exp7", "elsewhere/page"),
    ],
)
def test_files_of_another_configuration_are_refused(
    project: Copy, other_world: Copy, stage: str, file: str, output: str
) -> None:
    before = (project.path / "reports/exp7.pdf").read_bytes()
    if file.startswith("reports"):
        shutil.rmtree(project.path / "reports/exp7")
        shutil.copytree(other_world.path / "reports/exp7", project.path / "reports/exp7")
    else:
        shutil.copy(other_world.path / file, project.path / file)
    done = project.stage(stage, plan_path(stage, study="exp7"), output=output)
    assert file in refusal(done)
    assert (project.path / "reports/exp7.pdf").read_bytes() == before
    assert output == "reports/exp7.pdf" or not (project.path / output).exists()


def test_files_made_from_replaced_files_are_refused(project: Copy) -> None:
    """On another machine the same plan can give other numbers: equal keys, different files."""
    table, verdicts = (project.path / "results/exp7" / name for name in (MEASUREMENTS, VERDICTS))
    judged = read_json(verdicts)
    noted = {key: value for key, value in judged.items() if key not in ("seal", "origin")}
    write_json(verdicts, noted | {"evidence": not noted["evidence"]}, origin=read_origin(verdicts))
    done = project.stage("typeset", "exp7/typeset.json", output="reports/exp7.pdf")
    assert "reports/exp7 was drawn from other verdicts" in refusal(done)
    values = read_table(table)
    values["value"] += 1e-9
    write_table(table, values, table_origin(table.read_bytes()))
    done = project.stage("draw", "exp7/draw.json", output="elsewhere/manifest.json")
    assert "results/exp7/verdicts.json judges other measurements" in refusal(done)


# -- code -----------------------------------------------------------------------------------------


def test_code_or_prose_changed_after_planning_is_refused(project: Copy) -> None:
    project.edit(MEASURE, lambda text: text.replace("rank <= 1", "rank <= 9"))
    assert "code changed" in refusal(measure(project))
    [prose] = project.path.glob("src/journeylab/studies/exp7_*/report.typ")
    prose.write_text(prose.read_text() + "More.\n")
    done = project.stage("typeset", "exp7/typeset.json", output="reports/exp7.pdf")
    assert "report.typ changed since it was planned" in refusal(done)


def test_an_edit_during_a_stage_does_not_change_its_result(project: Copy) -> None:
    """The source is edited after the stage has loaded it."""
    script = f"""
from pathlib import Path
from journeylab.stages import imports
imports.install()
from journeylab.stages import running
load, source = running._load, Path({MEASURE!r})
def load_then_edit(stage, plan):
    load(stage, plan)
    source.write_text(source.read_text().replace("rank <= 1", "rank <= 9"))
running._load = load_then_edit
running.run_stage("measure", Path("plans/{NATIVE}/measure.json"), Path("out.parquet"),
                  data=Path({DATA!r}), run=Path("results/{NATIVE}/run.json"))
"""
    project.run("python", "-c", script)
    expected = read_table(project.path / "results" / NATIVE / "measurements.parquet")
    assert read_table(project.path / "out.parquet").equals(expected)


# -- another machine ------------------------------------------------------------------------------


@pytest.mark.system
def test_results_of_another_processor_are_valid_and_the_report_names_it(project: Copy) -> None:
    folder = project.path / "results" / NATIVE
    record = runs.read_run(folder).model_copy(update={"cpu": ("Other CPU", "Third CPU")})
    runs.write_run(folder, record, runs.read_host(folder))
    assert "train" not in project.rules()
    project.snakemake("reports/exp7.pdf")
    text = pdf_text(project.path / "reports/exp7.pdf")
    assert "Other CPU, then Third CPU (resumed: not bit-equal)" in text
