"""`journeylab watch`: what a workflow does, read from its files."""

import contextlib
import fcntl
import io
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter

import pytest
from rich.console import Console
from typer.testing import CliRunner

from journeylab.commands.app import app
from journeylab.commands.watch import judged, show
from journeylab.records import files, runs
from journeylab.records.live import Activity
from journeylab.records.looks import SeedRange
from journeylab.records.plans import Plan, write_plan
from journeylab.records.verdicts import StudyVerdicts
from journeylab.workflow.recovery import active_since

from ..made import STARTED, ran, verdict, write_finished, write_look

LONG_AGO = time.time() - 3600


class Root:
    """A results root with jobs of exp7 that each train or compute one seed."""

    def __init__(self, path):
        self.path = path

    def plan(self, variant, seed=0, stage="train", study="exp7", steps=100, worlds=1):
        plan = Plan(
            stage=stage,
            study=study,
            arm="native",
            variant=variant,
            seeds=(seed,),
            settings={"training": {"steps": steps}, "data": {"worlds": worlds}}
            if stage == "train"
            else {},
        )
        self.names = f"{study}/native/{variant}/seeds-{seed:02d}-{seed:02d}"
        write_plan(self.path / f"plans/{self.names}/{stage}.json", plan)
        return plan

    def begin(self, *arguments, **named):
        plan = self.plan(*arguments, **named)
        start = runs.RunStart(plan_key=plan.key, started=STARTED)
        runs.begin_run(self.path / "results" / self.names, start)
        return plan

    def progress(self, done, seconds=10.0, **more):
        path = self.path / f"plans/{self.names}/train.progress.json"
        content = {"done": done, "before": 0, "total": 100, "seconds": seconds, **more}
        files.write_json(path, content, sealed=False)

    def log(self, text, stage="train"):
        path = self.path / f"logs/{stage}/{self.names}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def finish(self, variant, reason=None, **named):
        plan = self.begin(variant, **named)
        write_finished(self.path / "results" / self.names, plan, reason)

    def age(self):
        """Make all files of the last job an hour old."""
        for folder in ("plans", "results", "logs"):
            for path in self.path.glob(f"{folder}/**/*"):
                if path.is_file() and str(path).find(self.names) >= 0:
                    os.utime(path, (LONG_AGO, LONG_AGO))

    def page(self, width=200):
        """The lines of the page, with single spaces."""
        console = Console(width=width, file=io.StringIO())
        console.print(show(Activity(self.path), self.path))
        lines = console.file.getvalue().splitlines()
        return [" ".join(re.sub("[━╸╺]", "", line).split()) for line in lines]

    def states(self):
        since = active_since(self.path / ".snakemake")
        jobs = [job for jobs in Activity(self.path).read(since=since).values() for job in jobs]
        return {job.plan.variant: job.state for job in jobs}


@pytest.fixture
def root(tmp_path):
    return Root(tmp_path)


def test_the_state_of_a_job_follows_from_its_files(root):
    root.plan("waits")
    root.begin("runs")
    root.progress(50)
    root.begin("stopped")
    root.progress(50)
    root.age()
    root.begin("failed")
    root.log("training\nerror: no such arm\n")
    root.finish("done")
    assert root.states() == {
        "waits": "waiting",
        "runs": "running",
        "stopped": "stopped",
        "failed": "failed",
        "done": "done",
    }


def test_a_run_of_an_older_plan_is_not_done(root):
    root.finish("A", steps=100)
    root.plan("A", steps=200)
    assert root.states() == {"A": "waiting"}


def test_an_error_of_an_earlier_plan_does_not_count(root):
    root.plan("A")
    root.log("error: no such arm\n")
    assert root.states() == {"A": "failed"}
    root.age()
    root.plan("A", steps=200)  # the plan is newer than the log
    assert root.states() == {"A": "waiting"}


