"""A mistake in config.yaml or claims/ gives one error line, a non-zero exit and no file."""

import subprocess
from collections.abc import Callable

import pytest

from .conftest import Copy

pytestmark = pytest.mark.workflow

CLAIMS = "claims/exp7.yaml"


def output_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Lines that snakemake printed, without the line about the profile."""
    lines = (done.stdout + done.stderr).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("Using workflow")]


def misspelled_rate(copy: Copy) -> None:
    copy.configure(lambda config: config["studies"]["exp7"]["training"].update(learning_rte=0.1))


def misspelled_metric(copy: Copy) -> None:
    copy.edit(CLAIMS, lambda text: text.replace("metric: hits@1", "metric: hits@one"))


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (misspelled_rate, ("config.yaml", "studies.exp7.training.learning_rte")),
        (misspelled_metric, (CLAIMS, "hits@one", "hits@1")),
    ],
)
def test_a_mistake_gives_one_error_line(
    fresh: Copy, mistake: Callable[[Copy], None], words: tuple[str, ...]
) -> None:
    mistake(fresh)
    before = sorted(path for path in fresh.path.rglob("*") if ".snakemake" not in path.parts)
    done = fresh.snakemake("all", check=False)
    [line] = output_lines(done)
    assert done.returncode != 0
    assert [word for word in words if word not in line] == [], line
    after = sorted(path for path in fresh.path.rglob("*") if ".snakemake" not in path.parts)
    written = [path for path in after if path not in before and "__pycache__" not in path.parts]
    assert written == []


def test_only_targets_below_the_root_name_studies(fresh: Copy) -> None:
    root = "build/exp99/x"
    options = ("-n", "--shadow-prefix", f"{fresh.path}/exp20/x")
    fresh.snakemake(*options, f"{root}/reports/exp5.pdf", "--config", f"root={root}")
    done = fresh.snakemake(
        "-n", f"{root}/reports/exp6.pdf", "--config", f"root={root}", check=False
    )
    assert f"error: {root}/reports/exp6.pdf: exp6 is not in config.yaml" in done.stderr
