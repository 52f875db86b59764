"""The whole pipeline: results do not depend on cores or kills, and are complete after a kill."""

import base64
import re
from pathlib import Path

import pytest

from journeylab.records.files import read_json

from ..made import kill, wait_for
from .conftest import Copy, hashes

pytestmark = pytest.mark.workflow


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
    expected = hashes(finished)
    assert len(expected) > 30
    assert hashes(copy) == expected
    assert not list(copy.path.glob("results/**/*.checkpoint*"))


RUN = "results/exp7/characters/A/*"
FIGURES = ("reports/exp7/figures",)
VERDICTS = ("results/exp7/verdicts.json",)
UPSTREAM = (
    *("data/exp7/plan/*.parquet", f"{RUN}/run.json", f"{RUN}/run.host.json"),
    *(f"{RUN}/weights.safetensors", f"{RUN}/curves.parquet", f"{RUN}/measurements.parquet"),
    *("results/exp7/measurements.parquet", *VERDICTS, "reports/exp7/manifest.json", *FIGURES),
    *(f"reports/exp7/{name}" for name in ("tables", "numbers.*", "content.json")),
    "reports/exp7.pdf",
)
"""Outputs upstream of a report that a kill may leave incomplete."""


def mark_incomplete(project: Copy, *patterns: str) -> None:
    """Write snakemake's markers of incomplete outputs, as a kill leaves them."""
    folder = project.path / ".snakemake/incomplete"
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in patterns:
        outputs = [str(path.relative_to(project.path)) for path in project.path.glob(pattern)]
        assert outputs
        for output in outputs:
            (folder / base64.b64encode(output.encode()).decode()).touch()


def check_done(project: Copy, target: str, *outputs: str) -> None:
    done = project.snakemake(target, check=False)
    assert done.returncode == 0, done.stderr
    assert [name for name in outputs if not (project.path / name).exists()] == [], done.stderr
    assert project.planned(target) == set()


@pytest.mark.parametrize(
    ("incomplete", "target", "pending"),
    [
        (FIGURES, "reports/exp7.pdf", ["reports/exp7.pdf"]),
        pytest.param(
            *(VERDICTS, "all"),
            ["reports/exp5.pdf", "reports/exp7.pdf", "reports/exp5/numbers.json"],
            marks=pytest.mark.system,
        ),
    ],
)
def test_reports_of_all_studies_are_made_despite_incomplete_outputs_of_one(
    project: Copy, incomplete: tuple[str, ...], target: str, pending: list[str]
) -> None:
    mark_incomplete(project, *incomplete)
    for name in pending:
        (project.path / name).unlink()
    check_done(project, target, *pending)


@pytest.mark.system
def test_making_all_leaves_nothing_incomplete(project: Copy) -> None:
    mark_incomplete(project, *UPSTREAM)
    check_done(project, "all", "reports/exp7.pdf")
    assert list(Path(project.path / ".snakemake/incomplete").iterdir()) == []
