"""Values with a planted sign at every seed."""

import pandas as pd
from journeylab.studies.exp98_planted.settings import Computation

from journeylab.streams import Streams

SIGNS = {"+": 1.0, "-": -1.0, "0": 0.0}


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """A value whose sign the pattern plants; a failed seed has none."""
    assert streams is not None
    sign = job.pattern[streams.seed % len(job.pattern)]
    if sign == "x":
        return pd.DataFrame(columns=["metric", "value"])
    value = SIGNS[sign] * (1 + streams.numpy("value").random())
    return pd.DataFrame({"metric": ["value"], "value": [value]})