def test_a_computed_run_may_be_silent_as_long_as_its_workflow_is_alive(root):
    root.begin("rank", stage="compute")
    root.log("", stage="compute")
    assert root.states() == {"rank": "running"}
    root.age()
    assert root.states() == {"rank": "stopped"}
    folder = root.path / ".snakemake/runs"
    folder.mkdir(parents=True)
    path = folder / f"{socket.gethostname()}:{os.getpid()}"
    with path.open("w") as held:
        os.utime(path, (LONG_AGO - 60, LONG_AGO - 60))
        fcntl.flock(held, fcntl.LOCK_EX)
        assert root.states() == {"rank": "running"}
        assert active_since(root.path / ".snakemake") == pytest.approx(LONG_AGO - 60)
    assert active_since(root.path / ".snakemake") is None


def test_steps_rates_and_time_left_add_up_over_jobs(root):
    for seed, done in enumerate((20, 40)):
        root.begin("A", seed)
        root.progress(done, seconds=10.0, step=done, loss=0.5)
    root.finish("B")
    root.plan("C")
    page = root.page()
    numbers = "0 of 2 1 done, 2 running, 1 waiting 160 of 400 6.0 40 s"  # seed 0 of C is not done
    assert {f"exp7 {numbers}", f"native {numbers}"} <= {*page}
    jobs = [re.sub(r"\d s ago", "ago", line) for line in page if line.startswith("train ")]
    assert jobs == [
        "train exp7 native/A seed 0 running 20 of 100 0.5000 2.0 40 s ago",
        "train exp7 native/A seed 1 running 40 of 100 0.5000 4.0 20 s ago",
    ]


def test_every_world_of_a_seed_is_trained(root):
    root.begin("A", worlds=4)
    root.progress(100, total=400)
    [job] = Activity(root.path).read()["exp7"]
    assert (job.pace.done, job.pace.total) == (100, 400)


def test_failures_name_the_job_or_the_log(root):
    root.finish("A", reason="the loss was nan at step 3")
    root.begin("B")
    root.log('Traceback (most recent call last):\n  File "x"\nValueError: [red]\n')
    write_plan(root.path / "plans/exp7/judge.json", Plan(stage="judge", study="exp7"))
    log = root.path / "logs/judge/exp7.log"
    log.parent.mkdir(parents=True)
    log.write_text("error: claims/exp7.yaml: wrong\n")
    page = root.page(400)
    assert page[page.index("failures") + 1 :][:3] == [
        "train exp7 native/A seed 0 seed 0: the loss was nan at step 3",
        "train exp7 native/B seed 0 ValueError: [red]",
        f"{log} claims/exp7.yaml: wrong",
    ]
    os.utime(log, (LONG_AGO, LONG_AGO))  # the plan is newer
    assert str(log) not in Activity(root.path).errors()


def test_a_study_that_has_not_begun_is_only_named(root):
    root.plan("A")
    root.plan("A", study="exp10")
    root.finish("A", study="exp9")
    page = root.page()
    assert [line.split()[0] for line in page if line.startswith("exp")] == ["exp9"]
    assert "not begun: exp7, exp10" in page


def test_a_chunk_waits_only_if_a_look_has_asked_for_it(root):
    for look in (1, 2):
        plan = Plan(stage="look", study="exp7", seeds=tuple(range(look)))
        write_plan(root.path / f"plans/exp7/looks/{look}.json", plan)
        (root.path / f"plans/exp7/looks/{look}.cost.json").write_text("{}")
    root.finish("A")
    for variant in "AB":
        for seed in (1, 2):
            root.plan(variant, seed)
    root.plan("certificate", stage="compute")

    def jobs():
        return Counter(root.states().values())

    assert jobs() == {"done": 1, "waiting": 1}

    def look(number, **further):
        plan = Plan(stage="look", study="exp7", seeds=tuple(range(number)))
        taken = SeedRange(first=1, further={f"native/{run}": n for run, n in further.items()})
        states = {"exp7.1": "open"}
        write_look(root.path, number, number, states, further, taken, origin=plan.origin())
        return jobs()

    assert look(1, B=2) == {"done": 1, "waiting": 2}
    assert look(2) == {"done": 1, "waiting": 1}
    assert look(1) == {"done": 1, "waiting": 1}  # the looks end before the second


