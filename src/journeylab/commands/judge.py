"""``journeylab judge claims.yaml results.csv``: judge registered claims by any table."""

from pathlib import Path
from typing import Annotated

import typer

from journeylab.claims.heads import read_claims
from journeylab.claims.judging import judge_table
from journeylab.claims.tables import read_measurements
from journeylab.records.files import write_json
from journeylab.wording.rows import in_words
from journeylab.wording.verdicts import headline, opening, sentence

CLAIMS = typer.Argument(help="The file of the claims: docs/judge-a-table.md.")
TABLE = typer.Argument(help="A CSV or Parquet file with a row for each value; - reads CSV.")
UNREGISTERED = "Claims are not shown to be registered before the runs."
PLANNED = typer.Option(help="File with the runs and seeds that were planned.")


def judge(
    claims: Annotated[Path, CLAIMS],
    table: Annotated[str, TABLE],
    planned: Annotated[Path | None, PLANNED] = None,
    output: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("judged"),
    json: Annotated[bool, typer.Option("--json", help="Print verdicts.json instead.")] = False,
) -> None:
    """Judge claims by a table of runs, seeds and metrics; write verdicts, figure, macros, page."""
    of = read_claims(claims, planned)
    verdicts = judge_table(of, read_measurements(table, of), table)
    rows = in_words(verdicts, of.claims)
    if json:
        typer.echo(verdicts.model_dump_json(indent=2))
    else:
        for row in rows.verdicts:
            typer.echo(f"{row.id}: {opening(row)}: {sentence(row)}")
        typer.echo(headline(rows.judged))
        for remark in filter(None, (rows.exploratory, UNREGISTERED)):
            typer.echo(remark)
    write_json(output / "verdicts.json", verdicts, sealed=False)
    from journeylab.reports.judged_table import write_page  # slow libraries, after the verdicts

    write_page(rows, UNREGISTERED, output)
