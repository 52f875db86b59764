"""The progress file that a training job writes while it runs."""

import io
import json
import math

import pytest

from journeylab.records import live
from journeylab.records.cost import start_counting
from journeylab.training import count_steps, report_progress


def test_progress_is_read_as_it_was_written(tmp_path, monkeypatch):
    monkeypatch.setattr("journeylab.training.progress.SECONDS_BETWEEN_FILES", 0.0)
    plan = tmp_path / "train.json"
    assert live.read_progress(plan) is None
    with (
        count_steps(tmp_path / "train.progress.json", 400, start_counting()),
        report_progress("a", 100, 20, seeds=2, stream=io.StringIO()) as progress,
    ):
        progress.advance(30, lambda: 0.25)
        state = live.read_progress(plan)
        assert (state.done, state.before, state.total) == (60, 40, 400)
        assert (state.seeds, state.step, state.loss) == (2, 30, 0.25)
        assert state.cost.cpu_seconds > 0.0
        assert state.rate == pytest.approx(20 / state.seconds)
        assert state.written == plan.with_suffix(".progress.json").stat().st_mtime
        progress.advance(31, lambda: math.nan)
        assert live.read_progress(plan).loss is None


def test_progress_without_steps_has_no_rate():
    assert live.JobProgress(done=40, before=40, total=400, seconds=3.0).rate is None


@pytest.mark.parametrize("content", ["", "{", json.dumps({"done": 1})])
def test_damaged_progress_counts_as_none(tmp_path, content):
    (tmp_path / "train.progress.json").write_text(content)
    assert live.read_progress(tmp_path / "train.json") is None
