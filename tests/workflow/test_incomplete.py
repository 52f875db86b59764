"""After a kill left outputs incomplete, exit 0 means that the target exists and is complete."""

import base64
from pathlib import Path

import pytest

from .conftest import Copy

pytestmark = pytest.mark.workflow

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
