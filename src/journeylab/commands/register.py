"""``journeylab register``: a study's register in the form that preregistration sites ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeylab.commands.results import (
    CONFIG,
    PILOTS,
    current_plan,
    judged_studies,
    read_verdicts,
)
from journeylab.config import UserError, accepted

if TYPE_CHECKING:
    from journeylab.claims.register import Claim, StudyClaims
    from journeylab.workflow.planning import WorkflowPlan


def register(
    study: Annotated[str | None, typer.Argument(help="A study; default: all.")] = None,
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
) -> None:
    """Print the register under the headings of preregistration sites."""
    plan = current_plan(config)
    known = list(plan.register.studies)
    if study is not None and study not in known:
        raise UserError(f"{study!r} has no claims;{accepted(study, known)}")
    for name in [study] if study else known:
        typer.echo("\n".join(_registered(plan, name)))


def _registered(plan: WorkflowPlan, study: str) -> Iterator[str]:
    """The register of a study under the questions of AsPredicted and OSF."""
    from journeylab.claims.looks import looks_text
    from journeylab.claims.register import Every, register_hash
    from journeylab.records.runs import git_state, is_committed

    claims = plan.register.studies[study]
    git = git_state(Path.cwd())
    names = [f"{plan.claims}/{study}.yaml", f"{plan.claims}/looks.yaml"]
    committed = {True: "", False: " (with uncommitted changes)", None: ""}
    looks = looks_text(plan.register, claims)
    seeds = plan.seeds(study).all
    yield f"# {study}, revision {claims.revision}"
    yield ""
    yield f"Register {register_hash(plan.register, study)}"
    yield f"Commit {git.commit or 'none'}{committed[is_committed(Path.cwd(), names)]}"
    yield ""
    yield "## Have any data been collected for this study already?"
    yield ""
    first = claims.seeds_from
    if begun := _begun(plan, study, first):
        yield f"Yes: runs on seeds from {first} or without seeds, finished or not: {begun}."
    elif claims.revision == 1:
        yield f"No: neither results nor evidence has a run on seeds from {first} or without seeds."
    if claims.revision > 1:
        yield f"Yes: the results of revision {claims.revision - 1}. Changes since, with reasons:"
        for change in claims.amendments:
            yield f"- {change.date.isoformat()}, {', '.join(change.rows)}: {change.reason}"
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
    for claim in claims.claims:
        if isinstance(claim.effect, Every):
            yield f"- {claim.id}: {claim.effect.every.label} ({claim.effect.every.metric})"
    yield ""
    yield "## How many and which conditions are there?"
    yield ""
    for arm, variants in plan.variants(study).items():
        yield f"- {arm}: {', '.join(variants)}"
    yield ""
    yield "## Exactly which analyses will be conducted?"
    yield ""
    if claims.tails:
        yield (
            "Per row the median over seeds of a paired difference, with an interval between two of "
            f"the ordered differences; α = {plan.register.alpha} is shared by M = {claims.tails} "
            "tails. Supported if the interval lies in the region, refuted if outside, otherwise "
            "inconclusive."
        )
    yield "Certificates: supported if their worst case lies in the region, otherwise refuted."
    detectable = _pilot(plan, study)
    for claim in judged:
        seen = detectable.get(claim.id)
        power = f"; detectable at the spread of the pilots: {seen:.3g}" if seen is not None else ""
        yield f"- {claim.id}: {_rule(claim, study, claims)}{power}"
    yield ""
    yield "## How are outliers and exclusions handled?"
    yield ""
    yield "None is excluded. A failed seed counts as −∞ in the lower end and as ∞ in the upper end."
    for name, gate in claims.gates.items():
        runs = " or ".join(cell.run for cell in gate.cells)
        yield f"- gate {name}: {runs}, {gate.measure} ≥ {gate.at_least:g}, else withheld"
    yield ""
    yield "## How many observations will be collected, or what determines the sample size?"
    yield ""
    if all(job.run.once for job in plan.jobs[study].values()):
        yield "Every condition is computed once, without seeds."
    else:
        yield f"Seeds {seeds[0]} to {seeds[-1]}; {looks}. Pilots use seeds from 1000."
    yield ""
    yield "## Anything else?"
    yield ""
    yield "Secondary rows (numbers without a verdict):"
    for claim in claims.claims:
        if not claim.primary:
            yield f"- {claim.id}: {claim.statement or _rule(claim, study, claims)}"
    yield ""


def _begun(plan: WorkflowPlan, study: str, first: int) -> int:
    """How many runs of a revision have begun or have evidence; its seeds count from `first`."""
    from journeylab.claims.schema import APART
    from journeylab.config import ONCE, chunk_seeds
    from journeylab.records.evidence import find_evidence
    from journeylab.records.runs import RUN, START

    root = Path(plan.config.root)
    results = root / "results" / study
    begun = {
        path.parent.relative_to(results).as_posix()
        for name in (RUN, START)
        for path in results.glob(f"*/*/*/{name}")
    }
    names = [run.rpartition("/")[2] for run in begun.union(find_evidence(root, study))]
    return sum(name == ONCE or first <= chunk_seeds(name).start < first + APART for name in names)


def _rule(claim: Claim, study: str, claims: StudyClaims) -> str:
    """Effect and region as text."""
    from journeylab.catalogue import arms, labels
    from journeylab.claims.register import Every
    from journeylab.claims.wording import Names, effect_text, region_text

    names = Names(labels(study), arms(study), claims.measures)
    effect = claim.effect
    text = effect.every.label if isinstance(effect, Every) else effect_text(claim, names)
    return f"{text} {region_text(claim)}".strip()


def _pilot(plan: WorkflowPlan, study: str) -> dict[str, float]:
    """The effect that the first look detects at the spread of a quick run, if there is a run."""
    from journeylab.claims.looks import schedule
    from journeylab.claims.statistics import detectable

    if study not in judged_studies(PILOTS):
        return {}
    import numpy as np

    claims = plan.register.studies[study]
    looks = schedule(plan.register, claims)
    k = looks.level(looks.looks[0]).k
    known = {}
    for row in read_verdicts(PILOTS, study).verdicts:
        values = np.array([point.value for point in row.points], dtype=float)
        if row.primary and values.size > 1 and np.isfinite(values).all():
            seen = detectable(values, k, band="inside" in row.region)
            if seen is not None:
                known[row.id] = seen
    return known
