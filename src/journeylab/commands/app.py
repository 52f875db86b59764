"""The command line: parse the arguments, make one call. A stage gets its plan and input files."""

import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated

import typer

from journeylab.commands import evidence
from journeylab.commands.compare import compare
from journeylab.commands.config import show_config
from journeylab.commands.coverage import coverage
from journeylab.commands.demo import demo
from journeylab.commands.deposit import deposit
from journeylab.commands.explain import explain
from journeylab.commands.init import init
from journeylab.commands.list import list_studies
from journeylab.commands.register import register
from journeylab.commands.reproduce import reproduce
from journeylab.commands.results import CONFIG, ROOT
from journeylab.commands.seeds import seeds
from journeylab.commands.status import status
from journeylab.commands.watch import until_ended, watch
from journeylab.config import UserError, accepted, refusal
from journeylab.records.stages import STAGES, Stage
from journeylab.stages import imports

ADDRESS = typer.Option(envvar="MLFLOW_TRACKING_URI", help="MLflow tracking URI.")
ROOT_OVERRIDE = typer.Option(help="Results root; overrides `root` in config.yaml.")
OUTPUT = typer.Option(help="Folder to write to.")
PEOPLE, WORKFLOW = "Commands", "Stages, run by the workflow's rules"

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)


@app.callback()
def journeylab(debug: Annotated[bool, typer.Option(help="Show tracebacks.")] = False) -> None:
    """Pre-registered experiments on attention and position operators."""


for _command, _name in (
    (status, "status"),
    (watch, "watch"),
    (explain, "explain"),
    (list_studies, "list"),
    (show_config, "config"),
    (compare, "compare"),
    (coverage, "coverage"),
    (seeds, "seeds"),
    (register, "register"),
    (reproduce, "reproduce"),
    (init, "init"),
    (demo, "demo"),
):
    app.command(_name, rich_help_panel=PEOPLE)(_command)


@app.command(rich_help_panel=PEOPLE)
def check(
    overrides: Annotated[list[str] | None, typer.Argument(help="KEY=VALUE, as planned.")] = None,
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    remote: Annotated[bool, typer.Option(help="Check the objects of the DVC remote.")] = False,
) -> None:
    """Find damaged, missing and outdated files, with the command that makes each anew."""
    from journeylab.commands.check import check as check_outputs
    from journeylab.commands.remote import check_remote

    _end(*(check_remote() if remote else check_outputs(config, overrides or ())))


@app.command(rich_help_panel=PEOPLE)
def lint(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Manuscripts (.tex) and responses (.yaml).")
    ] = None,
    root: Annotated[Path, ROOT] = Path(),
) -> None:
    r"""List decimals typed by hand; exit code 1 for unknown keys and stale figures.

    By default of paper/**/*.tex and response.yaml. A decimal is a remark: \result{exp7.2.effect}
    prints the current number instead. Unknown are keys and studies that do not exist. Stale are
    figures, tables and reports other than the current ones; of a study whose report is not drawn
    they are not compared.
    """
    from journeylab.commands.lint import lint_files

    _end(*lint_files(files or (), root))


@app.command(rich_help_panel=PEOPLE)
def verify(
    reference: Annotated[Path, typer.Option(help="Folder of the references.")] = Path("reference"),
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    record: Annotated[bool, typer.Option(help="Write new references instead.")] = False,
) -> None:
    """Compare the verdicts of your results with the reference results."""
    from journeylab.claims.reference import record_references, verify_results

    if record:
        from journeylab.records.round import record_figures
        from journeylab.workflow.costs import record_costs

        record_references(results, reference)
        record_costs(results, reference)
        record_figures(results.parent / "reports", reference)
        return
    _end(*verify_results(results, reference))


app.add_typer(evidence.app, name="evidence", rich_help_panel=PEOPLE)
app.command("deposit", rich_help_panel=PEOPLE)(deposit)


@app.command(rich_help_panel=PEOPLE)
def new(name: Annotated[str, typer.Argument(help="Folder name, e.g. exp14_name.")]) -> None:
    """Create a new study: modules, tests, claims, and a section of config.yaml."""
    from journeylab.commands.new import scaffold

    typer.echo("\n".join(f"wrote {path}" for path in scaffold(name, Path.cwd())))


@app.command(rich_help_panel=PEOPLE)
def paper(
    manuscript: Annotated[Path, typer.Option(help="Folder of the manuscript.")] = Path("paper"),
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    root: Annotated[Path | None, ROOT_OVERRIDE] = None,
    output: Annotated[Path, OUTPUT] = Path("build/paper"),
) -> None:
    """Collect the manuscript and the results it cites in one folder, for LaTeX."""
    from journeylab import catalogue
    from journeylab.commands.paper import assemble

    settings = catalogue.load(config)
    reports = (root or Path(settings.root)) / "reports"
    assemble(manuscript, reports, output, anonymous=settings.anonymous, project=Path.cwd())


