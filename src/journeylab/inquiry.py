"""What can be asked of results: where a number comes from, what is known, what moved.

These commands read; they change nothing. Heavy libraries are imported inside them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeylab.config import UserError, build, read_yaml
from journeylab.records.files import MEASUREMENTS, VERDICTS

if TYPE_CHECKING:
    from journeylab.claims.reference import Reference
    from journeylab.claims.register import Claim, Register
    from journeylab.records.runs import RunHost, RunRecord
    from journeylab.records.verdicts import StudyVerdicts, Verdict
    from journeylab.reports.glance import Judged
    from journeylab.workflow import WorkflowPlan

ROOT = typer.Option(help="Where results and reports are.")
REFERENCES = Path("reference")


def explain(
    claim: Annotated[str, typer.Argument(help="A row of the register, e.g. exp7.2.")],
    root: Annotated[Path, ROOT] = Path(),
) -> None:
    """Tell a claim, its numbers, and the chain from them down to data and commit."""
    from journeylab.records.verdict_text import explanation

    study = claim.partition(".")[0]
    verdicts = _read_verdicts(root, study)
    found = next((one for one in verdicts.verdicts if one.id == claim), None)
    if found is None:
        known = ", ".join(one.id for one in verdicts.verdicts)
        raise UserError(f"{claim!r} is not in the register; rows of {study}: {known}")
    typer.echo("\n".join((*explanation(found, verdicts), "", *_chain(root, found))))


def status(
    root: Annotated[Path, ROOT] = Path(),
    reference: Annotated[bool, typer.Option(help="Of the references, not the results.")] = False,
    markdown: Annotated[bool, typer.Option(help="As a table for a README.")] = False,
) -> None:
    """Tell the verdicts by theorem: over seeds, and by certificate."""
    from journeylab.reports.glance import HEAD, at_a_glance

    register = _register()
    rows = list(_of_references(register) if reference else _of_results(root))
    if not rows:
        where = REFERENCES if reference else root / "results"
        raise UserError(f"{where}: no verdicts of this register; `make all` makes them")
    lines = [
        (one.label, *(_counted(cell) for cell in one.cells), ", ".join(one.studies))
        for one in at_a_glance(rows)
    ]
    typer.echo(_table((*HEAD, "Studies"), lines, markdown=markdown))


def list_studies(
    config: Annotated[Path, typer.Option(help="Configuration file.")] = Path("config.yaml"),
) -> None:
    """List studies with their arms and variants, and how many of their runs are done."""
    from journeylab.catalogue import metrics_part
    from journeylab.records.runs import RUN

    plan = _plan(config)
    for study in plan.studies:
        results = Path(plan.folder("results")) / study
        jobs = plan.jobs[study].values()
        done = sum((results / job.folder / RUN).exists() for job in jobs)
        seeds = plan.seeds(study)
        typer.echo(
            f"{study}  {metrics_part(study).TITLE}\n"
            f"    {done} of {len(jobs)} runs done, seeds {seeds[0]} to {seeds[-1]}"
        )
        arms: dict[str, dict[str, None]] = {}
        for job in jobs:
            arms.setdefault(job.run.arm, {})[job.run.variant] = None
        for arm, variants in arms.items():
            typer.echo(f"    {arm}: {', '.join(variants)}")


def compare(
    first: Annotated[str, typer.Argument(help="A revision of git, a folder or a reference.")],
    second: Annotated[str, typer.Argument(help="Another one; without it, ./results.")] = "results",
) -> None:
    """Tell which effects and verdicts differ between two revisions, folders or references."""
    from journeylab.typography import short

    before, after = _found(first), _found(second)
    names = _continued(before, after)
    moved = 0
    for study in dict.fromkeys((*before, *after)):
        if study not in before or study not in after:
            typer.echo(f"{study}: only in {first if study in before else second}")
            continue
        old, new = before[study].claims, after[study].claims
        for row, one in new.items():
            name = names.get(row, row)
            if name not in old:
                typer.echo(f"{row}: only in {second}")
                continue
            told = [
                f"{what} {short(a) if isinstance(a, float) else a} → "
                f"{short(b) if isinstance(b, float) else b}"
                for what, a, b in (
                    ("effect", old[name].effect, one.effect),
                    ("verdict", old[name].verdict, one.verdict),
                )
                if a != b
            ]
            if told:
                moved += 1
                renamed = f" (was {name})" if name != row else ""
                typer.echo(f"{row}{renamed}: {', '.join(told)}")
        for row in old:
            if row not in (names.get(one, one) for one in new):
                typer.echo(f"{row}: only in {first}")
    typer.echo(f"{moved} claims moved")


def register(
    study: Annotated[str | None, typer.Argument(help="A study; all of them without one.")] = None,
    config: Annotated[Path, typer.Option(help="Configuration file.")] = Path("config.yaml"),
) -> None:
    """Print the register as it stands, under the headings of preregistration sites."""
    plan = _plan(config)
    if study is not None and study not in plan.register.studies:
        known = ", ".join(plan.register.studies)
        raise UserError(f"{study!r} has no claims; there are claims of: {known}")
    for name in [study] if study else list(plan.register.studies):
        typer.echo("\n".join(_registered(plan, name)))


COMMANDS: Mapping[str, Callable[..., None]] = {
    "explain": explain,
    "status": status,
    "list": list_studies,
    "compare": compare,
    "register": register,
}


# ---- explain -------------------------------------------------------------------------------------


def _chain(root: Path, row: Verdict) -> Iterator[str]:
    """From the verdict down to data and commit, with keys and hashes, and the command."""
    from journeylab.claims.register import is_read
    from journeylab.claims.registration import History, registrations
    from journeylab.records.files import read_origin, sha256

    study = row.id.partition(".")[0]
    register = _register()
    registered = register.studies.get(study)
    if registered is None or row.id not in (one.id for one in registered.claims):
        raise UserError(f"claims/{study}.yaml: {row.id} is not there any more")
    claim = next(one for one in registered.claims if one.id == row.id)
    records = list(_records(root, study))
    pairs = [(run, host) for _, run, host in records]
    told = registrations(register, study, pairs, History(Path.cwd(), Path("claims")))
    yield told[row.id].text
    verdicts, table = (root / "results" / study / name for name in (VERDICTS, MEASUREMENTS))
    origin, found = read_origin(verdicts), sha256(table)
    key = origin.plan_key if origin else "unknown"
    yield f"← {verdicts}  plan {key}  sha256 {sha256(verdicts)}"
    other = "" if origin and origin.inputs["measurements"] == found else ", other than judged"
    yield f"← {table}  sha256 {found}{other}"
    for folder, run, host in records:
        if is_read(registered, claim, run.arm, run.variant):
            dirty = ", with uncommitted changes" if host.dirty else ""
            yield f"← {folder}  run {run.run_key}  plan {run.plan_key}"
            for name, digest in {**run.files, **run.inputs}.items():
                yield f"    {name}  sha256 {digest}"
            begun = f"{host.started:%Y-%m-%d %H:%M}"
            yield f"    commit {host.commit or 'unknown'}{dirty}, begun {begun}"
    yield f"made anew by: snakemake --cores 8 {verdicts}"


def _records(root: Path, study: str) -> Iterator[tuple[Path, RunRecord, RunHost]]:
    from journeylab.records.runs import find_runs, read_host, read_run

    for folder in find_runs(root, study):
        yield folder, read_run(folder), read_host(folder)


def _read_verdicts(root: Path, study: str) -> StudyVerdicts:
    from journeylab.records.files import read_json
    from journeylab.records.verdicts import StudyVerdicts

    path = root / "results" / study / VERDICTS
    if not path.exists():
        raise UserError(f"{path} is missing; `snakemake --cores 8 {path}` makes it")
    return build(StudyVerdicts, read_json(path), str(path))


# ---- status --------------------------------------------------------------------------------------


def _of_results(root: Path) -> Iterator[Judged]:
    """The judged rows of all results, exploratory ones told as such."""
    from journeylab.claims.registration import History, registrations
    from journeylab.records.verdict_text import outcome
    from journeylab.reports.glance import Judged

    register, history = _register(), History(Path.cwd(), Path("claims"))
    for path in sorted((root / "results").glob(f"*/{VERDICTS}")):
        study = path.parent.name
        pairs = [(run, host) for _, run, host in _records(root, study)]
        registered = registrations(register, study, pairs, history)
        for row in _read_verdicts(root, study).verdicts:
            if row.primary:
                word = outcome(row, registered)
                document, exact = row.source == "document", row.kind == "exact"
                yield Judged(row.id, row.theorem, document, exact, word)


def _of_references(register: Register) -> Iterator[Judged]:
    """The judged rows of the register, as the references of its revisions have them."""
    from journeylab.claims.reference import read_reference
    from journeylab.reports.glance import Judged

    for study, claims in register.studies.items():
        path = REFERENCES / f"{study}.json"
        known = read_reference(path) if path.exists() else None
        if known is None or known.revision != claims.revision:
            continue
        for claim in claims.claims:
            if claim.primary and claim.id in known.claims:
                word = known.claims[claim.id].verdict or "not judged"
                document, exact = claim.source == "document", claim.kind == "exact"
                yield Judged(claim.id, claim.theorem, document, exact, word)


def _counted(cell: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{number} {word}" for word, number in cell) or "–"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]], *, markdown: bool) -> str:
    if markdown:
        lines = (head, tuple("---" for _ in head), *rows)
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (head, *rows)
    )


# ---- compare -------------------------------------------------------------------------------------


def _found(name: str) -> dict[str, Reference]:
    """The claims of every study by what a name stands for."""
    from journeylab.claims.reference import read_reference, reference_of

    path = Path(name)
    if path.is_file():
        found = [read_reference(path)]
    elif path.is_dir():
        root = path.parent if path.name == "results" else path
        studies = [one.parent.name for one in sorted(root.glob(f"results/*/{VERDICTS}"))]
        found = [reference_of(_read_verdicts(root, study)) for study in studies] or [
            read_reference(one) for one in sorted(path.glob("exp*.json")) if one.stem.isalnum()
        ]
    else:
        found = list(_in_git(name))
    if not found:
        raise UserError(
            f"{name!r}: no results; write a revision of git, a folder of results or references, "
            "or a reference such as reference/exp7-r1.json"
        )
    return {one.study: one for one in found}


def _in_git(revision: str) -> Iterator[Reference]:
    """The references in a revision."""
    from journeylab.claims.reference import Reference
    from journeylab.records.git import ask_git

    here = Path.cwd()
    names = ask_git(here, "ls-tree", "--name-only", revision, f"{REFERENCES.as_posix()}/") or ""
    for name in names.split():
        if Path(name).suffix == ".json" and Path(name).stem.isalnum():
            written = json.loads(ask_git(here, "show", f"{revision}:./{name}") or "{}")
            yield build(Reference, written, f"{revision}:{name}")


def _continued(before: Mapping[str, Reference], after: Mapping[str, Reference]) -> dict[str, str]:
    """Rows by what they were called in the revision before, where the two differ by one."""
    register = _register()
    return {
        claim.id: claim.before
        for study, claims in register.studies.items()
        if study in before
        and study in after
        and before[study].revision == after[study].revision - 1 == claims.revision - 1
        for claim in claims.claims
        if claim.before is not None
    }


# ---- register ------------------------------------------------------------------------------------


def _registered(plan: WorkflowPlan, study: str) -> Iterator[str]:
    """A study's register, as AsPredicted and OSF ask for it."""
    from journeylab.claims.register import register_hash
    from journeylab.records.runs import git_state, is_committed

    claims = plan.register.studies[study]
    git = git_state(Path.cwd())
    names = [f"{plan.claims}/{study}.yaml", f"{plan.claims}/looks.yaml"]
    committed = {True: "", False: " (with changes that are not committed)", None: ""}
    looks = ", ".join(f"{n} ({weight:g} of α)" for n, weight in plan.register.looks.items())
    seeds = plan.seeds(study)
    yield f"# {study}, revision {claims.revision}"
    yield ""
    yield f"Register {register_hash(plan.register, study)}"
    yield f"Commit {git.commit or 'none'}{committed[is_committed(Path.cwd(), names)]}"
    yield ""
    yield "## Have any data been collected for this study already?"
    yield ""
    if claims.revision == 1:
        yield "No run on the judged seeds was to begin before this register was committed."
    else:
        yield f"Revision {claims.revision - 1} was seen. What changed, and why:"
        for one in claims.amendments:
            yield f"- {one.date.isoformat()}, {', '.join(one.rows)}: {one.reason}"
    yield ""
    yield "## What is the main question, and what are the hypotheses?"
    yield ""
    judged = [claim for claim in claims.claims if claim.primary]
    for claim in judged:
        yield f"- {claim.id} ({claim.theorem}; {claim.source}): {claim.statement}"
    yield ""
    yield "## What are the dependent variables, and how are they measured?"
    yield ""
    for name, measure in claims.measures.items():
        yield f"- {name}: {measure.label} ({measure.metric})"
    yield ""
    yield "## How many and which conditions are there?"
    yield ""
    variants: dict[str, dict[str, None]] = {}
    for job in plan.jobs.get(study, {}).values():
        variants.setdefault(job.run.arm, {})[job.run.variant] = None
    for arm, names_of in variants.items():
        yield f"- {arm}: {', '.join(names_of)}"
    yield ""
    yield "## Exactly which analyses will be conducted?"
    yield ""
    yield (
        "Per row the median over seeds of a paired difference, with an interval between two of the "
        f"ordered differences; α = {plan.register.alpha} is shared by M = {claims.tails} tails. "
        "Supported if the interval lies in the region, refuted if outside, otherwise inconclusive. "
        "Certificates: their worst case."
    )
    detectable = _pilot(plan, study)
    for claim in judged:
        seen = detectable.get(claim.id)
        power = f"; detectable at the spread of the pilots: {seen:.3g}" if seen is not None else ""
        yield f"- {claim.id}: {_rule(claim)}{power}"
    yield ""
    yield "## How are outliers and exclusions handled?"
    yield ""
    yield "None is excluded. A failed seed counts as −∞ in the lower and as ∞ in the upper end."
    for name, gate in claims.gates.items():
        yield f"- gate {name}: {gate.run}, {gate.measure} ≥ {gate.at_least:g}, else withheld"
    yield ""
    yield "## How many observations will be collected, or what determines the sample size?"
    yield ""
    yield f"Seeds {seeds[0]} to {seeds[-1]}; looks at {looks}. Pilots use seeds from 1000."
    yield ""
    yield "## Anything else?"
    yield ""
    yield "Secondary rows, which have numbers and no verdict:"
    for claim in claims.claims:
        if not claim.primary:
            yield f"- {claim.id}: {claim.statement or _rule(claim)}"
    yield ""


