"""One figure and one table of the planted study."""

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table


def tabulate(results: StudyResults) -> dict[str, Table]:
    """The number of values of every arm."""
    counts = results.pool("value").groupby("arm").size().reset_index(name="seeds").astype(str)
    return {"seeds": Table(counts, caption="Seeds.")}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Nothing is cited."""
    return {}


FIGURES: plot.Figures = {
    "values": plot.multiples("value", height=1.0, labels=("value", ""), col="data")
}
