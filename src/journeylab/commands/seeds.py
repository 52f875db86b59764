"""``journeylab seeds``: how many seeds a study will probably need, and what would decide it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from math import prod
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import typer

from journeylab.chunks.tables import joined
from journeylab.claims.forecast import MOST_SEEDS, claim_forecast, in_and_out, single_look
from journeylab.claims.forms import printed_word
from journeylab.claims.looks import Schedule, looks_text, schedule
from journeylab.claims.reading import CellValues
from journeylab.claims.schema import PILOT, Claim, StudyClaims, is_read
from journeylab.claims.statistics import Values, reaches
from journeylab.commands import results
from journeylab.config import RunSettings, check_known
from journeylab.records.files import MEASUREMENTS, read_table
from journeylab.records.stages import SEARCH, output_path, run_folder
from journeylab.records.verdicts import StudyVerdicts, Verdict
from journeylab.wording.typography import plain
from journeylab.wording.verdicts import seed_numbers
from journeylab.workflow.costs import expected_seconds
from journeylab.workflow.planning import WorkflowPlan

_ENOUGH = 12
"""Fewer pilot seeds than this give rough probabilities."""
Row = dict[str, str | float | None]
"""A row of a table, by the names that its columns have for programs."""
FORECAST = ("claim", "in_region", "supported", "refuted", "seeds", "note")
PRINTED = {"in_region": "seed in region", "note": "", "advice": "what would decide it"}
"""Columns that have another name for people."""
Said = str | tuple[str, list[Row]]
"""A sentence, or a table with its name."""


class Pilots(NamedTuple):
    """Pilot seeds of a study: their values of every judged claim over seeds, term by term.

    ``failed`` are the claims with a gate that the pilots fail. Claims without any value are left
    out.
    """

    seeds: Sequence[int]
    values: Mapping[str, Sequence[Values]]
    failed: frozenset[str]


def seeds(
    studies: Annotated[list[str] | None, typer.Argument(help="Studies; default: all.")] = None,
    pilots: Annotated[Path, typer.Option(help="Root with results of pilot seeds.")] = Path(
        "build/quick"
    ),
    config: Annotated[Path, results.CONFIG] = Path("config.yaml"),
    json: Annotated[bool, results.JSON] = False,
) -> None:
    """Estimate from pilots how many seeds a study needs; after its run, what open rows need."""
    plan = results.current_plan(config)
    known = [study for study in plan.studies if study in plan.register.studies]
    for study in studies or known:
        check_known(study, known, f"{study!r} has no claims")
    said = {study: list(_said(plan, study, pilots)) for study in studies or known}
    if json:
        results.print_json("seeds", studies=[{"study": of, **_keyed(said[of])} for of in said])
        return
    for study, (first, *more) in said.items():
        typer.echo(f"{study}: {first}")
        for part in more:
            text = part if isinstance(part, str) else _printed(part[1])
            typer.echo("".join(f"  {line}\n" for line in text.splitlines()), nl=False)


def _keyed(said: Sequence[Said]) -> dict[str, Any]:
    """What is said of a study: its sentences as ``notes``, its tables by their names."""
    tables = dict(part for part in said if not isinstance(part, str))
    return {"notes": [part for part in said if isinstance(part, str)], **tables}


def _printed(rows: Sequence[Row]) -> str:
    """A table for people: chances with two decimals, expected seeds with one."""

    def text(column: str, cell: str | float | None) -> str:
        if isinstance(cell, float):
            return f"{cell:.{1 if column == 'seeds' else 2}f}"
        return "" if cell is None else str(cell)

    head = [PRINTED.get(column, column) for column in rows[0]]
    return results.printed_table(head, [list(map(text, row, row.values())) for row in rows])


def _said(plan: WorkflowPlan, study: str, folder: Path) -> Iterator[Said]:
    claims = plan.register.studies[study]
    looks = schedule(plan.register, claims)
    yield looks_text(plan.register, claims)
    if not claims.tails:
        return
    root = Path(plan.config.root)
    judged = results.read_verdicts(root, study) if study in results.judged_studies(root) else None
    if judged is not None and judged.looks and judged.revision == claims.revision:
        yield from _after(judged, claims, looks)
    else:
        yield from _before(plan, study, looks, folder)


# ---- before a run --------------------------------------------------------------------------------


def _before(plan: WorkflowPlan, study: str, looks: Schedule, folder: Path) -> Iterator[Said]:
    """The forecast of every judged claim over seeds, the seeds of every run, and their cost."""
    claims = plan.register.studies[study]
    rows = _over_seeds(claims)
    trained, where = _pilot_table(plan, study, folder)
    pilots = _read_pilots(trained, claims, rows)
    if not pilots.values:
        yield (
            f"no pilots in {where}: `snakemake --cores 8 --config root=build/pilots "
            f"seeds_from=1000 seeds=4 -- build/pilots/results/{study}/verdicts.json` runs four "
            f"pilot seeds, and `journeylab seeds {study} --pilots build/pilots` reads them"
        )
        yield _cost(plan, study, looks, {})
        return
    few = "; so few give rough probabilities" if len(pilots.seeds) < _ENOUGH else ""
    yield (
        f"forecast from {len(pilots.seeds)} pilot seeds ({pilots.seeds[0]} to "
        f"{pilots.seeds[-1]}) in {where}: their median and spread, values as if normal{few}"
    )
    if where == folder and results.read_verdicts(folder, study).scale == "quick":
        yield "these pilots are a quick run: its budgets are shorter than those of the study"
    forecasts = {claim.id: _forecast(claim, looks, pilots) for claim in rows}
    yield "claims", [row for row, _ in forecasts.values()]
    ends = {claim: at_looks for claim, (_, at_looks) in forecasts.items()}
    expected = _expected_by_run(plan, study, looks, ends)
    yield "runs", [{"run": run, "seeds": number} for run, number in expected.items()]
    yield _cost(plan, study, looks, expected)


def _forecast(claim: Claim, looks: Schedule, pilots: Pilots) -> tuple[Row, Sequence[float]]:
    """The row of a claim in the forecast, and the probability that it ends at each look."""
    row: Row = dict.fromkeys(FORECAST) | {"claim": claim.id}
    at_last = (*(0.0 for _ in looks.looks[1:]), 1.0)
    if claim.id not in pilots.values:
        return row | {"note": "no pilots"}, at_last
    values, sides, outlook = claim_forecast(claim, looks, pilots.values[claim.id])
    row["in_region"] = float(in_and_out(sides, claim.claimed)[0])
    if claim.id in pilots.failed:
        withheld = "withheld: the pilots fail its gate"
        return row | {"seeds": looks.looks[0], "note": withheld}, at_last[::-1]
    note = f"{len(claim.terms)} parts, by the one that decides" if len(claim.terms) > 1 else ""
    if failed := int((values != values).sum()):
        note = "; ".join(filter(None, (note, f"{failed} of {values.size} pilots failed")))
    chances = {"supported": float(outlook.supported), "refuted": float(outlook.refuted)}
    row |= {**chances, "seeds": float(_mean(looks, outlook.ends)), "note": note}
    return row, outlook.ends


def _pilot_table(plan: WorkflowPlan, study: str, folder: Path) -> tuple[pd.DataFrame | None, Path]:
    """The measurements of pilot seeds, and where they are: runs, or else trials of the search."""
    if study in results.judged_studies(folder):
        return read_table(output_path(folder, "collect", study=study)), folder
    root = Path(plan.config.root)
    trials = plan.searches[study].in_use_trials() if study in plan.searches else []
    if not trials:
        return None, folder
    tables = [read_table(trial / MEASUREMENTS) for trial in trials]
    return joined(tables), run_folder(root, f"{SEARCH}/{study}", "")


def _read_pilots(table: pd.DataFrame | None, claims: StudyClaims, rows: Sequence[Claim]) -> Pilots:
    """The values of the pilot seeds; results of seeds below 1000 are no pilots."""
    if table is None:
        return Pilots((), {}, frozenset())
    chosen = sorted({int(seed) for seed in table["seed"].dropna() if seed >= PILOT})
    measured = partial(CellValues(table, claims.measures).measured, seeds=chosen)
    values = {
        claim.id: [measured(term).at(*claim.claimed.ends) for term in claim.terms] for claim in rows
    }
    failed = {
        name
        for name, gate in claims.gates.items()
        if chosen and not any(reaches(measured(cell), gate.at_least) for cell in gate.cells)
    }
    return Pilots(
        chosen,
        {
            name: terms
            for name, terms in values.items()
            if chosen and all(np.isfinite(of_term).any() for of_term in terms)
        },
        frozenset(claim.id for claim in rows if failed.intersection(claim.gates)),
    )


def _expected_by_run(
    plan: WorkflowPlan, study: str, looks: Schedule, ends: Mapping[str, Sequence[float]]
) -> dict[str, float]:
    """The expected seeds of every run with seeds, which ends with the last claim that reads it.

    Claims count as independent of each other.
    """
    claims = plan.register.studies[study]
    expected = {}
    for name, run in _runs(plan, study).items():
        reading = [
            accumulate(ends[claim.id])
            for claim in _over_seeds(claims)
            if is_read(claims, claim, run.arm, run.variant)
        ]
        over = [prod(column) for column in zip(*reading, strict=True)]
        shares = [after - before for before, after in pairwise((0.0, *over))]
        if not run.once:
            expected[name] = _mean(looks, shares) if reading else float(looks.looks[0])
    return expected


def _cost(plan: WorkflowPlan, study: str, looks: Schedule, expected: Mapping[str, float]) -> str:
    """The CPU time at the expected seeds, if they are known, and at the first and last look."""
    cost = plan.costs.get(study)
    if cost is None:
        return f"CPU time: unknown, the reference runs have no cost of {study}"
    runs, first, last = _runs(plan, study), looks.looks[0], looks.looks[-1]

    def minutes(seeds: Mapping[str, float], otherwise: float) -> str:
        numbers = [(run, seeds.get(name, otherwise)) for name, run in runs.items()]
        return f"{plain(expected_seconds(cost, numbers, first) / 60)} CPU-minutes"

    about = f"about {minutes(expected, first)}; " if expected else ""
    return (
        f"at the rate of the reference runs: {about}{minutes({}, first)} with {first} "
        f"seeds of every run, {minutes({}, last)} with {last}"
    )


def _runs(plan: WorkflowPlan, study: str) -> dict[str, RunSettings]:
    return {f"{job.run.arm}/{job.run.variant}": job.run for job in plan.jobs(study).values()}


# ---- after a run ---------------------------------------------------------------------------------


def _after(judged: StudyVerdicts, claims: StudyClaims, looks: Schedule) -> Iterator[Said]:
    """The look at which each claim over seeds ended, and what would decide an open one."""
    yield f"results of {seed_numbers(judged)} seeds"
    verdicts = {row.id: row for row in judged.verdicts if row.state}
    table: list[Row] = []
    for claim in _over_seeds(claims):
        state, look, number, advice = "not judged", None, None, ""
        if row := verdicts.get(claim.id):
            decided = row.verdict if row.state == "decided" else None
            state = str(printed_word(decided, claim.form, claim.evidence) or row.state)
            look, number = f"{judged.look_of(row)} of {len(judged.looks)}", row.n
            advice = _advice(row, claim, claims, looks)
        known: Row = {"claim": claim.id, "state": state, "look": look, "seeds": number}
        table.append(known | {"advice": advice})
    yield "claims", table


def _advice(row: Verdict, claim: Claim, claims: StudyClaims, looks: Schedule) -> str:
    """What would decide a claim that is not decided; "" for one that is."""
    if row.state == "decided":
        return ""
    if row.state == "withheld":
        return "models that learn the task of its gate"
    if row.state == "open" and row.n < looks.looks[-1]:
        return f"the looks that are left, to {looks.looks[-1]} seeds"
    values = [
        np.array([point.value for point in part.points], dtype=float)
        for part in row.parts or (row,)
    ]
    of_term, sides, _ = claim_forecast(claim, looks, values)
    region, step = claim.claimed, claims.step(claim)
    if np.isfinite(of_term).any() and region.of != "seeds":
        median = float(np.nanmedian(of_term))
        distance = min(abs(median - end) for end in region.ends)
        if step > distance:
            return (
                f"a finer measure: its step is {step:.2g}, and the median lies {distance:.2g} from "
                "the margin"
            )
    inside, outside = in_and_out(sides, region)
    chance = f"a seed lies in the region with probability {inside:.2f}, outside with {outside:.2f}"
    needed = single_look(looks.tail, region.bounds, sides)
    if needed is None:
        return f"nothing: {chance}; a single look would need more than {MOST_SEEDS} seeds"
    return f"more seeds: {chance}; a single look would need {needed}"


def _over_seeds(claims: StudyClaims) -> list[Claim]:
    return [claim for claim in claims.claims if claim.primary and claim.kind != "exact"]


def _mean(looks: Schedule, ends: Sequence[float]) -> float:
    return sum(n * share for n, share in zip(looks.looks, ends, strict=True))
