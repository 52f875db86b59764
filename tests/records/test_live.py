"""Files that running jobs write: progress files, and the curves in checkpoints."""

import io
import json
import math
import os
import time

import pytest
import torch

from journeylab.records import live
from journeylab.training import checkpoint, count_steps, report_progress


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
    points = [point[:4] for point in live.read_curves(tmp_path)]
    expected = [(2, "loss", 3, 0.5), (10, "hits@1", 3, 1.0), (11, "hits@1", 3, 0.0)]
    assert points == expected


@pytest.mark.parametrize("content", [b"", b"\x08", b"\x02\0\0\0\0\0\0\0{}", b"\xff" * 40])
def test_a_damaged_checkpoint_has_no_points(tmp_path, content):
    (tmp_path / "seed-00.checkpoint").write_bytes(content)
    assert list(live.read_curves(tmp_path)) == []


def test_a_checkpoint_is_recognised_by_its_name(tmp_path):
    assert checkpoint.SUFFIX == ".checkpoint"
    save(tmp_path / f".seed-00.partial{checkpoint.SUFFIX}", [[(3, "loss", 0.5)]])
    assert list(live.read_curves(tmp_path)) == []


def test_progress_is_read_as_it_was_written(tmp_path, monkeypatch):
    monkeypatch.setattr("journeylab.training.progress.SECONDS_BETWEEN_FILES", 0.0)
    plan = tmp_path / "train.json"
    assert live.read_progress(plan) is None
    with (
        count_steps(tmp_path / "train.progress.json", 400),
        report_progress("a", 100, 20, seeds=2, stream=io.StringIO()) as progress,
    ):
        progress.advance(30, lambda: 0.25)
        state, written = live.read_progress(plan)
        assert (state.done, state.before, state.total) == (60, 40, 400)
        assert (state.seeds, state.step, state.loss) == (2, 30, 0.25)
        assert state.rate == pytest.approx(20 / state.seconds)
        assert live.is_fresh(written)
        progress.advance(31, lambda: math.nan)
        assert live.read_progress(plan)[0].loss is None
    os.utime(tmp_path / "train.progress.json", (0, time.time() - 2 * live.FRESH))
    assert not live.is_fresh(live.read_progress(plan)[1])


def test_progress_without_steps_has_no_rate():
    assert live.JobProgress(done=40, before=40, total=400, seconds=3.0).rate is None


@pytest.mark.parametrize("content", ["", "{", json.dumps({"done": 1})])
def test_damaged_progress_counts_as_none(tmp_path, content):
    (tmp_path / "train.progress.json").write_text(content)
    assert live.read_progress(tmp_path / "train.json") is None
