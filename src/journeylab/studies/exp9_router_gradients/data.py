"""Passages of the text; the seed decides which of them are held out."""

from pathlib import Path

import pandas as pd

from journeylab.datasets.shakespeare import split
from journeylab.streams import Streams
from journeylab.studies.exp9_router_gradients.settings import Data


def generate(data: Data, streams: Streams, file: Path) -> pd.DataFrame:
    """The passages of a seed: passage, part, text."""
    return split(data, file, streams.generator("held-out"))
