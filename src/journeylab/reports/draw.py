"""Figures, tables and number macros of one study."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from journeylab import plotting as plot
from journeylab.config import UserError, check_known
from journeylab.plotting import StudyResults, Table
from journeylab.records.files import MANIFEST, write_json
from journeylab.reports.latex import latex_macros, latex_table
from journeylab.reports.numbers import study_numbers, with_own_keys
from journeylab.reports.queries import answer
from journeylab.reports.tables import fairness, printed_table, verdict_tables
from journeylab.wording.names import FILE, WrittenTable
from journeylab.wording.typography import Number, in_form, plain

_LOOKS = (
    "The number of seeds at which the looks at each claim ended. Markers and words say how: "
    "supported or refuted; withheld, since a prerequisite is not met; or inconclusive: settled "
    "if no further seeds up to the last look could decide the claim, and else open."
)
_INTERVALS = "distribution-free 95 % intervals"
_DOTS = f"Each dot is one seed; markers are medians, lines their {_INTERVALS}"
_LINES = f"Thin lines are seeds, thick lines medians over seeds, bands their {_INTERVALS}"

SENTENCES = {
    "seeds": f"{_DOTS}; ✗ counts failed seeds.",
    "seeds_unbounded": f"{_DOTS}; ✗ counts failed seeds, which count as ±∞ in the intervals.",
    "seeds_finished": f"{_DOTS}.",
    "curves": f"{_LINES}; ✗ counts failed seeds, which have no line.",
    "curves_finished": f"{_LINES}.",
    "chosen": "*: the settings of the study.",
}
"""Sentence by its name in braces: ``seeds`` says what :func:`~journeylab.plotting.seeds` draws,
``seeds_unbounded`` also how failed seeds enter an interval, ``seeds_finished`` where none can fail;
``curves`` likewise; ``chosen`` what the asterisk in a table of a search means.
"""
_PLACE = re.compile(r"\{(?P<key>[a-z][\w.-]*)(?::(?P<form>\w+))?\}")

DRAWN = {MANIFEST, "content.json", "figures", "numbers.json", "numbers.tex", "tables"}
"""What the sealed folder of :func:`draw_results` holds."""


class FiguresPart(Protocol):
    """The figures of a study: its ``figures.py``.

    It may have two functions of the results: ``tabulate`` returns the tables by name that
    ``names.yaml`` does not describe, and ``numbers`` those of its prose that are no reductions of
    measurements, by key.
    """

    FIGURES: plot.Figures


def draw_results(
    results: StudyResults, figures: FiguresPart, folder: Path, cited: Iterable[str] = ()
) -> None:
    """Fill ``folder``: figures/*.{pdf,svg}, tables/*.{tex,json}, numbers.{tex,json}, content.

    ``cited`` are the keys of numbers in the report's prose.
    """
    if results.verdicts is None:
        raise ValueError("a study is drawn after it is judged")
    measured = set(results.measurements["metric"])
    if unknown := sorted(measured - results.names.metrics.keys()):
        where = f"{FILE} of {results.study}: metrics.{unknown[0]} is missing"
        raise UserError(f"{where}, which is measured; write its printed name")
    for name in ("figures", "tables"):
        (folder / name).mkdir()
    with plot.styled():
        made = plot.draw_figures(figures.FIGURES, results)
        if (looks := plot.stopping(results.verdicts)) is not None:
            made["looks"] = looks
        for name, figure in made.items():
            plot.save(figure, folder / "figures" / f"{name}.pdf")
    own = all_tables(results, figures)
    numbers = all_numbers(results, figures, own.values(), cited)
    (folder / "numbers.tex").write_text(latex_macros(numbers), encoding="ascii")
    write_json(folder / "numbers.json", numbers)
    captions, own = with_words(results, made, own, numbers)
    names = results.names
    if results.search:
        own["search"] = plot.tabulate_search(results, results.search)
        tuning = "; ".join(filter(None, (names.tuning, plot.describe_search(results.search))))
        names = names.model_copy(update={"tuning": tuning})
    tables = verdict_tables(results.verdicts) | own
    if fair := fairness(results.runs, names):
        tables["fairness"] = fair
    for name, table in tables.items():
        printed = printed_table(table)
        text = latex_table(printed, f"tab:{results.study}-{name}")
        (folder / "tables" / f"{name}.tex").write_text(text, encoding="ascii")
        write_json(folder / "tables" / f"{name}.json", printed)
    content = {
        "title": results.names.title,
        "question": results.names.question,
        # the first figure stands on the report's first page
        "figures": [{"name": name, "caption": captions[name]} for name in made],
        "tables": list(own),
        "labels": dict(results.labels),
        "arms": dict(results.arms),
    }
    write_json(folder / "content.json", content)


def all_tables(results: StudyResults, figures: FiguresPart) -> dict[str, Table]:
    """The tables of a study, without captions and notes."""
    return plot.tabulated(results, getattr(figures, "tabulate", lambda _: {})(results))


def with_words(
    results: StudyResults,
    figures: Iterable[str],
    tables: Mapping[str, Table],
    numbers: Mapping[str, Number],
) -> tuple[dict[str, str], dict[str, Table]]:
    """The captions of figures, and tables with theirs and with notes, as ``names.yaml`` has them.

    ``{seeds}`` stands for a sentence of :data:`SENTENCES`, ``{tie}`` for a number by its key, and
    ``{tie:2}`` for the number with two decimals. Raises UserError if neither is known, and for a
    figure or table without a caption.
    """
    names, file = results.names, f"{FILE} of {results.study}"
    known = with_own_keys(results.study, numbers) | SENTENCES

    def fill(text: str, where: str) -> str:
        def word(found: re.Match[str]) -> str:
            key, form = found["key"], found["form"]
            check_known(key, known, f"{file}: {where}: {found[0]}")
            return in_form(known[key], form) if form else plain(known[key])

        return _PLACE.sub(word, text)

    captions = {"looks": _LOOKS} | {
        name: fill(text, f"figures.{name}") for name, text in names.figures.items()
    }
    if missing := [f"figures.{name}" for name in figures if name not in captions]:
        raise UserError(f"{file}: {missing[0]} is missing; write its caption")
    described = {}
    for name, table in tables.items():
        text = names.tables.get(name, WrittenTable())
        caption, notes = (fill(each, f"tables.{name}") for each in (text.caption, text.notes))
        if not (caption := caption or table.caption):
            raise UserError(f"{file}: tables.{name}: caption is missing")
        described[name] = replace(table, caption=caption, notes=notes)
    return captions, described


def all_numbers(
    results: StudyResults, figures: FiguresPart, tables: Iterable[Table], cited: Iterable[str]
) -> dict[str, Number]:
    """The numbers of claims, of tables, of ``figures.py``, and those that prose alone queries."""
    assert results.verdicts is not None
    extra: dict[str, Number] = dict(getattr(figures, "numbers", lambda _: {})(results))
    for table in tables:
        extra |= table.numbers
    known = study_numbers(results.verdicts, extra)
    queried = [key for key in cited if key not in with_own_keys(results.study, known)]
    return study_numbers(results.verdicts, extra | answer(results, queried))
