"""``journeylab ui``: MLflow's pages of all runs."""

from pathlib import Path
from typing import Annotated

import typer

from journeylab import tracking
from journeylab.commands.results import CONFIG, ROOT_OVERRIDE
from journeylab.commands.track import ADDRESS, tracked
from journeylab.commands.watch import until_ended


def ui(
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    root: Annotated[Path | None, ROOT_OVERRIDE] = None,
    uri: Annotated[str, ADDRESS] = "",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Import all new runs into MLflow and serve its pages on 127.0.0.1."""
    folder, address = tracked(config, root, uri)
    with until_ended():
        raise typer.Exit(tracking.serve(folder, address, port=port, report=tracking.tell))
