"""Results, references and the register, as several commands read them."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer
import yaml
from pydantic_core import to_json

from journeylab.catalogue import printed_names, study_folder
from journeylab.claims.reference import read_reference
from journeylab.claims.register import read_register
from journeylab.claims.registration import read_history, registrations
from journeylab.claims.schema import APART, Register
from journeylab.claims.theorems import Theorems
from journeylab.config import UserError, build, read_yaml
from journeylab.records.files import read_json
from journeylab.records.plans import HISTORY
from journeylab.records.repair import settings_of
from journeylab.records.runs import RunHost, RunRecord, find_runs, read_host, read_run
from journeylab.records.stages import output_path
from journeylab.records.verdicts import StudyVerdicts
from journeylab.reports.answers import print_answer, read_answer
from journeylab.wording.effects import Names
from journeylab.wording.rows import StudyRows, in_words, recorded_rows
from journeylab.workflow.planning import WorkflowPlan

ROOT = typer.Option(help="Folder with results/ and reports/.")
CONFIG = typer.Option(help="Configuration file.")
ROOT_OVERRIDE = typer.Option(help="Results root; overrides `root` in config.yaml.")
OUTPUT = typer.Option(help="Folder to write to.")
JSON = typer.Option("--json", help="Print JSON, whose keys docs/commands.md lists.")
REFERENCES = Path("reference")
CLAIMS = Path("claims")
RECORDED = "There are no results here: these are the recorded ones, which `make recorded` restores."


def end(summary: Iterable[str], problems: list[str]) -> None:
    """Print what was done, then problems as errors; exit code 1 if there is one."""
    for lines, err in ((summary, False), (problems, True)):
        typer.echo("".join(f"{line}\n" for line in lines), err=err, nl=False)
    raise typer.Exit(1 if problems else 0)


def print_json(command: str, **content: Any) -> None:
    """Print what a command found as one JSON object, of the version of docs/commands.md.

    Numbers that are not finite are null.
    """
    whole = {"version": 1, "command": command, **content}
    typer.echo(to_json(whole, indent=2, inf_nan_mode="null"))


def read_text(path: Path) -> str:
    """The text of a manuscript. Raises UserError if it cannot be read, or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text; convert it") from None


def read_verdicts(root: Path, study: str) -> StudyVerdicts:
    """The verdicts of a study. Raises UserError if they are missing or damaged."""
    path = output_path(root, "judge", study=study)
    if not path.exists():
        raise UserError(
            f"{path} is missing; `snakemake --cores 8 {path}{settings_of(root)}` makes it"
        )
    return build(StudyVerdicts, read_json(path), str(path))


def judged_rows(
    root: Path, study: str, register: Register, theorems: Theorems
) -> tuple[StudyRows, list[tuple[Path, RunRecord, RunHost]]]:
    """The verdicts of a study in words, with their registrations as its finished runs show them.

    And folder, record and host record of these runs.
    """
    rows = in_words(read_verdicts(root, study), register.claims_of(study), _names(study))
    records = list(judged_records(root, rows))
    history = read_history(root / "plans" / study / HISTORY)
    runs = [(run, host) for _, run, host in records]
    return rows.completed(registrations(register, study, runs, history), theorems), records


def reference_rows(study: str, register: Register, theorems: Theorems) -> StudyRows | None:
    """The outcomes of a reference in words; None without one of the register's revision."""
    path, claims = REFERENCES / f"{study}.json", register.studies[study]
    known = read_reference(path) if path.exists() else None
    if known is None or known.revision != claims.revision:
        return None
    return recorded_rows(known, claims, _names(study)).completed({}, theorems)


def _names(study: str) -> Names:
    printed = printed_names(study)
    return Names(printed.labels, printed.arms)


def answer_text(rows: StudyRows) -> str:
    """The answer to the question of a study, behind a note if it is not its author's."""
    answer = print_answer(read_answer(study_folder(rows.study)), rows)
    return " ".join(filter(None, (answer.note, answer.text)))


def judged_studies(root: Path) -> list[str]:
    """The studies that have verdicts, sorted by number."""
    every = output_path(Path(), "judge", study="*")
    names = (path.parent.name for path in root.glob(str(every)))
    return sorted(names, key=lambda name: (len(name), name))


def judged_records(
    root: Path, verdicts: StudyVerdicts
) -> Iterator[tuple[Path, RunRecord, RunHost]]:
    """Folder, record and host record of the finished runs that verdicts rest on.

    Runs on other seeds, such as those of an earlier revision, are left out.
    """
    parts = (part for row in verdicts.verdicts for part in (row, *row.parts))
    seeds = {point.seed for part in parts for point in part.points}
    first = APART * (verdicts.revision - 1)
    seeds = seeds or set(range(first, first + APART))  # no row shows values of seeds
    for folder in find_runs(root, verdicts.study):
        run = read_run(folder)
        if not run.seeds or any(each.seed in seeds for each in run.seeds):
            yield folder, run, read_host(folder)


def current_register() -> Register:
    """The register in ``claims/`` of the working directory."""
    return read_register(CLAIMS)


def current_plan(config: Path, overrides: Iterable[str] = (), **more: Any) -> WorkflowPlan:
    """The workflow that a configuration file describes.

    `overrides`, as ``KEY=VALUE``, and then `more` replace top-level keys.
    """
    replaced = dict(map(_override, overrides)) | more
    return WorkflowPlan(read_yaml(config) | replaced, file=str(config))


def _override(written: str) -> tuple[str, Any]:
    """The key and the value of ``KEY=VALUE``. Raises UserError for any other text."""
    key, equals, value = written.partition("=")
    try:
        if equals:
            return key, yaml.safe_load(value)
    except yaml.YAMLError:
        pass
    raise UserError(f"{written!r}: write KEY=VALUE, as in scale=quick")


def printed_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, markdown: bool = False
) -> str:
    """A table for a terminal, its columns padded, or in Markdown."""
    if markdown:
        lines = (head, tuple("---" for _ in head), *rows)
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (head, *rows)
    )
