"""The jobs of the small project as commands, with the files that each writes."""

import shutil
from typing import NamedTuple

from ..workflow.conftest import Copy, command_of
from .conftest import REPORT, RUN, SEEDS, STUDY

DATA = f"data/{STUDY}/points/{SEEDS}.parquet"
RESULTS, DRAWN = f"results/{STUDY}", f"reports/{STUDY}"


class Job(NamedTuple):
    """A job: its plan below `plans/`, the output that marks it as done, all outputs, inputs."""

    plan: str
    output: str
    outputs: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...] = ()

    @property
    def stage(self) -> str:
        return self.plan.rpartition("/")[2].removesuffix(".json")

    def command(self, stage: str) -> tuple[str, ...]:
        """The command of the rule."""
        files = dict(self.inputs)
        return command_of(stage, self.plan, output=self.output, studies=[STUDY], **files)

    def undo(self, copy: Copy) -> None:
        """Remove what the job made."""
        for name in self.outputs:
            path = copy.path / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


_RUN = f"{STUDY}/many/hidden/{SEEDS}"
_OF_RUN = tuple(
    f"{RUN}/{name}"
    for name in ("run.json", "run.host.json", "weights.safetensors", "curves.parquet")
)
_ONCE = f"results/{STUDY}/corners/all/once"
JOBS = {
    "generate": Job(f"{STUDY}/data/points/{SEEDS}.json", DATA, (DATA,)),
    "train": Job(f"{_RUN}/train.json", f"{RUN}/run.json", _OF_RUN, (("data", DATA),)),
    "compute": Job(
        f"{STUDY}/corners/all/once/compute.json", f"{_ONCE}/run.json",
        tuple(f"{_ONCE}/{name}" for name in ("run.json", "run.host.json", "measurements.parquet")),
    ),
    "measure": Job(
        f"{_RUN}/measure.json", f"{RUN}/measurements.parquet", (f"{RUN}/measurements.parquet",),
        (("data", DATA), ("run", f"{RUN}/run.json")),
    ),
    "collect": Job(
        f"{STUDY}/collect.json", f"{RESULTS}/measurements.parquet",
        (f"{RESULTS}/measurements.parquet",),
    ),
    "judge": Job(
        f"{STUDY}/judge.json", f"{RESULTS}/verdicts.json", (f"{RESULTS}/verdicts.json",),
    ),
    "draw": Job(f"{STUDY}/draw.json", f"{DRAWN}/manifest.json", (DRAWN,)),
    "typeset": Job(f"{STUDY}/typeset.json", REPORT, (REPORT,)),
    "respond": Job(
        "respond.json", "reports/response.json",
        ("reports/latex", *(f"reports/response.{end}" for end in ("json", "pdf", "md", "tar.gz"))),
    ),
    "index": Job("index.json", "reports/index.html", ("reports/index.html",)),
}  # fmt: skip
"""The jobs from the data to the claims index, by stage."""
