"""Curves of jobs in training are in MLflow while they train, and only once afterwards."""

import json
import math
import os
import shutil
import time

import pytest
import torch

from journeylab.records import files, runs
from journeylab.records.plans import write_plan
from journeylab.tracking import live
from journeylab.training import checkpoint

from ..made import STARTED
from .conftest import MARKS, Shown, import_runs, plan_of, watched

pytestmark = MARKS

FOLDER = "exp7/journey/A/seeds-00-01"


@pytest.fixture
def job(tmp_path, initialised):
    """Writes the files of a job that trains two seeds, one after the other, in 100 steps each."""
    plan = plan_of("journey", "A", (0, 1))
    shutil.copy(initialised, tmp_path)
    write_plan(tmp_path / "plans" / FOLDER / "train.json", plan)
    start = runs.RunStart(plan_key=plan.key, started=STARTED)
    runs.begin_run(tmp_path / "results" / FOLDER, start)

    def write(done, step, loss=0.5, written=None):
        path = tmp_path / "plans" / FOLDER / "train.progress.json"
        content = {"done": done, "before": 0, "total": 200, "step": step, "loss": loss}
        files.write_json(path, content, sealed=False)
        for file in (path, tmp_path / "results" / FOLDER / runs.START) if written else ():
            os.utime(file, (written, written))

    return write


@pytest.fixture
def save_curve(tmp_path):
    """Writes the points of a checkpoint."""

    def save(seed, *points):
        notes = {"run": json.dumps({"curves": [[(step, "loss", value) for step, value in points]]})}
        path = tmp_path / "results" / FOLDER / f"seed-{seed:02d}.checkpoint"
        files.write_tensors(path, {"a": torch.zeros(1)}, notes)

    return save


def live_curves(root):
    """Metric → {step: value} of every live run, by name."""
    shown = Shown(root)
    return {
        name: {metric: shown.curve(run, metric) for metric in run.data.metrics}
        for name, run in shown.live.items()
    }


def test_curves_grow_while_a_job_trains(tmp_path, job, save_curve, monkeypatch):
    def second(_):
        save_curve(0, (50, 0.75), (100, 0.25))
        job(done=110, step=10, loss=0.375)

    monkeypatch.setattr("journeylab.tracking.exporter.time.sleep", second)
    job(done=60, step=60)
    save_curve(0, (50, 0.75))
    assert watched(tmp_path, rounds=2) == []
    first, other = "journey/A/0 (in training)", "journey/A/1 (in training)"
    assert live_curves(tmp_path) == {
        first: {"loss": {50: 0.75, 100: 0.25}, "live/loss": {60: 0.5}},
        other: {"live/loss": {10: 0.375}},
    }


def test_a_complete_run_replaces_its_live_runs(tmp_path, job, write_chunk, monkeypatch):
    job(done=60, step=60)
    watched(tmp_path)
    assert len(live_curves(tmp_path)) == 1
    monkeypatch.setattr(
        "journeylab.tracking.exporter.time.sleep", lambda _: write_chunk(tmp_path, "journey", "A")
    )
    [summary] = watched(tmp_path, rounds=2)
    assert (summary.imported, summary.warning) == (2, None)
    assert live_curves(tmp_path) == {}


def test_a_later_watch_continues_the_run_of_a_seed(tmp_path, job, save_curve):
    for step in (60, 70):
        job(done=step, step=step)
        save_curve(0, (50, 0.75))
        watched(tmp_path)
    [curves] = live_curves(tmp_path).values()
    assert curves == {"loss": {50: 0.75}, "live/loss": {60: 0.5, 70: 0.5}}
    [run] = Shown(tmp_path).live.values()
    assert len(Shown(tmp_path).client.get_metric_history(run.info.run_id, "loss")) == 1


@pytest.mark.parametrize(
    ("log", "status", "state"), [("", "KILLED", "interrupted"), ("error: no\n", "FAILED", "failed")]
)
def test_an_interrupted_job_is_shown_as_interrupted_until_it_goes_on(
    tmp_path, job, log, status, state
):
    job(done=60, step=60)
    watched(tmp_path)
    job(done=60, step=60, written=time.time() - 1000)
    path = (tmp_path / "logs/train" / FOLDER).with_suffix(".log")
    path.parent.mkdir(parents=True)
    path.write_text(log)
    os.utime(path, (time.time() + 9,) * 2) if log else path.unlink()
    assert import_runs(tmp_path, "exp7").warning is None  # as at a workflow's end
    [(name, run)] = Shown(tmp_path).live.items()
    assert (name, run.info.status) == (f"journey/A/0 ({state})", status)
    assert run.info.end_time
    assert live_curves(tmp_path)[name] == {"live/loss": {60: 0.5}}
    path.unlink(missing_ok=True)
    job(done=70, step=70)
    watched(tmp_path)
    [(name, run)] = Shown(tmp_path).live.items()
    assert (name, run.info.status) == ("journey/A/0 (in training)", "RUNNING")
    assert live_curves(tmp_path)[name] == {"live/loss": {60: 0.5, 70: 0.5}}


