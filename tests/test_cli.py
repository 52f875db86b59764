"""What the commands do by themselves: mistakes are one line, records say what ran."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from journeylab.workflow import stage_code


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "journeylab.cli", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("generate", "exp99", "seeds-00-01", "--settings", "{}"), ("'exp99'", "exp7")),
        (("generate", "exp7", "seeds-2-1", "--settings", "{}"), ("seeds-2-1", "seeds-00-03")),
        (("generate", "exp7", "seeds-00-01", "--settings", "{"), ("--settings", "JSON")),
        (
            ("generate", "exp7", "seeds-00-01", "--settings", '{"citie": 3}'),
            ("--settings: citie", "'cities'"),
        ),
        (("generate", "exp5", "seeds-00-01", "--settings", "{}"), ("exp5", "data.py")),
        (("collect", "exp7", "none.parquet"), ("none.parquet", "missing")),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path, arguments: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    done = run(*arguments, "--output", "out.parquet", folder=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert all(part in done.stderr for part in expected), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_where_it_happened(tmp_path: Path) -> None:
    done = run(
        *("--debug", "collect", "exp7", "none.parquet", "--output", "out.parquet"), folder=tmp_path
    )
    assert done.returncode != 0
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("asked", "ran"), [("auto", "batched"), ("sequential", "sequential"), ("batched", "batched")]
)
def test_a_record_says_which_engine_ran(tmp_path: Path, asked: str, ran: str) -> None:
    data = {"train": 40, "validation": 20}
    job = {
        **{"task": "A", "variant": "toral-product", "data": data, "model": {"d": 4}},
        "training": {"steps": 6, "learning_rate": 0.01, "batch": 8},
    }
    seeds = ("exp1", "seeds-00-01")
    made = run(
        *("generate", *seeds, "--settings", json.dumps(data), "--output", "data.parquet"),
        folder=tmp_path,
    )
    assert made.returncode == 0, made.stderr
    done = run(
        *("train", "exp1", "A", "toral-product", seeds[1], "--settings", json.dumps(job)),
        *("--code", stage_code("exp1", "train"), "--data", "data.parquet", "--engine", asked),
        *("--device", "cpu", "--output", "run.json"),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    content = record.get("content", record)
    assert (content["engine"], content["device"]) == (ran, "cpu")
    assert [seed["status"] for seed in content["seeds"]] == ["finished", "finished"]
    assert not list(tmp_path.glob("*.checkpoint"))
