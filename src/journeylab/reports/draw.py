"""Figures, tables and number macros of one study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pandas as pd

from journeylab.config import Metric
from journeylab.plotting import Figures, StudyResults, Table, draw_figures, save, stopping, styled
from journeylab.records.files import MANIFEST, write_json
from journeylab.reports.latex import latex_macros, latex_table
from journeylab.reports.numbers import study_numbers, with_own_keys
from journeylab.reports.queries import answer
from journeylab.reports.tables import fairness, printed_table, verdict_tables
from journeylab.wording.typography import Number

_LOOKS = (
    "The number of seeds at which the looks at each claim ended. Markers and words say how: "
    "supported or refuted; withheld, since a prerequisite is not met; or inconclusive: settled "
    "if no further seeds up to the last look could decide the claim, and else open."
)


DRAWN = {MANIFEST, "content.json", "figures", "numbers.json", "numbers.tex", "tables"}
"""What the sealed folder of :func:`draw_results` holds."""


class FiguresPart(Protocol):
    """The figures and tables of a study: its ``figures.py``.

    A function ``numbers`` of the results, if it has one, returns numbers for its prose that are no
    reductions of measurements, by key.
    """

    FIGURES: Figures

    def tabulate(self, results: StudyResults) -> dict[str, Table]:
        """The tables by name."""


class MetricsPart(Protocol):
    """``metrics.py``: the study's words; it may also have ``LABELS`` of variants and ``ARMS``.

    ``QUESTION`` is what the study asks, in one sentence that ends in a question mark.
    """

    TITLE: str
    QUESTION: str
    TUNING: str | Mapping[str, str]
    METRICS: Mapping[str, Metric]


def draw_results(
    results: StudyResults,
    figures: FiguresPart,
    words: MetricsPart,
    folder: Path,
    cited: Iterable[str] = (),
) -> None:
    """Fill ``folder``: figures/*.{pdf,svg}, tables/*.{tex,json}, numbers.{tex,json}, content.

    ``cited`` are the keys of numbers in the report's prose.
    """
    if results.verdicts is None:
        raise ValueError("a study is drawn after it is judged")
    for name in ("figures", "tables"):
        (folder / name).mkdir()
    captions = {name: each.caption for name, each in figures.FIGURES.items()}
    with styled():
        made = draw_figures(figures.FIGURES, results)
        if (looks := stopping(results.verdicts)) is not None:
            captions["looks"], made["looks"] = _LOOKS, looks
        for name, figure in made.items():
            save(figure, folder / "figures" / f"{name}.pdf")
    own = {name: table for name, table in figures.tabulate(results).items() if len(table.frame)}
    tables = verdict_tables(results.verdicts) | own
    if fair := fairness(results.runs, words.TUNING, results.labels, results.arms):
        tables["fairness"] = fair
    for name, table in tables.items():
        _write_table(folder / "tables" / name, table, f"tab:{results.study}-{name}")
    numbers = all_numbers(results, figures, words, own.values(), cited)
    (folder / "numbers.tex").write_text(latex_macros(numbers), encoding="ascii")
    write_json(folder / "numbers.json", numbers)
    content = {
        "title": words.TITLE,
        "question": words.QUESTION,
        # the first figure stands on the report's first page
        "figures": [
            {"name": name, "caption": text} for name, text in captions.items() if name in made
        ],
        "tables": list(own),
        "labels": dict(results.labels),
        "arms": dict(results.arms),
    }
    write_json(folder / "content.json", content)


def all_numbers(
    results: StudyResults,
    figures: FiguresPart,
    words: MetricsPart,
    tables: Iterable[Table],
    cited: Iterable[str],
) -> dict[str, Number]:
    """The numbers of claims, of tables, of ``figures.py``, and those that prose alone queries."""
    assert results.verdicts is not None
    extra: dict[str, Number] = dict(getattr(figures, "numbers", lambda _: {})(results))
    for table in tables:
        extra |= table.numbers
    known = study_numbers(results.verdicts, extra)
    queried = [key for key in cited if key not in with_own_keys(results.study, known)]
    return study_numbers(results.verdicts, extra | answer(results, words.METRICS, queried))


def _write_table(stem: Path, table: Table, label: str) -> None:
    table = replace(table, frame=table.frame.astype(str))
    stem.with_suffix(".tex").write_text(latex_table(table, label), encoding="ascii")
    write_json(stem.with_suffix(".json"), printed_table(table))


def join_curves(tables: Sequence[pd.DataFrame]) -> pd.DataFrame | None:
    """The training curves of all runs; None where nothing was trained."""
    filled = [table for table in tables if not table.empty]
    return pd.concat(filled, ignore_index=True) if filled else None
