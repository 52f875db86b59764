"""Progress files of training, and the log lines about them."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from journeylab.records.cost import start_counting
from journeylab.training import count_steps, report_progress
from journeylab.wording.typography import roughly
from snakemake_logger_plugin_journeylab.handler import training_line
from snakemake_logger_plugin_journeylab.wording import (
    cluster_errors,
    cluster_message,
    count_verdicts,
    name_job,
    why,
)

from .made import PROJECT

COST = start_counting()


def progress_in(path: Path) -> tuple[int, int, int]:
    content = json.loads(path.read_text(encoding="utf-8"))
    return content["done"], content["before"], content["total"]


def test_steps_of_consecutive_seeds_add_up(tmp_path: Path) -> None:
    path = tmp_path / "train.progress.json"
    with count_steps(path, 1400, COST):
        with report_progress("seed 0", 100, stream=io.StringIO()) as progress:
            assert progress_in(path) == (0, 0, 1400)
            progress.advance(1, lambda: 1.0)
        assert progress_in(path) == (100, 0, 1400)  # a failed seed counts in full
        with report_progress("seed 1", 100, 30, stream=io.StringIO()):
            assert progress_in(path) == (130, 30, 1400)
        assert progress_in(path) == (200, 30, 1400)
        # a step of an ensemble counts once per seed
        with report_progress("seeds 2 to 13", 100, 30, seeds=12, stream=io.StringIO()):
            assert progress_in(path) == (560, 390, 1400)
        assert progress_in(path) == (1400, 390, 1400)


def test_training_continues_if_progress_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        count_steps(tmp_path / "file" / "train.progress.json", 2, COST),
        report_progress("a", 2, stream=io.StringIO()) as progress,
    ):
        progress.advance(1, lambda: 1.0)


def test_the_log_adds_up_the_steps_of_all_jobs(tmp_path: Path) -> None:
    done, first, second, later = plans = [str(tmp_path / f"{name}/train.json") for name in "abcd"]
    totals = dict.fromkeys(plans[:3], 100)
    line = training_line(totals, [], [first, second])
    assert line == "training: 0 % of 300 steps · 2 of 2 jobs have not begun"
    for plan in plans[1:]:
        Path(plan).parent.mkdir()
        progress = {"done": 70, "before": 50, "total": 100, "seconds": 10.0}  # resumed at 50
        Path(plan).with_suffix(".progress.json").write_text(json.dumps(progress))
    line = training_line(totals, [done], [first, second])
    assert line == "training: 80 % of 300 steps · 4.0 steps/s · 20 s left"
    line = training_line(totals, [done, first], [second, later])  # a job of a later look
    assert line == "training: 85 % of 400 steps · 4.0 steps/s · 20 s left"


def test_the_name_of_a_job_lists_rule_study_run_and_seeds() -> None:
    run = {"study": "exp7", "arm": "native", "variant": "A", "seeds": "seeds-00-03"}
    assert name_job("train", run) == "train exp7 native/A seeds 0 to 3"
    assert name_job("compute", run | {"seeds": "once"}) == "compute exp7 native/A"
    assert name_job("measure", run | {"seeds": "seeds-1000-1000"}).endswith("seed 1000")
    data = {"study": "exp7", "dataset": "kb", "seeds": "seeds-02-02"}
    assert name_job("generate", data) == "generate exp7 kb seed 2"
    assert name_job("judge", {"study": "exp5"}) == "judge exp5"
    assert name_job("respond", {}) == "respond"


def test_durations_are_rounded() -> None:
    printed = [roughly(seconds) for seconds in (3, 44, 600, 12_000, 10_800)]
    assert printed == ["10 s", "40 s", "10 min", "3 h 20 min", "3 h"]


def test_an_error_line_is_printed_alone_and_a_crash_prints_the_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    assert why(log) == ["its log is missing"]
    log.write_text("training\nerror: no such arm\n")
    assert why(log) == ["error: no such arm"]
    log.write_text("".join(f"{n}\n" for n in range(100)))
    assert why(log) == [str(n) for n in range(88, 100)]


def test_a_cluster_message_is_one_line_without_advice() -> None:
    ended = "SLURM-job '3' failed, SLURM status is: 'TIMEOUT'."
    advice = "Detailed failure reason unavailable. For further error details see the cluster log."
    assert cluster_message(f"{ended} {advice}") == [ended]
    refused = "SLURM sbatch failed. The error message was 'invalid\naccount'."
    said = [refused.replace("\n", " ")]
    assert cluster_message(f"{refused}\n    sbatch call:\n        sbatch") == said
    assert cluster_message("For further error details see the cluster log.") == []


def test_what_slurm_wrote_into_a_log_is_printed_once(tmp_path: Path) -> None:
    log = tmp_path / "7.log"
    assert cluster_errors(log) == []
    memory = "slurmstepd-n1: error: StepId=7.batch exceeded memory limit (76 > 60), being killed"
    away = "srun: error: Unable to confirm allocation for job 7: Unable to contact slurm controller"
    exited = "srun: error: n1: task 0: Exited with exit code 1"
    log.write_text("\n".join(["Select jobs to execute...", memory, memory, exited, away]))
    assert cluster_errors(log) == [memory, away]


def judged_study(**words: str | None) -> dict[str, Any]:
    rows = [{"id": name.replace("_", "."), "verdict": word} for name, word in words.items()]
    study = rows[0]["id"].partition(".")[0]
    return {"study": study, "evidence": True, "verdicts": rows}


def test_a_headline_counts_verdicts_in_the_words_of_their_forms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    path = tmp_path / "verdicts.json"
    judged = judged_study(exp5_1="supported", exp5_2="supported", exp5_3=None, exp5_4="refuted")
    path.write_text(json.dumps(judged))
    counts = "3 claims: 1 supported, 1 no counterexample found, 1 refuted"
    assert count_verdicts([path]) == counts
    path.write_text(json.dumps(judged | {"evidence": False}))
    assert count_verdicts([path]) == f"{counts} (no evidence)"
    path.write_text(json.dumps(judged_study(exp1_1="supported", exp1_11="refuted")))
    assert count_verdicts([path]) == "1 claim: 1 supported"  # a check of code is in no count
    other = tmp_path / "other.json"
    other.write_text(json.dumps(judged_study(exp2_1="refuted") | {"evidence": False}))
    assert count_verdicts([path, other]) == "2 claims: 1 supported, 1 refuted (no evidence)"
    path.write_text("{")
    assert "cannot be read" in count_verdicts([path])
