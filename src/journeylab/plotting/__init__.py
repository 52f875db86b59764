"""The style sheet, plot forms, and the results that figures are drawn from."""

from journeylab.plotting.figures import Draw, Figures, draw_figures, multiples, stopping
from journeylab.plotting.medians import Columns, medians, ranges, tabulated
from journeylab.plotting.plots import (
    Lines,
    anchors,
    canvas,
    curves,
    facets,
    legend_above,
    median_interval,
    seeds,
)
from journeylab.plotting.results import (
    Level,
    RunName,
    StudyResults,
    Table,
    in_names,
    median,
    table,
)
from journeylab.plotting.searches import (
    describe_search,
    gain_of_longest,
    read_trials,
    tabulate_search,
    tabulate_trials,
)
from journeylab.plotting.style import SMALLEST, TEXT, Style, save, styled, styles
