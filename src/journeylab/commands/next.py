"""``journeylab next claims.yaml results.csv``: the seeds that open claims need."""

from pathlib import Path
from typing import Annotated

import typer

from journeylab.claims.claims_file import read_claims
from journeylab.claims.table_judge import further_seeds
from journeylab.claims.tables import read_measurements
from journeylab.commands.judge import CLAIMS, PLANNED, TABLE
from journeylab.config import UserError

OPEN = 3
"""The exit status while a claim is open."""


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
