"""The world of the plan, one per seed."""

import pandas as pd

from journeylab.datasets.kinship import draw_kinship
from journeylab.streams import Streams
from journeylab.studies.exp7_native_kg.settings import Data


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """The facts of one seed's world, as :func:`draw_kinship` makes them."""
    return draw_kinship(data, streams.numpy("world"))
