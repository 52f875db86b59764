"""``journeylab track`` and ``ui``: import runs into MLflow, and serve its pages of all runs."""

from pathlib import Path
from typing import Annotated

import typer

from journeylab import catalogue, tracking
from journeylab.commands.results import CONFIG, ROOT_OVERRIDE
from journeylab.commands.watch import until_ended
from journeylab.config import UserError, check_known

ADDRESS = typer.Option(envvar="MLFLOW_TRACKING_URI", help="MLflow tracking URI.")


def track(
    study: Annotated[str | None, typer.Argument(help="A study; default: all.")] = None,
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    root: Annotated[Path | None, ROOT_OVERRIDE] = None,
    uri: Annotated[str, ADDRESS] = "",
    keep_watching: Annotated[
        bool, typer.Option("--watch", help="Keep importing while jobs run, with their curves.")
    ] = False,
) -> None:
    """Import runs into MLflow; an unreachable server causes only a warning.

    The exit code is 1 if the records of a study are damaged; the other studies are imported.
    """
    folder, address = _tracked(config, root, uri)
    if not folder.is_dir():
        raise UserError(f"{folder} does not exist; write the folder that holds results/ as --root")
    results = tracking.find_studies(folder)
    known = list(dict.fromkeys((*results, *(catalogue.discover() if keep_watching else ()))))
    if study is not None:
        check_known(study, known, f"{study!r} has no results in {folder}")
    if not results:
        typer.echo(f"{folder / 'results'} holds no study: nothing to import")
    studies = None if study is None else [study]
    if keep_watching:
        with until_ended():
            for summary in tracking.watch(folder, address, studies):
                tracking.tell(summary)
        return
    damaged = False
    for summary in tracking.import_studies(folder, address, studies):
        tracking.tell(summary)
        damaged |= summary.damaged
    raise typer.Exit(1 if damaged else 0)


def ui(
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    root: Annotated[Path | None, ROOT_OVERRIDE] = None,
    uri: Annotated[str, ADDRESS] = "",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Import all new runs into MLflow and serve its pages on 127.0.0.1."""
    folder, address = _tracked(config, root, uri)
    with until_ended():
        raise typer.Exit(tracking.serve(folder, address, port=port))


def _tracked(config: Path, root: Path | None, uri: str) -> tuple[Path, str]:
    """Results root and MLflow's address; where an option leaves one out, as configured."""
    if root is not None and uri:
        return root, uri
    settings = catalogue.load(config)
    return root or Path(settings.root), uri or settings.tracking.uri
