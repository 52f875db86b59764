"""``journeylab evidence``: keep finished runs in git, and check the runs that are kept."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Annotated

import typer

from journeylab.claims.schema import PILOT, is_read
from journeylab.commands.results import CONFIG, current_plan, end
from journeylab.config import UserError, check_known
from journeylab.records.evidence import RunEvidence, collect_evidence, evidence_path, find_evidence
from journeylab.records.files import MEASUREMENTS, write_atomic
from journeylab.records.runs import RUN, START
from journeylab.records.searches import evidence_of_search
from journeylab.records.stages import run_folder
from journeylab.workflow.evidence import StudyEvidence
from journeylab.workflow.planning import WorkflowPlan

NAMES = typer.Argument(help="Studies (default: all), and KEY=VALUE as planned.")

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Keep finished runs in git, and check what is kept.",
)


@app.command()
def add(
    names: Annotated[list[str] | None, NAMES] = None,
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
) -> None:
    """Write the evidence of all finished runs; unfinished runs are counted."""
    plan, studies = _planned(names or [], config)
    if plan.config.scale == "quick" and PurePath(plan.config.root) == PurePath():
        raise UserError("quick runs are no evidence: write another root, such as root=build/quick")
    refused: list[str] = []
    for study in studies:
        refused += _add_study(plan, study)
        _add_search(plan, study, Path(plan.config.root))
    end((), [f"error: {line}" for line in refused])


@app.command()
def check(
    names: Annotated[list[str] | None, NAMES] = None,
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
) -> None:
    """Compare all evidence with the current plans; the exit code is 1 if a file is damaged."""
    plan, studies = _planned(names or [], config)
    damaged: list[str] = []
    for study in studies:
        known = plan.evidence_of(study)
        recorded, needed = known.recorded, known.needed
        states = Counter(
            entry.state for run, entry in recorded.items() if run in needed or entry.evidence
        )
        for run, entry in recorded.items():
            if entry.state == "damaged":
                damaged += entry.reasons
            elif run not in needed and not entry.evidence:
                continue  # a later look may need it
            elif entry.state != "current" and states["missing"] < len(needed):
                changed = f": {'; '.join(entry.reasons)}" if entry.reasons else ""
                typer.echo(f"{study}/{run} is {entry.state}{changed}")
        del states["current"]
        others = ", ".join(f"{states[state]} {state}" for state in sorted(states, reverse=True))
        typer.echo(f"{_summary(known)}{f'; {others}' if others else ''}")
        if study in plan.searches:
            remarks = plan.searches[study].remarks() or [f"{study}: its search is current"]
            typer.echo("\n".join(remarks))
    end((), [f"error: {line}" for line in damaged])


@app.command()
def older(
    markdown: Annotated[bool, typer.Option(help="Print a Markdown list.")] = False,
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
) -> None:
    """Name the studies that are newer than their evidence, and the commands that draw them."""
    for line in current_plan(config, evidence="run").moved_on:
        typer.echo(f"- {line}" if markdown else line)


def _planned(names: Sequence[str], config: Path) -> tuple[WorkflowPlan, list[str]]:
    """The workflow in which every run is made, and the studies that are named."""
    plan = current_plan(config, (name for name in names if "=" in name), evidence="run")
    studies = [name for name in names if "=" not in name]
    for study in studies:
        check_known(study, plan.studies, f"{study!r} is not in {config}")
    return plan, studies or plan.studies


def _add_study(plan: WorkflowPlan, study: str) -> list[str]:
    """Write the evidence of the finished runs of a study; why runs were refused."""
    root, recorded = Path(plan.config.root), plan.evidence_of(study).recorded
    replaced = "replaced by other numbers of the same settings"
    states = ("recorded", replaced, "unchanged", "started and not finished", "refused")
    counts = dict.fromkeys(states, 0)
    refused = []
    for run, plans in plan.run_plans(study).items():
        folder = run_folder(root, study, run)
        if not _is_ended(folder):
            counts["started and not finished"] += folder.exists() and any(folder.iterdir())
            continue
        try:
            evidence = collect_evidence(folder, *plans)
        except UserError as error:
            refused.append(str(error))
            continue
        if reason := _exploratory(plan, study, evidence):
            refused.append(f"{folder} is exploratory: {reason}")
            continue
        known = recorded[run].evidence
        same = known is not None and known.keys == evidence.keys
        if known and same and known.contents == evidence.contents:  # begun at another time, perhaps
            counts["unchanged"] += 1
            continue
        with write_atomic(evidence_path(root, study, run)) as partial:
            partial.write_bytes(evidence.packed)
        counts[replaced if same else "recorded"] += 1
    kept = plan.evidence_of(study)
    counts["judged"] = _record_judgements(plan, kept)
    counts["refused"] = len(refused)
    done = ", ".join(f"{n} {word}" for word, n in counts.items() if n) or "no finished runs"
    size = sum(path.stat().st_size for path in find_evidence(root, study).values())
    typer.echo(f"{_summary(kept)}, {size / 1e6:.2f} MB; {done}")
    return refused


def _add_search(plan: WorkflowPlan, study: str, root: Path) -> None:
    """Keep the search of a study, if its last round was made with the current plans."""
    made = plan.searches[study].finished() if study in plan.searches else None
    if made is None:
        return
    path, content = evidence_of_search(root, study), made.read_bytes()
    if not path.exists() or path.read_bytes() != content:
        with write_atomic(path) as partial:
            partial.write_bytes(content)
        typer.echo(f"{study}: its search is recorded, {len(content) / 1e6:.2f} MB")


def _record_judgements(plan: WorkflowPlan, kept: StudyEvidence) -> int:
    """Write the verdicts on the evidence of a study to its ledger; how many are new."""
    if plan.config.scale == "quick":
        return 0
    known = [entry.line for entry in plan.ledger.entries(kept.study)]
    new = [line for line in kept.judgements(plan.config.scale) if line not in known]
    if new:
        plan.ledger.write(kept.study, [*known, *new])
    return len(new)


def _is_ended(folder: Path) -> bool:
    """Whether a run and its measurements were finished, rightly or not."""
    return (
        all((folder / name).exists() for name in (RUN, MEASUREMENTS))
        and not (folder / START).exists()
    )


def _exploratory(plan: WorkflowPlan, study: str, evidence: RunEvidence) -> str:
    """Why a run cannot confirm a claim; "" if its claims were registered before it."""
    claims = plan.register.studies.get(study)
    if claims is None:
        return "its study has no register"
    first = PILOT if plan.config.scale == "quick" else claims.seeds_from
    if evidence.plan.seeds and plan.seeds(study).all.start != first:
        return f"its seeds are not registered, which begin at {first}"
    if evidence.host.commit is None:
        return "no commit of git was recorded when it began"
    if not evidence.host.registered:
        return "the register was not committed when it began"
    if plan.config.scale == "quick":
        return ""
    run = evidence.run
    states = plan.registrations(study, [(run, evidence.host)])
    rows = [
        states[claim.id] for claim in claims.claims if is_read(claims, claim, run.arm, run.variant)
    ]
    return rows[0].remark if rows and all(row.exploratory for row in rows) else ""


def _summary(known: StudyEvidence) -> str:
    needed = len(known.needed)
    if not known.current:
        return f"{known.study}: none of {needed} runs has evidence"
    complete = "complete" if known.complete else "partial"
    return f"{known.study}: {known.current} of {needed} runs have evidence ({complete})"
