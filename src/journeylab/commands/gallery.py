"""``journeylab gallery``: the current reports, for the pages of the repository."""

from pathlib import Path
from typing import Annotated

import typer

from journeylab.commands.results import OUTPUT
from journeylab.reports.gallery import publish


def gallery(
    output: Annotated[Path, OUTPUT] = Path("docs/gallery"),
    reports: Annotated[Path, typer.Option(help="Folder of the reports.")] = Path("reports"),
) -> None:
    """Copy the current reports to the gallery."""
    publish(reports, output)
