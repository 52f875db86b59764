"""A mistake in config.yaml or claims/ gives one error line, a non-zero exit and no file."""

import subprocess

import pytest

from .conftest import Copy

pytestmark = pytest.mark.workflow

CLAIMS = "claims/exp7.yaml"


def output_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Lines that snakemake printed, without the line about the profile."""
    lines = (done.stdout + done.stderr).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("Using workflow")]


def test_a_mistake_in_the_configuration_gives_one_error_line(fresh: Copy) -> None:
    fresh.configure(lambda c: c["studies"]["exp7"]["training"].update(learning_rte=0.1))
    before = sorted(path for path in fresh.path.rglob("*") if ".snakemake" not in path.parts)
    done = fresh.snakemake("all", check=False)
    lines = output_lines(done)
    message = [line for line in lines if "config.yaml" in line]
    assert done.returncode != 0
    assert len(lines) == len(message) == 1, lines
    assert "studies.exp7.training.learning_rte" in message[0]
    after = sorted(path for path in fresh.path.rglob("*") if ".snakemake" not in path.parts)
    written = [path for path in after if path not in before and "__pycache__" not in path.parts]
    assert written == []


def test_an_unknown_metric_of_a_claim_gives_one_error_line(fresh: Copy) -> None:
    fresh.edit(CLAIMS, lambda text: text.replace("metric: hits@1", "metric: hits@one"))
    done = fresh.snakemake("all", check=False)
    lines = output_lines(done)
    assert done.returncode != 0
    assert len(lines) == 1, lines
    assert CLAIMS in lines[0]
    assert "hits@one" in lines[0]
    assert "hits@1" in lines[0]
    assert not (fresh.path / "results").exists()


def test_only_targets_below_the_root_name_studies(fresh: Copy) -> None:
    root = "build/exp99/x"
    options = ("-n", "--shadow-prefix", f"{fresh.path}/exp20/x")
    fresh.snakemake(*options, f"{root}/reports/exp5.pdf", "--config", f"root={root}")
    done = fresh.snakemake(
        "-n", f"{root}/reports/exp6.pdf", "--config", f"root={root}", check=False
    )
    assert f"error: {root}/reports/exp6.pdf: exp6 is not in config.yaml" in done.stderr
