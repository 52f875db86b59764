"""Small results of exp5."""

from journeylab.plotting import StudyResults
from journeylab.studies.exp5_ssm_bridge.settings import Bridge, Settings

from ..gathering import computed, gather


def make_results() -> StudyResults:
    """Two draws of two operators at two lengths and at one where an operator overflows."""
    cases = {"draws": 2, "lengths": (20, 200, 1500)}
    operators = ["rotation", "contracted"]
    arm = Bridge(computed="bridge", replicates="once", variants=operators, **cases)
    tables = [*computed("exp5", "bridge", operators, **cases)]
    return gather("exp5", Settings(arms={"bridge": arm}), tables)