@app.command(rich_help_panel=PEOPLE)
def ui(
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    root: Annotated[Path | None, ROOT_OVERRIDE] = None,
    uri: Annotated[str, ADDRESS] = "",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Import all new runs into MLflow and serve its pages on 127.0.0.1."""
    from journeylab import tracking

    folder, address = _tracked(config, root, uri)
    with until_ended():
        raise typer.Exit(tracking.serve(folder, address, port=port, report=tracking.tell))


@app.command(rich_help_panel=PEOPLE)
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
    from journeylab import catalogue, tracking

    folder, address = _tracked(config, root, uri)
    if not folder.is_dir():
        raise UserError(f"{folder} does not exist; write the folder that holds results/ as --root")
    results = tracking.find_studies(folder)
    known = list(dict.fromkeys((*results, *(catalogue.discover() if keep_watching else ()))))
    if study is not None and study not in known:
        raise UserError(f"{study!r} has no results in {folder};{accepted(study, known)}")
    if not results:
        typer.echo(f"{folder / 'results'} holds no study: nothing to import")
    studies = None if study is None else [study]
    if keep_watching:
        with until_ended():
            tracking.watch(folder, address, studies=studies, report=tracking.tell)
        return
    damaged = False
    for summary in tracking.import_studies(folder, address, studies):
        tracking.tell(summary)
        damaged |= summary.damaged
    raise typer.Exit(1 if damaged else 0)


def _tracked(config: Path, root: Path | None, uri: str) -> tuple[Path, str]:
    """Results root and MLflow's address; where an option leaves one out, as configured."""
    from journeylab import catalogue

    if root is not None and uri:
        return root, uri
    settings = catalogue.load(config)
    return root or Path(settings.root), uri or settings.tracking.uri


@app.command(hidden=True)
def schema(output: Annotated[Path, OUTPUT]) -> None:
    """Write the JSON schemas of config.yaml, response.yaml and claims/ for editors (make setup)."""
    from journeylab.commands.schema import write_schemas

    write_schemas(output)


@app.command(rich_help_panel=PEOPLE)
def gallery(
    output: Annotated[Path, OUTPUT] = Path("docs/gallery"),
    reports: Annotated[Path, typer.Option(help="Folder of the reports.")] = Path("reports"),
) -> None:
    """Copy the current reports to the gallery."""
    from journeylab.reports.gallery import publish

    publish(reports, output)


def _add_stage(name: str, stage: Stage) -> None:
    words = {"allow_extra_args": True, "ignore_unknown_options": True}

    @app.command(name, help=stage.purpose, rich_help_panel=WORKFLOW, context_settings=words)
    def command(
        context: typer.Context,
        plan: Annotated[Path, typer.Option(help="The job's plan file.")],
        output: Annotated[Path, typer.Option(help="The file or folder to write.")],
    ) -> None:
        from journeylab.stages.running import run_stage

        run_stage(name, plan, output, **_files(name, stage.reads, context.args))


def _files(name: str, accept: Collection[str], words: Iterable[str]) -> dict[str, list[Path]]:
    """The paths that follow each option ``--name`` of a stage."""
    files: dict[str, list[Path]] = {}
    for word in words:
        option = word.removeprefix("--")
        if (option != word and option not in accept) or (option == word and not files):
            known = [f"--{each}" for each in ("plan", "output", *accept)]
            raise UserError(f"journeylab {name}: {word}: no such option;{accepted(word, known)}")
        if option != word:
            files[option] = []
        else:
            files[next(reversed(files))].append(Path(word))
    return files


for _name, _stage in STAGES.items():
    _add_stage(_name, _stage)


def main() -> None:
    """Entry point: print what a user can mend as one line, anything else as a traceback.

    Exit code 2 for a mistake of the user; 3 for an error of the system, such as a full disk, since
    1 says that a command found something wrong.
    """
    imports.install()
    try:
        app()
    except (UserError, OSError) as error:
        if "--debug" in sys.argv:
            raise
        message = error if isinstance(error, UserError) else UserError(refusal(error, sys.argv))
        typer.echo(f"error: {message}", err=True)
        sys.exit(2 if message is error else 3)


def _end(summary: Iterable[str], problems: list[str]) -> None:
    for lines, err in ((summary, False), (problems, True)):
        typer.echo("".join(f"{line}\n" for line in lines), err=err, nl=False)
    raise typer.Exit(1 if problems else 0)


if __name__ == "__main__":
    main()
