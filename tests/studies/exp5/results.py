"""Small results of exp5."""

from journeylab.plotting import StudyResults
from journeylab.studies.exp5_ssm_bridge.settings import Bridge, Computation, Settings

from ..gathering import gather, of_computed


def make_results() -> StudyResults:
    """Two draws of two operators at two lengths and at one where an operator overflows."""
    cases = {"computed": "bridge", "draws": 2, "lengths": (20, 200, 1500)}
    arm = Bridge(replicates="once", variants=["rotation", "contracted"], **cases)
    jobs = [Computation(variant=operator, **cases) for operator in arm.variants]
    tables = [of_computed("exp5", "bridge", job) for job in jobs]
    return gather("exp5", Settings(arms={"bridge": arm}), tables)
