"""The synthetic world of exp7, one per seed."""

import pandas as pd

from journeylab.datasets.kinship import draw_kinship
from journeylab.streams import Streams
from journeylab.studies.exp7_native_kg.settings import Data


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """Draw the facts of one seed's world; see :func:`draw_kinship`."""
    return draw_kinship(data, streams.numpy("world"))
