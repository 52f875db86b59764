"""What a mistake on the command line looks like: one line, exit code 2, nothing written."""

import subprocess
import sys
from pathlib import Path

import pytest


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
