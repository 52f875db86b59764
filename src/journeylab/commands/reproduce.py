"""``journeylab reproduce``: rerun a random sample of the evidence, compare it, write a certificate.

Two results agree if, on the same model of processor, device, engine and versions, all values have
the same bits: measurements, curves, outcomes of seeds, training cost. On another machine, values of
a computed run may differ by 10⁻⁶ · max(1, |a|, |b|). Training amplifies rounding, so that training
on another machine gives other values: they are reported, and the unit agrees if no verdict of its
study changes when they replace its recorded values. A unit that cannot be rerun counts as
different. Times are not compared.

The bound is about units, which have equal weight whatever number of seeds they hold, and about the
evidence of the current plans only. It holds for one draw: choose the seed before you see a result.
The certificate is written after each unit. Until the run has ended it has no bound, because the
budget must decide when to stop.
"""

import math
import os
import re
import secrets
import struct
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from journeylab.chunks.tables import joined
from journeylab.claims.judge import judge_study
from journeylab.claims.sampling import RISK, draw_order, until_spent, upper_bound
from journeylab.claims.schema import Criteria
from journeylab.commands.check import override
from journeylab.commands.results import CONFIG, current_plan
from journeylab.config import UserError
from journeylab.records.cost import cpu_seconds
from journeylab.records.files import write_json
from journeylab.records.plans import Plan
from journeylab.records.runs import cpu_model
from journeylab.workflow.evidence import find_restorable
from journeylab.workflow.planning import WorkflowPlan
from journeylab.workflow.rerun import Plans, Result, Unit, find_units, read_recorded, rerun

TOLERANCE = 1e-6
LISTED = 20
"""Differences that a certificate lists of each unit."""
SECONDS = {"s": 1, "m": 60, "h": 3600}
SAME = ("cpu", "engine", "device", "threads", "versions")
WORDS = {
    "bits": "bit for bit",
    "tolerance": "within 10⁻⁶ (other machine)",
    "verdicts": "in all verdicts of its study (other machine)",
}
Value = float | str | None


def reproduce(
    overrides: Annotated[list[str] | None, typer.Argument(help="KEY=VALUE, as planned.")] = None,
    budget: Annotated[
        str, typer.Option(help="CPU time, e.g. 30m; the last unit ends later.")
    ] = "30m",
    draw_seed: Annotated[int | None, typer.Option(help="Seed of the draw; default: new.")] = None,
    output: Annotated[Path, typer.Option(help="The certificate.")] = Path(
        "build/reproduction/certificate.json"
    ),
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
) -> None:
    """Rerun a random sample of the evidence and compare; exit status 1 if something differs."""
    seconds = _seconds(budget)
    given = dict(map(override, overrides or ()))
    workflow = current_plan(config, given | {"evidence": "run"})
    plans, folder = dict(workflow.plans()), Path(workflow.folder("evidence"))
    units, older = find_units(plans, folder)
    for study in {unit.evidence.plan.study for unit in units}:
        judge = f"{study}/judge.json"
        plans[judge] = at_last_look(workflow, study, plans[judge])
    if not units:
        state = f"{len(older)} files, all of older keys" if older else "no evidence"
        raise UserError(f"{folder}: {state}; `journeylab evidence add exp7` records results")
    output.parent.mkdir(parents=True, exist_ok=True)
    if output.is_dir() or not os.access(output.parent, os.W_OK):
        raise UserError(f"--output {output} cannot be written; write the path of a file")
    seed = secrets.randbelow(2**32) if draw_seed is None else draw_seed
    studies = Counter(unit.evidence.plan.study for unit in units)
    population = ", ".join(f"{study} {count}" for study, count in studies.items())
    typer.echo(f"draw seed {seed}; {len(units)} units: {population}; rerun on {cpu_model()}")
    for path in older:
        typer.echo(f"{path}: of an older key, not compared")
    by_name = {unit.name: unit for unit in units}
    order = (by_name[name] for name in draw_order(by_name, seed))
    started = cpu_seconds()
    certificate = {
        "draw_seed": seed,
        "budget_cpu_seconds": seconds,
        "cpu": cpu_model(),
        "population": dict(studies),
        "older": older,
        "of": len(units),
        "meaning": __doc__,
    }
    checked: list[dict[str, Any]] = []
    for unit in until_spent(order, seconds, lambda: cpu_seconds() - started):
        typer.echo(f"{unit.name}: ", nl=False)
        before = cpu_seconds()
        entry = _check(unit, units, plans, Path(workflow.folder("data")))
        checked.append(entry | {"cpu_seconds": round(cpu_seconds() - before, 3)})
        typer.echo("\n    ".join(_lines(checked[-1])))
        write_json(output, certificate | _outcome(checked, len(units), ended=False))
    outcome = _outcome(checked, len(units), ended=True)
    write_json(output, certificate | outcome)
    typer.echo(f"{outcome['summary']}\nwrote {output}")
    raise typer.Exit(1 if outcome["differing"] else 0)


def _outcome(checked: Sequence[Mapping[str, Any]], of: int, *, ended: bool) -> dict[str, Any]:
    """The units that were rerun and, if the run has ended, the bound that follows from them."""
    differing = [entry["unit"] for entry in checked if not entry["equal"]]
    bound = upper_bound(of, len(checked), len(differing)) if ended else None
    if bound is None:
        claim = "the run has not ended, so there is no bound"
    elif bound <= of:
        claim = (
            f"with {100 * (1 - RISK)} % confidence fewer than {bound} of {of} units "
            f"({min(100.0, 100.0 * bound / of):.3g} %) differ"
        )
    else:
        claim = "the sample excludes no number of differing units"
    return {
        "ended": ended,
        "units": list(checked),
        "differing": differing,
        "fewer_than": bound,
        "summary": f"{len(checked)} of {of} units rerun, {len(differing)} differ; {claim}",
    }


