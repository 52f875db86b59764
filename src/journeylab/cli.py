"""The command line: arguments, and one call. A stage takes its plan and the files it reads."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from journeylab import imports, inquiry
from journeylab.catalogue import STAGES, Stage
from journeylab.config import UserError, refusal

ADDRESS = typer.Option(envvar="MLFLOW_TRACKING_URI", help="MLflow tracking URI.")
app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)


@app.callback()
def journeylab(debug: Annotated[bool, typer.Option(help="Show tracebacks.")] = False) -> None:
    """From a claim about attention and position operators to evidence."""


def _add_stage(stage: Stage, purpose: str) -> None:
    @app.command(stage, help=purpose)
    def command(
        plan: Annotated[Path, typer.Option(help="The job's plan, as snakemake wrote it.")],
        output: Annotated[Path, typer.Option(help="What to write.")],
        data: Annotated[Path | None, typer.Option(help="The dataset, or its file.")] = None,
        run: Annotated[Path | None, typer.Option(help="run.json of the trained run.")] = None,
        results: Annotated[Path | None, typer.Option(help="The folder of the results.")] = None,
    ) -> None:
        from journeylab.stages.running import run_stage

        run_stage(stage, plan, output, data=data, run=run, results=results)


for _stage, _purpose in STAGES.items():
    _add_stage(_stage, _purpose)
for _name, _command in inquiry.COMMANDS.items():
    app.command(_name)(_command)


@app.command()
def track(
    study: Annotated[str | None, typer.Argument(help="Study; all of them without one.")] = None,
    root: Annotated[Path, typer.Option(help="Where results and reports are.")] = Path(),
    uri: Annotated[str, ADDRESS] = "sqlite:///mlflow.db",
    watch: Annotated[bool, typer.Option(help="Keep importing while jobs run.")] = False,
) -> None:
    """Import runs into MLflow; a server that is away costs a warning only."""
    from journeylab import tracking

    if watch:
        tracking.watch(root, uri, report=tracking.tell)
    for summary in tracking.import_studies(root, uri, [study] if study else None):
        tracking.tell(summary)


@app.command()
def ui(
    config: Annotated[Path, typer.Option(help="Configuration file.")] = Path("config.yaml"),
    root: Annotated[Path | None, typer.Option(help="Where results and reports are.")] = None,
    uri: Annotated[str, ADDRESS] = "",
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Import every study's new runs into MLflow and serve its pages on 127.0.0.1."""
    from journeylab import catalogue, tracking

    settings = catalogue.load(config)
    where, folder = uri or settings.tracking.uri, root or Path(settings.root)
    raise typer.Exit(tracking.serve(folder, where, port=port, report=tracking.tell))


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
    _end(*verify_results(results, reference))


@app.command()
def check(
    overrides: Annotated[list[str] | None, typer.Argument(help="KEY=VALUE as planned.")] = None,
    config: Annotated[Path, typer.Option(help="Configuration file.")] = Path("config.yaml"),
) -> None:
    """Find what is damaged, missing or outdated, and name the command that makes it anew."""
    from journeylab import checking

    _end(*checking.check(config, overrides or ()))


@app.command()
def schema(output: Annotated[Path, typer.Option(help="Folder to write to.")]) -> None:
    """Write the JSON schemas of config.yaml, response.yaml and the files of claims/."""
    from journeylab.schemas import write_schemas

    write_schemas(output)


@app.command()
def new(name: Annotated[str, typer.Argument(help="Folder name, e.g. exp13_name.")]) -> None:
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


@app.command()
def paper(
    manuscript: Annotated[Path, typer.Option(help="Folder of the manuscript.")] = Path("paper"),
    config: Annotated[Path, typer.Option(help="Configuration file.")] = Path("config.yaml"),
    root: Annotated[Path | None, typer.Option(help="Not the configured one.")] = None,
    output: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("build/paper"),
) -> None:
    """Put the manuscript and what it names of the reports into one folder, for LaTeX."""
    from journeylab import catalogue
    from journeylab.manuscript import assemble

    settings = catalogue.load(config)
    reports = (root or Path(settings.root)) / "reports"
    assemble(manuscript, reports, output, anonymous=settings.anonymous, project=Path.cwd())


def main() -> None:
    """Entry point: what a person can mend is one line, anything else a traceback.

    Exit code 2 for a mistake; 1 for what the system refuses, such as a disk that is full.
    """
    imports.install()
    try:
        app()
    except (UserError, OSError) as error:
        if "--debug" in sys.argv:
            raise
        told = error if isinstance(error, UserError) else UserError(refusal(error, sys.argv))
        typer.echo(f"error: {told}", err=True)
        sys.exit(2 if told is error else 1)


def _end(told: list[str], problems: list[str]) -> None:
    for lines, err in ((told, False), (problems, True)):
        typer.echo("".join(f"{line}\n" for line in lines), err=err, nl=False)
    raise typer.Exit(1 if problems else 0)


if __name__ == "__main__":
    main()
