"""``journeylab deposit``: code, evidence, results and reports in one archive that checks itself."""

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from journeylab.catalogue import printed_names
from journeylab.commands.check import check_plan
from journeylab.commands.results import CONFIG, current_plan, read_verdicts
from journeylab.config import UserError
from journeylab.deposit.archive import assemble
from journeylab.deposit.contents import Study, read_code
from journeylab.records.evidence import evidence_path, pack, read_evidence
from journeylab.records.files import MANIFEST, MEASUREMENTS, read_table, write_atomic
from journeylab.workflow.planning import WorkflowPlan

OPEN, BLIND = "build/journeylab-deposit.zip", "build/journeylab-deposit-anonymous.zip"
BLIND_ROOT = "build/anonymous"
"""Where `make deposit ANONYMOUS=1` writes reports that name no commit."""


def deposit(
    overrides: Annotated[list[str] | None, typer.Argument(help="KEY=VALUE, as planned.")] = None,
    anonymous: Annotated[bool, typer.Option(help="Hide names, hosts and commits.")] = False,
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    output: Annotated[Path | None, typer.Option(help=f"Default: {OPEN} or {BLIND}.")] = None,
) -> None:
    """Pack the complete and current studies into one archive that verify.py checks."""
    project = config.resolve().parent
    code = read_code(project)
    if "CITATION.cff" not in code.files:
        raise UserError(
            f"{project / 'CITATION.cff'}: is missing, which names title, authors, version and "
            "license; commit one: https://citation-file-format.github.io"
        )
    blind = ("anonymous=True", f"root={BLIND_ROOT}") if anonymous else ()
    given = ["evidence=only", *blind, *(overrides or ())]
    plan = current_plan(config, given)
    if plan.config.scale == "quick":
        raise UserError("quick runs are no evidence, and a deposit holds none")
    _, problems = check_plan(plan, given)
    if problems:
        raise UserError(f"{problems[0]}; `make deposit` makes all that is outdated")
    studies = [_study(plan, study, project) for study in plan.required]
    files = assemble(
        code, Path(plan.config.root), plan.register, studies, anonymous=anonymous, project=project
    )
    content, output = pack(files), output or Path(BLIND if anonymous else OPEN)
    with write_atomic(output) as partial:
        partial.write_bytes(content)
    names = ", ".join(study.name for study in studies)
    typer.echo("".join(f"{line}\n" for line in plan.moved_on), nl=False)
    typer.echo(f"{output}: {names}; {len(files)} files, {len(content) / 1e6:.1f} MB")
    if not anonymous:
        typer.echo(f"commit: swh:1:rev:{code.commit}")
    typer.echo(f"digest to publish: {hashlib.sha256(files[MANIFEST]).hexdigest()}")


def _study(plan: WorkflowPlan, study: str, project: Path) -> Study:
    """A study of the deposit, with the evidence of its runs."""
    root = Path(plan.config.root)
    taken = read_verdicts(root, study).select((run, "") for run in plan.run_plans(study))
    recorded = [read_evidence(evidence_path(root, study, run)) for run in taken]
    states = plan.registrations(study, [(each.run, each.host) for each in recorded])
    return Study(
        name=study,
        title=printed_names(study).title,
        table=read_table(root / "results" / study / MEASUREMENTS),
        exploratory=tuple(row for row, state in states.items() if state.exploratory),
        commits=tuple({e.host.commit for e in recorded if e.host.commit}),
        finished=max(evidence.host.finished for evidence in recorded).isoformat(timespec="seconds"),
    )