def _rule(claim: Claim) -> str:
    """Effect and region in words."""
    from journeylab.claims.register import Every
    from journeylab.claims.wording import Names, effect_text, region_text

    effect = claim.effect
    text = effect.every.label if isinstance(effect, Every) else effect_text(claim, Names())
    return f"{text} {region_text(claim)}".strip()


def _pilot(plan: WorkflowPlan, study: str) -> dict[str, float]:
    """What the first look detects at the spread of a quick run's seeds, where there is one."""
    from journeylab.claims.statistics import detectable, order

    path = Path("build/quick/results") / study / VERDICTS
    if not path.exists():
        return {}
    import numpy as np

    claims = plan.register.studies[study]
    n, weight = next(iter(sorted(plan.register.looks.items())))
    k = order(n, weight * plan.register.alpha / max(claims.tails, 1))
    found = {}
    for row in _read_verdicts(Path("build/quick"), study).verdicts:
        values = np.array([point.value for point in row.points], dtype=float)
        if row.primary and values.size > 1 and np.isfinite(values).all():
            seen = detectable(values, k, band="inside" in row.region)
            if seen is not None:
                found[row.id] = seen
    return found


def _register() -> Register:
    from journeylab.claims.register import read_register

    return read_register(Path("claims"))


def _plan(config: Path) -> WorkflowPlan:
    from journeylab.workflow import WorkflowPlan

    return WorkflowPlan(read_yaml(config))
