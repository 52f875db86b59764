"""What ``journeylab judge`` prints of any table: a figure, LaTeX macros, and a page."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from journeylab.plotting.style import save, styled
from journeylab.records.files import write_atomic
from journeylab.reports.first_page import front_row, row_marks
from journeylab.reports.forest import WIDTH, strip
from journeylab.reports.latex import latex_macros
from journeylab.reports.numbers import study_numbers
from journeylab.reports.typeset import compile_pdf
from journeylab.wording.rows import Row, StudyRows
from journeylab.wording.verdicts import certainty, headline

_COLORS = {"supported": "#14693f", "refuted": "#a8321e"}


def write_page(study: StudyRows, remarks: Sequence[str], folder: Path) -> None:
    """Write ``figure.pdf`` and ``.svg``, ``numbers.tex`` and ``page.pdf``.

    ``remarks`` say what is known of the looks and of the registration.
    """
    if drawn := [row for row in study.verdicts if strip(row)]:
        with styled():
            save(_figure(drawn), folder / "figure.pdf")
    with write_atomic(folder / "numbers.tex") as partial:
        partial.write_text(latex_macros(study_numbers(study, {})), encoding="utf-8")
    notes, marks = row_marks(study)
    page = {
        "study": study.study,
        "headline": headline(study.judged),
        "certainty": certainty(study, failed=0, trained=0),
        "remarks": remarks,
        "width": WIDTH,
        "rows": [front_row(row, marks[row.id]) | {"source": ""} for row in study.judged],
        "notes": notes,
    }
    compile_pdf("judged", page, {}, folder / "page.pdf", "page.pdf")


def _figure(rows: list[Row]) -> Figure:
    """The effect and the interval of every row beside its claimed region, each on its own scale."""
    figure = Figure(figsize=(5.5, 0.4 + 0.42 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for i, row in enumerate(rows):
        lanes = strip(row)
        for j, lane in enumerate(lanes):
            y, height = i + 0.8 * (j + 0.5) / len(lanes) - 0.4, 0.8 / len(lanes)
            color = _COLORS.get(row.verdict or "", "#3a4652")
            if lane.region:
                start, end = lane.region
                axes.barh(y, end - start, height, start, color="#d5e3ee")
            axes.vlines(lane.margins, y - height / 2, y + height / 2, color="#3a4652", lw=0.8)
            if lane.interval:
                axes.hlines(y, *lane.interval, color=color)
            if lane.effect is not None:
                axes.plot(lane.effect, y, "o", color=color, ms=4)
    axes.set(
        xlim=(0, WIDTH),
        ylim=(len(rows) - 0.5, -0.5),
        xticks=[],
        yticks=range(len(rows)),
        yticklabels=[f"{row.id}  {row.word}" for row in rows],
    )
    axes.spines[["left", "top", "right", "bottom"]].set_visible(False)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    return figure
