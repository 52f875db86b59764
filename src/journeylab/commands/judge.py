"""``journeylab judge`` and ``next``: judge claims by any table, and what the open ones need."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from journeylab.claims.claims_file import read_claims
from journeylab.claims.table_judge import further_seeds, judge_table
from journeylab.claims.table_ledger import registrations_before, remember, skipped_looks
from journeylab.claims.tables import MLFLOW, read_measurements
from journeylab.config import UserError
from journeylab.records.files import write_json
from journeylab.records.verdicts import Registration
from journeylab.wording.rows import in_words
from journeylab.wording.verdicts import headline, listed, opening, sentence

CLAIMS = typer.Argument(help="The file of the claims: docs/judge-a-table.md.")
TABLE = typer.Argument(help="A CSV or Parquet file, - for CSV, or mlflow:EXPERIMENT.")
PLANNED = typer.Option(help="File with the runs and seeds that were planned.")
OPEN = 3
"""The exit status of `next` while a claim is open."""


def judge(
    claims: Annotated[Path, CLAIMS],
    table: Annotated[str, TABLE],
    planned: Annotated[Path | None, PLANNED] = None,
    output: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("judged"),
    json: Annotated[bool, typer.Option("--json", help="Print verdicts.json instead.")] = False,
) -> None:
    """Judge claims by a table of runs, seeds and metrics; write verdicts, figure, macros, page."""
    of = read_claims(claims, planned)
    measured = read_measurements(table, of)
    verdicts = judge_table(of, measured, table)
    registered = registrations_before(of, table)
    rows = in_words(verdicts, of.claims)
    said = [
        *([f"All rows are exploratory: {rows.exploratory}."] if rows.exploratory else []),
        *(
            f"{row} is exploratory: the look at {n} seeds was skipped."
            for row, n in skipped_looks(of, verdicts).items()
        ),
        *filter(None, [_registered(registered, "runs" if table.startswith(MLFLOW) else "table")]),
    ]
    if json:
        typer.echo(verdicts.model_dump_json(indent=2))
    else:
        for row in rows.verdicts:
            typer.echo(f"{row.id}: {opening(row)}: {sentence(row)}")
        typer.echo("\n".join((headline(rows.judged), *said)))
    remember(of, table, measured, verdicts)
    write_json(output / "verdicts.json", verdicts, sealed=False)
    from journeylab.reports.judged_table import write_page  # slow libraries, after the verdicts

    write_page(rows, said, output)


def _registered(states: Mapping[str, Registration], what: str) -> str:
    """Whether all claims were registered before ``what``; else which ones were not, and why."""
    late = {row: state.remark for row, state in states.items() if state.exploratory}
    if not late:
        return f"All claims were registered before the {what}." if states else ""
    which = (
        "Claims are"
        if late.keys() == states.keys()
        else f"{listed(late)} {'are' if len(late) > 1 else 'is'}"
    )
    [reason, *more] = dict.fromkeys(late.values())
    others = f", and {len(more)} other reasons" if more else ""
    return f"{which} not shown to be registered before the runs ({reason}{others})."


def next_seeds(
    claims: Annotated[Path, CLAIMS],
    table: Annotated[str, TABLE],
    planned: Annotated[Path | None, PLANNED] = None,
) -> None:
    """Say which claims are open, and which seeds of which runs to add.

    Exit status 0 if no seed could decide more, 3 if some are to be added, 1 for a mistake.
    """
    try:
        of = read_claims(claims, planned)
        further = further_seeds(of, read_measurements(table, of), table)
    except UserError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    if further is None:
        typer.echo("No claim is open: no further seed is needed.")
        return
    typer.echo(f"look at {further.look} seeds of {', '.join(map(str, of.looks))}")
    for row, chance in further.open.items():
        at_look = "" if chance is None else f", decided there with probability {chance:.2f}"
        typer.echo(f"{row}: open{at_look}")
    for run, seeds in further.seeds.items():
        typer.echo(f"{run}: {','.join(map(str, seeds))}")
    raise typer.Exit(OPEN)
