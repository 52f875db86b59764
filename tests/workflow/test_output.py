"""Printed output of a run: a line per job, the log of a failed job, and the reports at the end."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from journeylab.records.files import read_json

from ..made import ran, wait_for
from .conftest import PROJECT, Copy

RULES = """\
import json
from snakemake.logging import logger

rule all:
    input: "reports/exp7.pdf"

rule train:
    input: "plans/train.json"
    output: "results/{study}/{arm}/{variant}/{seeds}/run.json"
    log: "logs/{study}/{arm}/{variant}/{seeds}.log"
    shell: "(cat begin; touch {output}) > {log} 2>&1"

rule judge:
    input: "results/{study}/characters/A/seeds-00-03/run.json"
    output: "results/{study}/verdicts.json"
    log: "logs/judge/{study}.log"
    shell: "(seq 100; sh ./judge > {output}) > {log} 2>&1"

rule typeset:
    input: "results/{study}/verdicts.json"
    output: "reports/{study}.pdf"
    shell: "touch {output}"
"""
ROW = '{"id": "exp7.3", "verdict": "refuted"}'
JUDGE = f"""echo '{{"study": "exp7", "evidence": true, "verdicts": [{ROW}]}}'"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    (tmp_path / "Snakefile").write_text(RULES)
    (tmp_path / "judge").write_text(JUDGE)
    (tmp_path / "begin").write_text("begun\n")
    shutil.copytree(PROJECT / "claims", tmp_path / "claims")
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans/train.json").write_text("{}")
    return tmp_path


def run(folder: Path, *arguments: str, logger: bool = True) -> subprocess.CompletedProcess[str]:
    command = ["snakemake", "--cores", "1", "--keep-going", *arguments]
    command += ["--logger", "journeylab"] if logger else []
    return ran(*command, folder=folder, code=None)


def test_each_job_prints_one_line_with_its_name_and_time(tiny: Path) -> None:
    """A dry run with commands is printed by snakemake."""
    planned = run(tiny, "--dry-run", "--printshellcmds").stdout
    assert "rule judge:" in planned
    assert "This was a dry-run" in planned
    done = run(tiny)
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert lines[0].startswith("3 jobs: ")
    assert [line.rpartition(" · ")[0] for line in lines[1:4]] == [
        "[1/3] train exp7 characters/A seeds 0 to 3",
        "[2/3] judge exp7",
        "[3/3] typeset exp7",
    ]
    assert lines[4:] == ["reports/exp7.pdf: 1 claim: 1 refuted"]
    assert done.stdout == ""
    assert "\x1b" not in done.stderr
    assert "Nothing to be done" in run(tiny).stderr


def test_a_failed_job_prints_the_end_of_its_log_once(tiny: Path) -> None:
    (tiny / "judge").write_text("echo Traceback >&2; echo ValueError: seven >&2; exit 1")
    done = run(tiny)
    assert done.returncode != 0
    lines = done.stderr.splitlines()
    failed = next(n for n, line in enumerate(lines) if line.startswith("failed: judge exp7 · "))
    assert "\n  98\n  99\n  100\n  Traceback\n  ValueError: seven\n" in done.stderr
    assert "  80" not in lines
    assert "  log: logs/judge/exp7.log" in lines[failed:]
    assert done.stderr.count("ValueError: seven") == 1
    assert lines[-2:] == ["1 of 3 jobs failed:", "  judge exp7 · logs/judge/exp7.log"]
    for noise in ("jobid", "RuleException", "set -euo pipefail", "At least one job"):
        assert noise not in done.stderr


def test_a_job_that_ends_with_an_error_line_prints_only_that_line(tiny: Path) -> None:
    (tiny / "judge").write_text("echo error: no such arm >&2; exit 2")
    assert "· 0:00\n  error: no such arm\n  log: logs/" in run(tiny).stderr


