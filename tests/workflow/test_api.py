"""Python can start the workflow: the arguments of its own process say nothing about it."""

import re

import pytest

from .conftest import Copy

pytestmark = pytest.mark.workflow

SCRIPT = """
import sys
from pathlib import Path
from snakemake.api import SnakemakeApi
from snakemake.settings.types import DAGSettings, OutputSettings, ResourceSettings

sys.argv = {argv!r}
with SnakemakeApi(OutputSettings(dryrun=True)) as api:
    workflow = api.workflow(ResourceSettings(cores=1), snakefile=Path("Snakefile"))
    workflow.dag(DAGSettings(targets={targets!r})).execute_workflow(executor="dryrun")
"""


def test_a_workflow_that_python_starts_plans_its_targets(fresh: Copy) -> None:
    argv = ["pytest", "-x", "--weird", "exp99"]
    own = fresh.run("python", "-c", SCRIPT.format(argv=argv, targets={"reports/exp5.pdf"}))
    jobs = re.findall(r"^(?:local)?(?:rule|checkpoint) (\w+):", own.stdout + own.stderr, re.M)
    assert sorted(set(jobs)) == ["collect", "compute", "draw", "judge", "typeset"]
    every = fresh.run("python", "-c", SCRIPT.format(argv=argv, targets=set()))
    assert "rule respond:" in every.stdout + every.stderr
    assert not (fresh.path / "plans").exists()
