"""One figure and one table of the planted study."""

from matplotlib.figure import Figure

from journeylab.plotting import StudyResults, Table, facets, seeds

CAPTIONS = {"values": "Values of all seeds."}


def draw(results: StudyResults) -> dict[str, Figure]:
    """The values of every arm."""
    rows = results.tidy("value")
    figure, panels = facets(rows, 1.0, "value", col="data")
    for axes, part in panels.values():
        seeds(axes, part, results.styles)
    return {"values": figure}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """The number of values of every arm."""
    counts = results.pool("value").groupby("arm").size().reset_index(name="seeds").astype(str)
    return {"seeds": Table(name="seeds", caption="Seeds.", frame=counts)}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Nothing is cited."""
    return {}
