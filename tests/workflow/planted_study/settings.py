"""The planted study has one kind of arm, which is computed."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Tag

from journeylab.config import ByKind, ComputedArm, Frozen, Name, StudySettings, TrainedArm


class Planted(ComputedArm):
    """``pattern`` is the sign of every seed's value; “x” is a seed that fails."""

    computed: Literal["planted"]
    replicates: Literal["seeds"]
    pattern: str


class Computation(Frozen):
    """The settings of a run."""

    computed: Literal["planted"]
    variant: str
    pattern: str


class Settings(StudySettings):
    """The section of the study in config.yaml."""

    arms: Mapping[
        Name,
        Annotated[
            Annotated[TrainedArm, Tag("(trained)")] | Annotated[Planted, Tag("(computed)")], ByKind
        ],
    ]