def test_live_runs_of_other_settings_are_deleted_and_those_of_a_lost_machine_are_killed(
    tmp_path, job, monkeypatch
):
    job(done=60, step=60)
    watched(tmp_path)
    shown = Shown(tmp_path)
    [run] = shown.live.values()
    tags = {"kind": "live", "plan_key": "of another", "importer": "of another", "opened": "0"}
    lost = shown.client.create_run(run.info.experiment_id, tags=tags, run_name="lost")
    (tmp_path / "plans" / FOLDER / "train.json").unlink()
    import_runs(tmp_path, "exp7")
    [left] = shown.live.values()
    assert (left.info.run_id, left.info.status) == (lost.info.run_id, "KILLED")


def test_points_of_an_outage_are_written_after_it(tmp_path, job, save_curve, monkeypatch):
    """The store is away in the second and third round; the loss of each round is kept."""
    rounds = iter(range(2, 5))

    def sleep(_):
        number = next(rounds)
        away, back = tmp_path / "away.db", tmp_path / "mlflow.db"
        if number == 2:
            back.rename(away)
            back.mkdir()
        if number == 4:
            back.rmdir()
            away.rename(back)
        job(done=10 * number, step=10 * number, loss=0.1 * number)

    monkeypatch.setattr("journeylab.tracking.exporter.time.sleep", sleep)
    job(done=10, step=10, loss=0.1)
    [summary] = watched(tmp_path, rounds=4)  # the same warning is reported once
    [curves] = live_curves(tmp_path).values()
    assert curves["live/loss"] == {10 * n: pytest.approx(0.1 * n) for n in range(1, 5)}
    assert "was not updated" in summary.warning


def test_the_loss_of_seeds_trained_at_once_is_that_of_each(tmp_path, job):
    job(done=60, step=60)
    path = tmp_path / "plans" / FOLDER / "train.progress.json"
    at_once = {"done": 80, "before": 0, "total": 200, "step": 40, "loss": 0.5, "seeds": 2}
    files.write_json(path, at_once, sealed=False)
    study = live.LiveRuns(tmp_path, "exp7", follow=True)
    study.read()
    shown = {seed: [*points] for (_, seed), points in study.points.items()}
    assert shown == {seed: [(live.LOSS, 40)] for seed in "01"}


def save(path, curves, step=6):
    model = torch.nn.Linear(1, 1)
    state = checkpoint.State(
        "identity",
        model,
        torch.optim.AdamW(model.parameters()),
        {},
        checkpoint.Tallies.zeros(len(curves)),
    )
    checkpoint.save_checkpoint(path, state, checkpoint.RunHistory(step, curves, ("a cpu",)))


def test_the_curves_of_all_checkpoints_are_read(tmp_path):
    save(tmp_path / "seed-02.checkpoint", [[(3, "loss", 0.5), (6, "loss", math.nan)]])
    save(tmp_path / "seeds-10-11.checkpoint", [[(3, "hits@1", 1.0)], [(3, "hits@1", 0.0)]])
    points = [(seed, *point[:3]) for seed, point in live.read_curves(tmp_path)]
    expected = [(2, "loss", 3, 0.5), (10, "hits_at_1", 3, 1.0), (11, "hits_at_1", 3, 0.0)]
    assert points == expected


@pytest.mark.parametrize("content", [b"", b"\x08", b"\x02\0\0\0\0\0\0\0{}", b"\xff" * 40])
def test_a_damaged_checkpoint_has_no_points(tmp_path, content):
    (tmp_path / "seed-00.checkpoint").write_bytes(content)
    assert list(live.read_curves(tmp_path)) == []


def test_a_checkpoint_is_recognised_by_its_name(tmp_path):
    assert checkpoint.SUFFIX == ".checkpoint"
    save(tmp_path / f".seed-00.partial{checkpoint.SUFFIX}", [[(3, "loss", 0.5)]])
    assert list(live.read_curves(tmp_path)) == []
