"""What is told of the training that is left."""

from pathlib import Path

import pytest

from journeylab.remaining import Done, TrainingJob, describe

LOG = """\
exp7 7a/B seed 0 (1/2): 100 steps
exp7 7a/B seed 0 (1/2): step 1/100, loss 6.0, 9.0 steps/s, 0:00:11 left
exp7 7a/B seed 0 (1/2): step 100/100, loss 0.5, 30.0 steps/s, 0:00:00 left
exp7 7a/B seed 1 (2/2): 100 steps, resumed after step 30
exp7 7a/B seed 1 (2/2): step 31/100, loss 0.9, 9.0 steps/s, 0:00:08 left
exp7 7a/B seed 1 (2/2): step 60/100, loss 0.8, 29.0 steps/s, 0:00:02 left
"""


@pytest.mark.parametrize(
    ("lines", "done"),
    [(0, (0, 0)), (2, (1, 0)), (3, (100, 0)), (4, (130, 30)), (6, (160, 30))],
)
def test_finished_and_running_seeds_count(
    tmp_path: Path, lines: int, done: tuple[int, int]
) -> None:
    log = tmp_path / "job.log"
    log.write_text("".join(LOG.splitlines(keepends=True)[:lines]), encoding="utf-8")
    assert TrainingJob(log, 200).done() == done


def test_every_step_of_an_ensemble_counts_for_all_its_seeds(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(
        "exp1 A/toral seeds 0 to 11: 100 steps of 12 seeds, resumed after step 30\n"
        "exp1 A/toral seeds 0 to 11: step 60/100, loss 0.8, 29.0 steps/s, 0:00:02 left\n",
        encoding="utf-8",
    )
    assert TrainingJob(log, 1200).done() == (720, 360)


def test_a_job_without_a_log_has_not_begun(tmp_path: Path) -> None:
    assert TrainingJob(tmp_path / "none.log", 200).done() == (0, 0)


def test_the_time_left_follows_from_the_rate() -> None:
    assert describe(Done(0, 0), 1000, 60.0) == "training: 0 % of 1,000 steps, starting"
    told = describe(Done(350, 100), 1000, 50.0)
    assert told == "training: 35 % of 1,000 steps, 5 steps/s, 0:02:10 left"
