"""The files of a run whose seeds have several worlds, through the stages that write them."""

import json
from pathlib import Path

import pytest

from journeylab.config import UserError
from journeylab.records.files import (
    MEASUREMENTS,
    read_table,
    read_tensors,
    sha256,
    table_origin,
    write_table,
)
from journeylab.records.plans import Plan
from journeylab.records.runs import read_host, read_run
from journeylab.stages import generate, measure, train

from .calls import call

SEEDS, WORLDS = (100, 101), 2
pytestmark = pytest.mark.usefixtures("ordinary_algorithms")
TRAINING = {"steps": 4, "learning_rate": 0.003, "evaluate_every": 2, "checkpoint_every": 2}
JOB = {"variant": "A", "data": {"worlds": WORLDS}, "model": {"d": 8}, "training": TRAINING}
RUN = {"study": "exp7", "arm": "characters", "variant": "A", "seeds": SEEDS}
DATA = Plan(stage="generate", study="exp7", dataset="world", seeds=SEEDS, settings=JOB["data"])
TRAINED = Plan(stage="train", settings=JOB, engine="sequential", inputs={"data": DATA.key}, **RUN)
MEASURED = Plan(
    stage="measure",
    settings={"templates": [0]},
    inputs={"data": DATA.key, "run": TRAINED.key},
    **RUN,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    table, run = tmp_path / "data.parquet", tmp_path / "run/run.json"
    progress = tmp_path / "progress.json"
    generate.run(call(DATA, table))
    train.run(call(TRAINED, run, data=table, progress=progress))
    measure.run(call(MEASURED, tmp_path / "run" / MEASUREMENTS, data=table, run=run))
    return tmp_path


def test_every_world_is_saved_and_every_seed_has_one_outcome_and_one_value(folder: Path):
    names = {name.partition("/")[0] for name in read_tensors(folder / "run/weights.safetensors")}
    assert names == {"100", "100.1", "101", "101.1"}
    record = read_run(folder / "run")
    assert [(each.seed, each.status) for each in record.seeds] == [(s, "finished") for s in SEEDS]
    assert set(read_host(folder / "run").seconds) == set(SEEDS)
    for file, factors in (("curves.parquet", ["step"]), (MEASUREMENTS, ["quantity"])):
        table = read_table(folder / "run" / file)
        assert set(table["seed"]) == set(SEEDS)
        assert "world" not in table
        [rows] = {len(rows) for _, rows in table.groupby("seed")}
        assert len(table) == len(SEEDS) * rows
        assert set(factors) < set(table)
    assert not list((folder / "run").glob("*.checkpoint"))


def test_data_replaced_under_an_equal_key_are_not_measured(folder: Path):
    table = folder / "data.parquet"
    facts = read_table(table)
    write_table(table, facts[::-1].reset_index(drop=True), table_origin(table.read_bytes()))
    with pytest.raises(UserError, match="trained on other data than"):
        measure.run(call(MEASURED, folder / "out", data=table, run=folder / "run/run.json"))
    assert not (folder / "out").exists()


def test_a_dataset_is_cut_from_its_external_file_and_no_other(tmp_path: Path):
    text, output = tmp_path / "text", tmp_path / "data.parquet"
    text.write_text("abcdefghij" * 40)
    digest = sha256(text)
    settings = {"file": {"sha256": digest}, "passage": 20, "held_out": 0.25}
    plan = Plan(
        stage="generate",
        study="exp4",
        dataset="text",
        seeds=SEEDS,
        settings=settings,
        inputs={"file": digest},
    )
    generate.run(call(plan, output, data=text))
    assert set(read_table(output)["seed"]) == set(SEEDS)
    output.unlink()
    text.write_text("abcdefghik" * 40)
    with pytest.raises(UserError, match="text"):
        generate.run(call(plan, output, data=text))
    assert not output.exists()


def test_progress_counts_the_steps_of_all_worlds(folder: Path):
    steps = 4 * WORLDS * len(SEEDS)
    progress = json.loads((folder / "progress.json").read_text())
    assert (progress["done"], progress["before"], progress["total"]) == (steps, 0, steps)
