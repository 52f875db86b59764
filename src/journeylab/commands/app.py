"""The command line: parse the arguments, make one call. A stage gets its plan and input files."""

import sys
from collections.abc import Collection, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from journeylab.config import UserError, accepted, check_checkout, refusal
from journeylab.records.machine import print_any_text
from journeylab.records.stages import STAGES, Stage
from journeylab.stages import imports

COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Read": {
        "status": ("status", "Show the answer of every study, and count its verdicts by theorem."),
        "explain": ("explain", "Show a claim, its numbers, and what they rest on."),
        "list": ("list_studies", "List studies with their arms and variants, and the runs done."),
        "coverage": ("coverage", "List the checkable statements of the source documents."),
        "config": ("show_config", "Show every setting of a run, and its line in config.yaml."),
    },
    "Run and repair": {
        "watch": ("watch", "Show what a running workflow does, in a terminal."),
        "check": ("check_outputs", "Find damaged, missing and outdated files."),
        "ui": ("ui", "Import all new runs into MLflow and serve its pages on 127.0.0.1."),
        "track": ("track", "Import runs into MLflow."),
    },
    "Judge": {
        "judge": ("judge", "Judge claims by any table of runs, seeds and metrics."),
        "next": ("next_seeds", "Say which seeds of such a table would decide open claims."),
        "register": ("register", "Write what the ledger lacks of judged rows."),
        "seeds": ("seeds", "Estimate how many seeds a study needs."),
        "lint": ("lint", "List decimals typed by hand, unknown keys and stale figures."),
        "demo": ("demo", "Show how claims are judged, and how a changed file is refused."),
    },
    "Keep and publish": {
        "evidence": ("app", "Keep finished runs in git, and check what is kept."),
        "reproduce": ("reproduce", "Rerun a random sample of the evidence and compare."),
        "verify": ("verify", "Compare the verdicts of your results with the reference results."),
        "deposit": ("deposit", "Pack the complete studies into one archive that checks itself."),
        "paper": ("paper", "Collect the manuscript and the results it cites, for LaTeX."),
        "gallery": ("gallery", "Copy the current reports to the gallery."),
    },
    "Begin": {
        "new": ("new", "Create a new study: modules, tests, claims, and a section of config.yaml."),
        "init": ("init", "Create a repository for another paper."),
    },
    "": {
        "schema": ("schema", "Write the JSON schemas of configuration and claims for editors."),
        "kernels": ("kernels", "Measure on pilot seeds what other kernels change."),
    },
}
"""The commands for people in groups, each with its function and its purpose. Those without the name
of a group are hidden."""
_IN = {"next": "judge", "ui": "track"}
"""Commands in the module of another one; each of the others has the module of its name."""
_FUNCTIONS = {name: known[0] for group in COMMANDS.values() for name, known in group.items()}
ALONE = ("judge", "next", "register", "lint")
"""Commands that work without the libraries of the pipeline."""
PIPELINE = "this needs the libraries of the pipeline: pip install 'journeylab[pipeline]'"


def _has_pipeline() -> bool:
    return find_spec("snakemake") is not None


class _Group(TyperGroup):
    """Loads the module of a command when it is called: a stage needs none of them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name and name in _FUNCTIONS:
            if name not in ALONE and not _has_pipeline():
                raise UserError(PIPELINE)
            module = import_module(f"journeylab.commands.{_IN.get(name, name)}")
            group = getattr(module, _FUNCTIONS[name])
            if not isinstance(group, typer.Typer):
                function, group = group, typer.Typer(add_completion=False)
                group.command(name)(function)
            command = typer.main.get_command(group)
        return name, command, rest


app = typer.Typer(
    cls=_Group, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False
)


@app.callback()
def journeylab(debug: Annotated[bool, typer.Option(help="Show tracebacks.")] = False) -> None:
    """Pre-registered experiments on attention and position operators."""
    if "--help" not in sys.argv:
        check_checkout()


def _nothing() -> None:
    """Stands for a command until its module is loaded."""


for _group, _commands in COMMANDS.items():
    for _name, (_, _purpose) in _commands.items():
        app.command(_name, help=_purpose, rich_help_panel=_group, hidden=not _group)(_nothing)


stages = typer.Typer(add_completion=False, no_args_is_help=True)
app.add_typer(stages, name="stage", hidden=True, help="The stages, which the workflow's rules run.")


def _add_stage(name: str, stage: Stage) -> None:
    """Add ``journeylab stage NAME``; a run's rules say ``journeylab NAME``.

    Snakemake would make all runs again if their commands changed.
    """
    words = {"allow_extra_args": True, "ignore_unknown_options": True}

    @stages.command(name, help=stage.purpose, context_settings=words)
    def command(
        context: typer.Context,
        plan: Annotated[Path, typer.Option(help="The job's plan file.")],
        output: Annotated[Path, typer.Option(help="The file or folder to write.")],
    ) -> None:
        from journeylab.stages.running import run_stage

        run_stage(name, plan, output, **_files(name, stage.reads, context.args))

    if name not in _FUNCTIONS:
        app.command(name, hidden=True, context_settings=words)(command)


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
    print_any_text()
    imports.install()
    try:
        app()
    except (UserError, OSError, ModuleNotFoundError) as error:
        if "--debug" in sys.argv or (isinstance(error, ImportError) and _has_pipeline()):
            raise
        if isinstance(error, OSError):
            typer.echo(f"error: {UserError(refusal(error, sys.argv))}", err=True)
            sys.exit(3)
        typer.echo(f"error: {error if isinstance(error, UserError) else PIPELINE}", err=True)
        sys.exit(2)
