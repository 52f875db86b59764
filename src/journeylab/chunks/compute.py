"""One seed of a computed run, or a run that is computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from journeylab import training
from journeylab.chunks.tables import labelled
from journeylab.streams import Streams

if TYPE_CHECKING:
    from journeylab.config import Frozen
    from journeylab.parts import ComputePart


def compute(
    part: ComputePart,
    job: Frozen,
    run: tuple[str, str | None, str | None],
    seed: int | None,
) -> pd.DataFrame:
    """The tidy measurements of one seed; of the whole run if `seed` is None."""
    training.prepare_process(threads=1)
    streams = None if seed is None else Streams(run[0], seed)
    return labelled(part.compute(job, streams), run, seed)