def _seconds(budget: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", budget)
    if match is None or not float(match[1]):
        raise UserError(f"--budget {budget!r}: write a time such as 90s, 30m or 2h")
    return float(match[1]) * SECONDS[match[2]]


def _check(unit: Unit, units: Sequence[Unit], plans: Plans, data: Path) -> dict[str, Any]:
    """Rerun a unit and compare it: its part of the certificate."""
    with tempfile.TemporaryDirectory(prefix="journeylab-") as temporary:
        folder = Path(temporary)
        recorded = read_recorded(unit.evidence, folder / "recorded")
        machine = {name: getattr(recorded.run, name) for name in SAME}
        entry: dict[str, Any] = {"unit": unit.name, "recorded_on": machine}
        try:
            again = rerun(unit, plans, folder, data)
        except UserError as error:
            return entry | {"equal": False, "error": str(error)}
        same = all(getattr(again.run, name) == value for name, value in machine.items())
        comparison = "bits" if same else "tolerance"
        if not same and recorded.run.kind == "trained":
            comparison = "verdicts"
        old, new = recorded.values(unit), again.values(unit)
        moved = _differences(old, new, TOLERANCE if comparison == "tolerance" else 0.0)
        wrong = moved
        if comparison == "verdicts":
            wrong = _differences(*_verdicts(unit, units, plans, again, folder / "recorded"))
    largest: dict[str, float] = {}
    for name, (a, b) in moved.items():
        if isinstance(a, float) and isinstance(b, float) and math.isfinite(a - b):
            metric = re.split(r" \(|, row ", name)[0]
            largest[metric] = max(largest.get(metric, 0.0), abs(a - b))
    return entry | {
        "equal": not wrong,
        "comparison": comparison,
        "values": len(old),
        "differing_values": len(moved),
        "largest_differences": largest,
        "differences": [
            {"name": name, "recorded": _written(a), "rerun": _written(b)}
            for name, (a, b) in [*wrong.items()][:LISTED]
        ],
    }


def _differences(
    recorded: Mapping[str, Value], again: Mapping[str, Value], tolerance: float = 0.0
) -> dict[str, tuple[Value, Value]]:
    """The values that differ, by name; None is a value that is missing."""
    pairs = {name: (recorded.get(name), again.get(name)) for name in {**recorded, **again}}
    return {name: pair for name, pair in pairs.items() if not _agree(*pair, tolerance)}


def _agree(a: Value, b: Value, tolerance: float) -> bool:
    if not isinstance(a, float) or not isinstance(b, float):
        return a == b
    if struct.pack("<d", a) == struct.pack("<d", b):
        return True
    scale = max(1.0, abs(a), abs(b))
    return math.isfinite(scale) and abs(a - b) <= tolerance * scale


def at_last_look(workflow: WorkflowPlan, study: str, judge: Plan) -> Plan:
    """The plan to judge a study, with the seeds of the last look that has all its evidence."""
    root, planned = Path(workflow.config.root), workflow.run_plans(study)
    known = find_restorable(root, planned, workflow.seeds(study), workflow.register)
    seeds = judge.seeds if known.complete or not known.look else (judge.seeds or ())[: known.look]
    return judge.model_copy(update={"seeds": seeds})


def _verdicts(
    unit: Unit, units: Sequence[Unit], plans: Plans, again: Result, folder: Path
) -> tuple[Mapping[str, Value], Mapping[str, Value]]:
    """The verdicts of a study, as recorded, and with this unit's rerun values in their place."""
    run = again.run
    plan = plans[f"{run.study}/judge.json"]
    criteria, scale = Criteria.model_validate(plan.settings["criteria"]), plan.settings["scale"]

    def words(table: pd.DataFrame) -> Mapping[str, Value]:
        seeds, evidence = plan.seeds or (), scale != "quick"
        judged = judge_study(
            table, run.study, criteria, seeds, scale, evidence, planned=dict(plan.runs)
        )
        return {row.id: row.word for row in judged.verdicts}

    runs = {each.folder: each.evidence for each in units if each.evidence.run.study == run.study}
    table = joined([read_recorded(evidence, folder).tables[0] for evidence in runs.values()])
    seeds = [each.seed for each in run.seeds]
    own = (table["arm"] == run.arm) & (table["variant"] == run.variant) & table["seed"].isin(seeds)
    return words(table), words(joined([table[~own], again.tables[0]]))


def _written(value: Value) -> Value:
    """A value as JSON can hold it."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _lines(entry: Mapping[str, Any]) -> list[str]:
    """The outcome of a unit, then its differences."""
    if "error" in entry:
        return [f"differs: not rerun ({entry['error']})"]
    moved, values = entry["differing_values"], entry["values"]
    lines = [f"{'equal' if entry['equal'] else 'differs'} {WORDS[entry['comparison']]}"]
    if moved:
        lines[0] += f"; {moved} of {values} values differ"
    listed = [
        f"{each['name']}: {each['recorded']} → {each['rerun']}" for each in entry["differences"]
    ]
    return lines + listed[:5]
