"""The command line: arguments, and one call. A stage takes its plan and the files it reads.

Heavy libraries are imported inside the commands.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeylab import imports
from journeylab.config import UserError

if TYPE_CHECKING:
    from journeylab.catalogue import Stage
    from journeylab.tracking import TrackingSummary

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)

STAGES: "dict[Stage, str]" = {
    "generate": "Write one dataset for one chunk of seeds.",
    "train": "Train one variant on a chunk of seeds; a killed job resumes where it was.",
    "compute": "Compute one variant that needs no training, for a chunk of seeds or once.",
    "measure": "Evaluate the trained models of one chunk of seeds.",
    "collect": "Join what was measured in a study into one tidy table.",
    "judge": "Hold a study's measurements against its registered claims.",
    "draw": "Draw a study's figures and write its tables and number macros.",
    "typeset": "Typeset a study's report.",
    "summarise": "Write the numbers that `dvc metrics diff` compares.",
}


@app.callback()
def journeylab(debug: Annotated[bool, typer.Option(help="Show tracebacks.")] = False) -> None:
    """From a claim about attention and position operators to evidence."""


def _add_stage(stage: "Stage", purpose: str) -> None:
    @app.command(stage, help=purpose)
    def command(
        plan: Annotated[Path, typer.Option(help="The job's plan, as snakemake wrote it.")],
        output: Annotated[Path, typer.Option(help="What to write.")],
        data: Annotated[Path | None, typer.Option(help="The dataset of these seeds.")] = None,
        run: Annotated[Path | None, typer.Option(help="run.json of the trained run.")] = None,
        results: Annotated[Path | None, typer.Option(help="The folder of the results.")] = None,
    ) -> None:
        from journeylab.stages.running import run_stage

        run_stage(stage, plan, output, data=data, run=run, results=results)


for _stage, _purpose in STAGES.items():
    _add_stage(_stage, _purpose)


@app.command()
def track(
    study: Annotated[str | None, typer.Argument(help="Study; all of them without one.")] = None,
    root: Annotated[Path, typer.Option(help="Where results and reports are.")] = Path(),
    uri: Annotated[str, typer.Option(help="MLflow tracking URI.")] = "sqlite:///mlflow.db",
    watch: Annotated[bool, typer.Option(help="Keep importing while jobs run.")] = False,
) -> None:
    """Import runs into MLflow; a server that is away costs a warning only."""
    from journeylab import tracking

    if watch:
        tracking.watch(root, uri, report=_tell_import)
    for one in [study] if study else tracking.find_studies(root):
        _tell_import(tracking.import_runs(root, one, uri))


@app.command()
def ui(
    config: Annotated[Path, typer.Option(help="Configuration file.")] = Path("config.yaml"),
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Import every study's new runs into MLflow and serve its pages on 127.0.0.1."""
    from journeylab import catalogue, tracking

    settings = catalogue.load(config)
    root, uri = Path(settings.root), settings.tracking.uri
    raise typer.Exit(tracking.serve(root, uri, port=port, report=_tell_import))


@app.command()
def verify(
    reference: Annotated[Path, typer.Option(help="Folder of the references.")] = Path("reference"),
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    record: Annotated[bool, typer.Option(help="Write the references anew.")] = False,
) -> None:
    """Compare the verdicts of this machine's results with the reference results."""
    from journeylab.claims.reference import record_references, verify_results

    if record:
        record_references(results, reference)
        return
    told, problems = verify_results(results, reference)
    for lines, err in ((told, False), (problems, True)):
        typer.echo("".join(f"{line}\n" for line in lines), err=err, nl=False)
    raise typer.Exit(1 if problems else 0)


@app.command()
def schema(output: Annotated[Path, typer.Option(help="Folder to write to.")]) -> None:
    """Write the JSON schemas of config.yaml and claims.yaml."""
    from journeylab.schemas import write_schemas

    write_schemas(output)


@app.command()
def new(name: Annotated[str, typer.Argument(help="Folder name, e.g. exp12_name.")]) -> None:
    """Scaffold a study: its modules, its tests and its first claims."""
    from journeylab.scaffold import scaffold

    typer.echo("\n".join(f"wrote {path}" for path in scaffold(name, Path.cwd())))


@app.command()
def gallery(
    output: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("docs/gallery"),
    reports: Annotated[Path, typer.Option(help="Where the reports are.")] = Path("reports"),
) -> None:
    """Copy the current reports to the gallery, as PDF and PNG."""
    from journeylab.reports.gallery import publish

    publish(reports, output)


def main() -> None:
    """Entry point: mistakes of the user are one line and exit code 2, anything else a traceback."""
    imports.install()
    try:
        app()
    except UserError as error:
        if "--debug" in sys.argv:
            raise
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


def _tell_import(summary: "TrackingSummary") -> None:
    if summary.warning:
        typer.echo(f"warning: {summary.warning}", err=True)
    typer.echo(f"{summary.study}: {summary.imported} runs imported, {summary.skipped} were there")


if __name__ == "__main__":
    main()
