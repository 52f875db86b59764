"""Words of the planted study."""

from journeylab.config import Metric

TITLE = "Planted effects"
QUESTION = "Do looks stop where they should?"
TUNING = "nothing was tuned"
ARMS: dict[str, str] = {}
METRICS = {"value": Metric("value")}
