"""The whole of ``config.yaml``: where results go, how many seeds, which studies."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from journeylab.config.errors import UserError, masked
from journeylab.config.fields import (
    MOST_RUNS,
    MOST_SEEDS,
    AsNumber,
    FolderPath,
    Frozen,
    Name,
    Scale,
    Switch,
)
from journeylab.config.study import StudySettings


class Tracking(Frozen):
    """Where runs are logged, and whether they are logged at the end of every workflow."""

    enabled: Switch = True
    uri: Annotated[str, StringConstraints(pattern=r"^[a-z+]+:[A-Za-z0-9_./:@%-]+$")] = (
        "sqlite:///mlflow.db"
    )

    @model_validator(mode="before")
    @classmethod
    def _without_credentials(cls, written: Any) -> Any:
        if isinstance(written, str):  # to be refused as no mapping, but not aloud
            return masked(written)
        uri = str(written.get("uri", "")) if isinstance(written, Mapping) else ""
        if masked(uri) != uri:
            raise ValueError(
                "uri must not hold a user, a password or options; write the address only, and set "
                "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_URI"
            )
        return written


MOST_REGISTERED = 36
"""The largest number of seeds that a register asks for."""
REVIEWED_NAME = r"^[A-Za-z0-9][A-Za-z0-9._/-]*$"
"""The names of tags and commits that ``since`` accepts."""
SeedCount = Annotated[int, Field(gt=0, le=MOST_SEEDS), AsNumber]
SeedsByScale = Annotated[
    Annotated[dict[Scale, SeedCount], Tag("(by scale)")] | Annotated[SeedCount, Tag("(number)")],
    Discriminator(lambda value: "(number)" if isinstance(value, int) else "(by scale)"),
]
"""Numbers of seeds by scale, or one number for the scale that is run."""


class Config(Frozen):
    """The whole of ``config.yaml`` at one scale.

    ``seeds`` fixes the number of seeds; where it names none, the register of a study decides.
    ``since`` is the tag or commit of the version that was reviewed.
    """

    root: FolderPath = "."
    scale: Scale = "default"
    seeds: SeedsByScale = Field(default_factory=dict)
    seeds_from: Annotated[int, Field(ge=0, le=10**9), AsNumber] | None = None
    engine: Literal["auto", "sequential", "batched"] = "auto"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    evidence: Literal["run", "use", "only"] = "run"
    anonymous: Switch = False
    since: Annotated[str, StringConstraints(pattern=REVIEWED_NAME)] | None = None
    tracking: Tracking = Tracking()
    studies: Annotated[Mapping[Name, StudySettings], Field(min_length=1)]

    @model_validator(mode="after")
    def _counts_the_seeds(self) -> Self:
        if self.scale == "quick" and self.seed_count is None:
            raise ValueError("seeds: write how many scale 'quick' runs")
        count = self.seed_count or MOST_REGISTERED
        for study, settings in self.studies.items():
            runs = len(list(settings.enabled())) * -(-count // settings.chunk)
            if runs > MOST_RUNS:
                raise ValueError(
                    f"seeds.{self.scale}: {count} in chunks of {settings.chunk} are "
                    f"{runs} runs of {study}; at most {MOST_RUNS}: write a larger chunk"
                )
        return self

    @property
    def seed_count(self) -> int | None:
        """Number of seeds of this scale; None if the register decides."""
        return self.seeds if isinstance(self.seeds, int) else self.seeds.get(self.scale)


ONCE = "once"
"""Stands for the chunk of a run without seeds."""


def chunks(seeds: range, size: int) -> list[str]:
    """Names of the chunks of these seeds, e.g. ``seeds-00-03``."""
    bounds = ((first, min(first + size, seeds.stop) - 1) for first in seeds[::size])
    return [f"seeds-{first:02d}-{last:02d}" for first, last in bounds]


def chunk_seeds(chunk: str) -> range:
    """The seeds of a chunk name; raises UserError if it is not one."""
    match = re.fullmatch(r"seeds-(\d{2,})-(\d{2,})", chunk)
    if not match or int(match[1]) > int(match[2]):
        raise UserError(f"chunk {chunk!r}: write seeds-FIRST-LAST, e.g. seeds-00-03")
    return range(int(match[1]), int(match[2]) + 1)
