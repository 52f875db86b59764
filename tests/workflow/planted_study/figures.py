"""One figure and one table of the planted study."""

from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table


def tabulate(results: StudyResults) -> dict[str, Table]:
    """The number of values of every arm."""
    counts = results.pool("value").groupby("arm").size().reset_index(name="seeds").astype(str)
    return {"seeds": Table(counts, caption="Seeds.")}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Nothing is cited."""
    return {}


def _draw_values(results: StudyResults) -> Figure | None:
    return plot.panels(results, results.tidy("value"), 1.0, "value", col="data")


FIGURES: plot.Figures = {"values": _draw_values}
