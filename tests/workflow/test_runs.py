"""The whole pipeline: results do not depend on cores, kills or reruns."""

import re
from pathlib import Path

import pytest

from journeylab.records.files import read_json, sha256

from ..made import kill, wait_for
from .conftest import Copy

pytestmark = pytest.mark.workflow


def hashes(copy: Copy, *patterns: str) -> dict[str, str]:
    """SHA-256 of the files that match the patterns."""
    return {
        str(path.relative_to(copy.path)): sha256(path)
        for pattern in patterns
        for path in sorted(copy.path.glob(pattern))
    }


RESULTS = (
    "data/**/*.parquet",
    "results/**/*.parquet",
    "results/**/*.safetensors",
    "results/**/run.json",
    "results/**/verdicts.json",
    "reports/exp*/figures/*.pdf",
    "reports/exp*/tables/*.tex",
    "reports/exp*/numbers.tex",
)


@pytest.mark.system
def test_a_killed_pipeline_resumed_with_other_cores_gives_the_same_bytes(
    finished: Copy, tmp_path: Path
) -> None:
    copy = finished.duplicate(tmp_path / "project")
    for path in ("results/exp7", "reports/exp7", "reports/exp7.pdf"):
        copy.run("rm", "-r", path)
    process = copy.start("snakemake", "--cores", "1", "reports/exp7.pdf")
    wait_for(lambda: list(copy.path.glob("results/**/*.checkpoint*")), 300)
    assert process.poll() is None, "the pipeline ended before it could be killed"
    kill(process)
    (begun,) = (read_json(path) for path in copy.path.glob("results/**/run.start.json"))
    register = (copy.path / "claims/exp7.yaml").read_text(encoding="utf-8")
    copy.edit("claims/exp7.yaml", lambda text: re.sub(r"(statement: ['\"]?)", r"\1Now ", text))
    copy.run("snakemake", "--cores", "8", "results/exp7/verdicts.json")
    hosts = [read_json(path) for path in copy.path.glob("results/exp7/**/run.host.json")]
    (resumed,) = (host for host in hosts if host["started"] == begun["started"])
    assert resumed["rows"] == begun["rows"]
    assert all(host["rows"] != begun["rows"] for host in hosts if host is not resumed)
    assert not list(copy.path.glob("results/**/run.start.json"))
    (copy.path / "claims/exp7.yaml").write_text(register, encoding="utf-8")
    copy.run("snakemake", "--cores", "8", "all")
    expected = hashes(finished, *RESULTS)
    assert len(expected) > 30
    assert hashes(copy, *RESULTS) == expected
    assert not list(copy.path.glob("results/**/*.checkpoint*"))
