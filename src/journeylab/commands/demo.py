"""``journeylab demo``: three claims judged, and changed measurements refused, in a new folder."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from journeylab.claims.register import read_register
from journeylab.commands.init import COMMAND, STUDY, create_project, run_python
from journeylab.commands.results import CLAIMS, read_verdicts
from journeylab.config import UserError, read_yaml
from journeylab.records.files import MEASUREMENTS, VERDICTS
from journeylab.wording.rows import in_words
from journeylab.wording.verdicts import opening, sentence

STUDY_ID = STUDY.partition("_")[0]
RESULTS = Path("results") / STUDY_ID


def demo(
    keep: Annotated[Path | None, typer.Option(help="New folder to work in, which is kept.")] = None,
) -> None:
    """Show in under a minute how claims are judged, and how a changed file is refused."""
    with _project(keep) as project:
        _show_claims(project)
        show_verdicts(project)
        _show_refusal(project)
    if keep is not None:
        typer.echo(f"\nEverything is in {keep}; `snakemake --cores all` there makes the reports.")
    else:
        typer.echo(f"\n{project} is removed. `journeylab demo --keep DIR` keeps it.")


@contextmanager
def _project(keep: Path | None) -> Iterator[Path]:
    """A project of ``journeylab init`` that imports nothing into MLflow."""
    with tempfile.TemporaryDirectory(prefix="journeylab-demo-") as temporary:
        project = Path(temporary) / "demo" if keep is None else keep
        create_project(project)
        config = project / "config.yaml"
        text = config.read_text(encoding="utf-8")
        config.write_text(text.replace("enabled: true", "enabled: false", 1), encoding="utf-8")
        yield project


def _show_claims(project: Path) -> None:
    file = project / "claims" / f"{STUDY_ID}.yaml"
    _say(
        f"Step 1. A project is written to {project}.",
        "",
        "Points of a square are labelled by whether their two coordinates have the same sign.",
        f"{file.relative_to(project)} registers three claims before any result exists:",
        "",
    )
    for claim in read_yaml(file)["claims"]:
        [(kind, margin)] = claim["region"].items()
        _say(
            f"  {claim['id']}  {claim['statement']}",
            f"          supported if the effect is {kind.replace('_', ' ')} {margin}",
        )


def show_verdicts(project: Path) -> None:
    """Run the workflow and print the verdicts; of one that fails, the last lines and UserError."""
    _say(
        "",
        "Step 2. The workflow generates data, trains two models on many points and on four points,",
        "12 seeds each, measures them, and judges the claims:",
        "",
        f"  snakemake --cores all {RESULTS / VERDICTS}",
    )
    started = time.monotonic()
    done = run_python(project, "-m", "snakemake", "--cores", "all", str(RESULTS / VERDICTS))
    if done.returncode:
        typer.echo("\n".join((done.stdout + done.stderr).strip().splitlines()[-15:]), err=True)
        raise UserError("the workflow failed; its last lines are above")
    _say(f"  done in {time.monotonic() - started:.0f} s", "")
    claims = read_register(project / CLAIMS).studies[STUDY_ID]
    for row in in_words(read_verdicts(project, STUDY_ID), claims).verdicts:
        _say(_indented(f"{row.id}  {opening(row)}: {sentence(row)}"))
    _say(
        "",
        "An interval inside the claimed region supports a claim; an interval outside refutes it.",
    )


def _show_refusal(project: Path) -> None:
    name = RESULTS / MEASUREMENTS
    content = bytearray((project / name).read_bytes())
    middle = len(content) // 2
    content[middle] ^= 1
    (project / name).write_bytes(content)
    judge = ("stage", "judge", "--plan", f"plans/{STUDY_ID}/judge.json")
    arguments = (*judge, "--measurements", str(name), "--output", str(RESULTS / VERDICTS))
    _say(
        "",
        f"Step 3. One bit is changed, in byte {middle:,} of {len(content):,} of {name}.",
        "The claims are judged again:",
        "",
        f"  journeylab {' '.join(arguments)}",
    )
    done = run_python(project, "-c", COMMAND, *arguments)
    if done.returncode == 0:
        raise UserError(f"{project / name}: a changed file was judged")
    _say(
        _indented(done.stderr.strip()),
        f"  (exit code {done.returncode})",
        "",
        "No claim is judged by a changed file. The line names the command that makes it anew.",
    )


def _say(*lines: str) -> None:
    for line in lines:
        typer.echo(line)


def _indented(text: str) -> str:
    return fill(text, 96, initial_indent="  ", subsequent_indent="    ")
