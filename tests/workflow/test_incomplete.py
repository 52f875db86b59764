"""Jobs that a kill left incomplete: exit 0 means that the target is there and nothing is left."""

import base64
from pathlib import Path

import pytest

from .conftest import Copy

pytestmark = pytest.mark.workflow

RUN = "results/exp7/native/A/*"
UPSTREAM = {
    "the dataset": ["data/exp7/world/*.parquet"],
    "the record of a run": [f"{RUN}/run.json"],
    "all of a run": [
        f"{RUN}/{name}"
        for name in ("run.json", "run.host.json", "weights.safetensors", "curves.parquet")
    ],
    "weights": [f"{RUN}/weights.safetensors"],
    "curves": [f"{RUN}/curves.parquet"],
    "what a run measured": [f"{RUN}/measurements.parquet"],
    "what a study measured": ["results/exp7/measurements.parquet"],
    "verdicts": ["results/exp7/verdicts.json"],
    "the manifest": ["reports/exp7/manifest.json"],
    "figures": ["reports/exp7/figures"],
    "all that was drawn": [
        f"reports/exp7/{name}"
        for name in ("figures", "tables", "numbers.tex", "numbers.json", "content.json")
    ],
    "the report": ["reports/exp7.pdf"],
}
"""What a kill may leave incomplete upstream of a report."""


def mark_incomplete(project: Copy, *patterns: str) -> None:
    """What snakemake leaves behind for the outputs of jobs that were killed."""
    folder = project.path / ".snakemake/incomplete"
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in patterns:
        outputs = [str(path.relative_to(project.path)) for path in project.path.glob(pattern)]
        assert outputs
        for output in outputs:
            (folder / base64.b64encode(output.encode()).decode()).touch()


def check_done(project: Copy, target: str, *made: str) -> None:
    done = project.snakemake(target, check=False)
    assert done.returncode == 0, done.stderr
    assert [name for name in made if not (project.path / name).exists()] == [], done.stderr
    assert project.planned(target) == set()


@pytest.mark.parametrize("killed", ["verdicts", "figures"])
def test_a_report_that_is_asked_for_is_made_whatever_a_kill_left_incomplete(
    project: Copy, killed: str
) -> None:
    mark_incomplete(project, *UPSTREAM[killed])
    (project.path / "reports/exp7.pdf").unlink()
    check_done(project, "reports/exp7.pdf", "reports/exp7.pdf")


def test_an_incomplete_job_of_one_study_drops_no_job_of_another(project: Copy) -> None:
    mark_incomplete(project, *UPSTREAM["verdicts"])
    reports = ("reports/exp5.pdf", "reports/exp7.pdf")
    pending = (*reports, "reports/exp5/numbers.json")
    for name in pending:
        (project.path / name).unlink()
    check_done(project, "all", *pending)


def test_nothing_that_is_incomplete_survives_a_request_for_everything(project: Copy) -> None:
    mark_incomplete(project, *{name for names in UPSTREAM.values() for name in names})
    check_done(project, "all", "reports/exp7.pdf")
    assert list(Path(project.path / ".snakemake/incomplete").iterdir()) == []
