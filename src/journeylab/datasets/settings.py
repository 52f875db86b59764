"""What config.yaml may say about a dataset that studies share; planning reads it without torch."""

from typing import Annotated

from pydantic import Field

from journeylab.config import Count, FromFile


class Shakespeare(FromFile):
    """How the text is cut: characters of a passage, and the share of passages that is held out."""

    passage: Count = 1024
    held_out: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.1