@pytest.mark.parametrize(
    ("snakefile", "target", "expected", "options"),
    [
        *((RULES, "nosuch.file", "MissingRuleException", dry) for dry in ((), ("--dry-run",))),
        (RULES, "results/exp7/characters/A/b/run.json", "", ("--dry-run",)),
        (RULES + "\nrule broken:\n    output 3\n", "all", "SyntaxError", ()),
        (RULES + "\nraise SystemExit('error: in one line')\n", "all", "error: in one line", ()),
        (RULES + "\nraise KeyError('gone')\n", "all", "KeyError", ("--dry-run",)),
    ],
)
def test_errors_of_snakemake_are_printed_once(
    tiny: Path, snakefile: str, target: str, expected: str, options: tuple[str, ...]
) -> None:
    (tiny / "Snakefile").write_text(snakefile)
    done = run(tiny, target, *options)
    assert bool(done.returncode) == bool(expected)
    printed = done.stdout + done.stderr  # of a dry run, snakemake prints all to stdout
    assert not expected or printed.count(expected) == 1, printed
    assert "Traceback" not in printed


def test_the_workflow_runs_without_the_logger(tiny: Path) -> None:
    assert run(tiny, logger=False).returncode == 0


def test_a_closed_pipe_stops_no_job(tiny: Path) -> None:
    command = "snakemake --cores 1 --logger journeylab 2>&1 | true"
    subprocess.run(command, shell=True, cwd=tiny, check=True, timeout=60)
    wait_for((tiny / "reports/exp7.pdf").exists)


def test_a_terminal_shows_the_same_plain_lines(tiny: Path) -> None:
    script = shutil.which("script")
    if script is None:
        pytest.skip("needs script(1)")
    command = f"{sys.executable} -m snakemake --cores 1 --logger journeylab"
    done = ran(script, "-qec", command, os.devnull, folder=tiny)
    assert "[2/3] judge exp7 · " in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.workflow
def test_a_run_ends_with_its_reports_and_verdict_counts_after_warnings(finished: Copy) -> None:
    output = (finished.path.parent / "output").read_text(encoding="utf-8")
    lines = output.splitlines()
    [line] = [line for line in lines[-5:] if line.startswith("reports/exp5.pdf: ")]
    assert " supported" in line
    assert line.endswith("(no evidence)")
    assert any("] compute exp5 bridge/rotation · " in line for line in lines)
    assert "jobid" not in output
    assert "response.yaml: open: neither claims nor an answer; write one of the two" in lines
    assert re.search(r"^exp7: [1-9]\d* runs imported, 0 were there$", output, re.MULTILINE)


@pytest.mark.workflow
def test_a_run_for_one_study_imports_its_runs_alone(project: Copy) -> None:
    project.configure(lambda config: config["tracking"].update(enabled=True))
    (project.path / "reports/exp5.pdf").unlink()
    output = project.snakemake("reports/exp5.pdf").stdout
    assert re.findall(r"^(exp\d+): .* runs imported", output, re.MULTILINE) == ["exp5"]


def test_the_snakemake_report_has_all_captions(project: Copy) -> None:
    project.snakemake("--report", "all.html", "reports/exp5.pdf")
    text = (project.path / "all.html").read_text(encoding="utf-8")
    figures = read_json(project.path / "reports/exp5/content.json")["figures"]
    captions = [json.dumps(f"<p>{figure['caption']}</p>")[1:-1] for figure in figures]
    assert captions
    assert [caption for caption in captions if caption not in text] == []


def test_the_readme_draws_the_rules_of_a_study() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    drawn = re.search(r"<!-- workflow: (.*?) -->\n```mermaid\n(.*?)```\n", text, re.DOTALL)
    assert drawn
    done = ran(*drawn[1].split(), folder=PROJECT)
    kept = {line for line in done.stdout.splitlines() if re.search(r"\[|-->|flowchart", line)}
    assert kept == set(drawn[2].splitlines()), f"write these lines of `{drawn[1]}` there"
