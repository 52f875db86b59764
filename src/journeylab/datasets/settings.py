"""Settings of shared datasets in config.yaml. Imports no torch, because planning reads them."""

from typing import Annotated

from pydantic import Field

from journeylab.config import Count, FromFile


class Shakespeare(FromFile):
    """`passage`: characters of a passage. `held_out`: the share of passages that is held out."""

    passage: Count = 1024
    held_out: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.1