def test_the_study_is_readable_in_a_narrow_terminal(root):
    root.finish("A", study="exp10")
    root.finish("an-arm-with-a-long-name", seed=1, study="exp10", steps=10**9)
    root.begin("C", study="exp10")
    assert any(line.startswith("exp10 ") for line in root.page(80))


def test_open_rows_are_those_that_the_seeds_do_not_decide(tmp_path):
    assert judged(tmp_path, "exp7") == ""
    rows = [
        verdict("exp7.1", "supported"),
        verdict("exp7.2", "inconclusive"),
        verdict("exp7.3", None, k=None),
        verdict("exp7.s1", None, primary=False),
    ]
    verdicts = StudyVerdicts(
        study="exp7", scale="default", seeds=12, evidence=True, alpha=0.05, M=2, verdicts=rows
    )
    path = tmp_path / "results/exp7/verdicts.json"
    files.write_json(path, verdicts)
    assert judged(tmp_path, "exp7") == "12 seeds: 1 of 2 claims open"
    path.write_bytes(path.read_bytes()[:-9])
    assert "is damaged" in judged(tmp_path, "exp7")


def test_the_last_look_says_what_is_open(tmp_path):
    for number, seeds, goes_on in ((1, 12, ("a/x", "b/x")), (2, 16, ("b/x",))):
        states = {"exp7.1": "decided", "exp7.2": "open"}
        write_look(tmp_path, number, seeds, states, goes_on, SeedRange(first=12))
    with files.write_atomic(tmp_path / "results/exp7/looks/20.json") as partial:
        partial.touch()  # a look that is being written
        assert judged(tmp_path, "exp7") == "look 2, 16 seeds: 1 of 2 claims open, 1 runs go on"


def test_the_state_is_printed_once_where_there_is_no_terminal(root):
    root.begin("A")
    root.progress(50, step=50, loss=0.25)
    root.begin("B")
    root.log("error: <b> [red] is no arm\n")
    command = ["watch", "--root", str(root.path)]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    for words in ("train exp7 native/A seed 0", "50 of 100", "0.2500", "1 running, 1 failed"):
        assert words in done.stdout
    assert "<b> [red] is no arm" in done.stdout


def test_a_folder_without_plans_is_an_error_in_one_line(tmp_path):
    done = ran(sys.executable, "-m", "journeylab", "watch", "--root", tmp_path, code=2)
    assert done.stderr == (
        f"error: {tmp_path}/plans is missing: no workflow has run here; write its --root\n"
    )


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_terminal_is_refreshed_until_a_signal(root, ending):
    root.begin("A")
    root.progress(50)
    shown, terminal = pty.openpty()
    watching = subprocess.Popen(
        [
            *(sys.executable, "-m", "journeylab", "watch", "--root", str(root.path)),
            *("--interval", "0.5"),
        ],
        stdout=terminal,
        stderr=subprocess.PIPE,
        env=os.environ | {"COLUMNS": "160", "TERM": "xterm"},
    )
    os.close(terminal)
    try:
        for done in (50, 75):
            root.progress(done)
            text = b""
            while f"{done} of 100".encode() not in text:
                text += os.read(shown, 1000)
    finally:
        watching.send_signal(ending)
        with contextlib.suppress(OSError):  # the end of the terminal
            while os.read(shown, 1000):
                pass
    assert watching.communicate()[1] == b""
    assert watching.returncode == 0


FINALISED = """
import signal, time
from journeylab.commands.watch import until_ended

class Finalised:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

with until_ended():
    Finalised()
    print("goes on", flush=True)
"""


@pytest.mark.parametrize(
    ("rest", "printed"),
    [
        ("    time.sleep(30)\n    print('was not ended')", ""),
        # another signal is faster: nothing interrupts what follows
        ("    signal.raise_signal(signal.SIGTERM)\ntime.sleep(0.5)\nprint('after')", "after\n"),
    ],
)
def test_a_signal_in_a_finaliser_ends_the_block_all_the_same(rest, printed):
    ended = ran(sys.executable, "-c", FINALISED + rest)
    assert (ended.stdout, ended.stderr) == (f"goes on\n{printed}", "")
