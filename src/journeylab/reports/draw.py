"""Figures, tables and number macros of one study."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from journeylab.config import StudySettings, study_module
from journeylab.plotting import StudyResults, Table, save, styled
from journeylab.records.files import read_json, read_table, write_folder, write_json
from journeylab.records.runs import read_run
from journeylab.records.verdicts import StudyVerdicts
from journeylab.reports.latex import latex_macros, latex_table
from journeylab.reports.numbers import readable, study_numbers
from journeylab.reports.tables import ledger, verdict_tables


def draw_study(
    *,
    study: str,
    settings: StudySettings,
    measurements: Path,
    verdicts: Path,
    runs: Sequence[Path],
    output: Path,
) -> None:
    """Write ``output``: figures/*.pdf, tables/*.{tex,json}, numbers.{tex,json}, content.json.

    ``runs`` are the folders of the trained chunks. The folder is replaced as a whole and sealed.
    Raises UserError for an input that is missing or damaged.
    """
    results = StudyResults(
        study=study,
        settings=settings,
        measurements=read_table(measurements),
        verdicts=StudyVerdicts.model_validate(read_json(verdicts)),
        curves=_curves(runs),
        runs=tuple(read_run(folder) for folder in runs),
    )
    with write_folder(output) as folder:
        draw_results(results, folder)


def draw_results(results: StudyResults, folder: Path) -> None:
    """Fill ``folder`` with all that :func:`draw_study` promises."""
    if results.verdicts is None:
        raise ValueError("a study is drawn after it is judged")
    figures = study_module(results.study, "figures")
    metrics = study_module(results.study, "metrics")
    for name in ("figures", "tables"):
        (folder / name).mkdir()
    with styled():
        drawn = figures.draw(results)
        for name, figure in drawn.items():
            save(figure, folder / "figures" / f"{name}.pdf")
    own: dict[str, Table] = figures.tabulate(results)
    tables = verdict_tables(results.verdicts) | own
    if fair := ledger(results.runs, metrics.TUNING):
        tables["ledger"] = fair
    for name, table in tables.items():
        _write_table(folder / "tables" / name, table, f"tab:{results.study}-{name}")
    numbers = study_numbers(results.verdicts, figures.numbers(results))
    (folder / "numbers.tex").write_text(latex_macros(numbers), encoding="ascii")
    write_json(folder / "numbers.json", numbers)
    content = {
        "title": metrics.TITLE,
        "figures": [{"name": name, "caption": figures.CAPTIONS[name]} for name in drawn],
        "tables": list(own),
    }
    write_json(folder / "content.json", content)


def _write_table(stem: Path, table: Table, label: str) -> None:
    frame = table.frame.astype(str)
    for head in table.numeric:
        frame[head] = frame[head].map(readable)
    table = replace(table, frame=frame)
    stem.with_suffix(".tex").write_text(latex_table(table, label), encoding="ascii")
    heads = [str(head) for head in table.frame.columns]
    content = {
        "caption": table.caption,
        "notes": table.notes,
        "columns": [{"head": head, "numeric": head in table.numeric} for head in heads],
        "rows": table.frame.to_numpy().tolist(),
    }
    write_json(stem.with_suffix(".json"), content)


def _curves(runs: Sequence[Path]) -> pd.DataFrame | None:
    tables = [read_table(folder / "curves.parquet") for folder in runs]
    tables = [table for table in tables if not table.empty]
    return pd.concat(tables, ignore_index=True) if tables else None
