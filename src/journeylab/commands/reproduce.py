"""``journeylab reproduce``: rerun a random sample of the evidence, compare it, write a certificate.

Results are compared bit for bit where family, model, stepping and instructions of the processor,
the variables that choose kernels, device, engine and versions are known to agree. Elsewhere, values
of a computed run may differ by 10⁻⁶ · max(1, |a|, |b|); integers, outcomes of seeds and the cost of
training must agree. A metric of a computed run that other kernels change by more, on this machine,
is a rounding error: the rows that read it must have the same verdict. Training amplifies rounding:
what the register reads of a trained run is compared with what other kernels change on pilot seeds.
The unit is refused if its seeds are shifted to one side by more; `claims/shifts.py` has the law.
Honest evidence is refused with a probability of at most 5 %. A unit that cannot be rerun counts as
different. Times are not compared.

The bound is about units, which have equal weight whatever number of seeds they hold, and about the
evidence of the current plans that can be judged here. It holds for one draw: choose the seed before
you see a result. The certificate is written after each unit. Until the run has ended it has no
bound, because the budget must decide when to stop.
"""

import math
import os
import re
import secrets
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from math import comb
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from journeylab.claims.sampling import RISK, draw_order, until_spent, upper_bound
from journeylab.claims.shifts import POWER, Shifted, pools, unit_level
from journeylab.commands.results import CONFIG, current_plan
from journeylab.config import UserError
from journeylab.records.cost import cpu_seconds
from journeylab.records.files import write_json
from journeylab.records.plans import Plan
from journeylab.records.processor import read_kernels, this_processor
from journeylab.records.runs import cpu_model
from journeylab.workflow.agreement import SAME, Compared, Comparer, Value
from journeylab.workflow.planning import WorkflowPlan
from journeylab.workflow.rerun import Unit, find_units

LISTED = 20
"""Differences that a certificate lists of each unit."""
SECONDS = {"s": 1, "m": 60, "h": 3600}
WORDS = {
    "bits": "bit for bit",
    "tolerance": "within 10⁻⁶ (other processor)",
    "rows": "in the verdicts of the rows that read its rounding errors (other processor)",
    "shift": "up to what other kernels change (other processor)",
    "verdicts": "in all verdicts of its study (other processor; no scale is measured)",
}


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
    workflow = current_plan(config, overrides or (), evidence="run")
    plans, folder = dict(workflow.plans()), Path(workflow.folder("evidence"))
    units, older = find_units(plans, folder)
    if not units:
        state = f"{len(older)} files, all of older keys" if older else "no evidence"
        raise UserError(f"{folder}: {state}; `journeylab evidence add exp7` records results")
    output.parent.mkdir(parents=True, exist_ok=True)
    if output.is_dir() or not os.access(output.parent, os.W_OK):
        raise UserError(f"--output {output} cannot be written; write the path of a file")
    seed = secrets.randbelow(2**32) if draw_seed is None else draw_seed
    studies = Counter(unit.study for unit in units)
    for study in studies:
        judge = f"{study}/judge.json"
        plans[judge] = at_last_look(workflow, study, plans[judge])
    population = ", ".join(f"{study} {count}" for study, count in studies.items())
    typer.echo(f"draw seed {seed}; {len(units)} units: {population}; rerun on {cpu_model()}")
    if older:
        typer.echo(f"{len(older)} files are of older keys and are not compared")
        typer.echo("".join(f"{line}\n" for line in workflow.moved_on), nl=False)
    by_name = {unit.name: unit for unit in units}
    order = (by_name[name] for name in draw_order(by_name, seed))
    kernels = read_kernels(folder, studies)
    comparer = Comparer(units, plans, workflow.register, kernels, Path(workflow.folder("data")))
    started = cpu_seconds()
    here = this_processor()
    certificate = {
        "draw_seed": seed,
        "budget_cpu_seconds": seconds,
        "cpu": cpu_model(),
        "processor": here.model_dump() if here else None,
        "population": dict(studies),
        "older": older,
        "of": len(units),
        "kernels": {study: sorted(known.runs) for study, known in kernels.items()},
        "meaning": __doc__,
    }
    checked: list[_Checked] = []
    for unit in until_spent(order, seconds, lambda: cpu_seconds() - started):
        typer.echo(f"{unit.name}: ", nl=False)
        checked.append(_check(unit, comparer))
        outcome = _Drawn(checked, comparer).outcome(ended=False)
        write_json(output, certificate | outcome)
        typer.echo("\n    ".join(_lines(outcome["units"][-1])))
    outcome = _Drawn(checked, comparer).outcome(ended=True)
    write_json(output, certificate | outcome)
    typer.echo("\n".join([outcome["summary"], *outcome["not_shown"], f"wrote {output}"]))
    raise typer.Exit(1 if outcome["differing"] else 0)


class _Checked(NamedTuple):
    unit: Unit
    cpu_seconds: float
    compared: Compared | None
    error: str = ""


def _check(unit: Unit, comparer: Comparer) -> _Checked:
    before, compared, reason = cpu_seconds(), None, ""
    with tempfile.TemporaryDirectory(prefix="journeylab-") as folder:
        try:
            compared = comparer.compare(unit, Path(folder))
        except UserError as error:
            reason = str(error)
    return _Checked(unit, round(cpu_seconds() - before, 3), compared, reason)


class _Drawn:
    """The units that were rerun; the law of shifts decides over all of them."""

    def __init__(self, checked: Sequence[_Checked], comparer: Comparer) -> None:
        self.checked, self.comparer = checked, comparer
        compared = ((each.unit, each.compared) for each in checked if each.compared)
        self.shifted = [(unit, found.shifted) for unit, found in compared if found.shifted]
        known = [shifted for _, shifted in self.shifted]
        self.level = unit_level(known)
        self.refused = [test for test in pools(known) if test.refused]
        self.suspects = {self.shifted[at][0].name for test in self.refused for at in test.suspects}
        self.entries = list(map(self._entry, checked))
        self.differing = [entry["unit"] for entry in self.entries if not entry["equal"]]

    def outcome(self, *, ended: bool) -> dict[str, Any]:
        """The units that were rerun and, if the run has ended, what follows from them."""
        outcome = {"ended": ended, "units": self.entries, "differing": self.differing}
        of, drawn = len(self.comparer.units), len(self.checked)
        count = f"{drawn} of {of} units rerun, {len(self.differing)} differ"
        if not ended:
            summary = f"{count}; the run has not ended, so there is no bound"
            return outcome | {"fewer_than": None, "summary": summary}
        decidable = {
            unit.name for unit in self.comparer.units if self.comparer.decidable(unit, self.level)
        }
        judged = [entry for entry in self.entries if entry["unit"] in decidable]
        unknown = [entry for entry in judged if not (entry["judged"] and entry["equal"])]
        bound = upper_bound(len(decidable), len(judged), len(unknown))
        which = "units" if len(decidable) == of else "units that can be judged here"
        claim = "the sample excludes no number of differing units"
        if judged and bound <= len(decidable):
            claim = (
                f"with {100 * (1 - RISK)} % confidence fewer than {bound} of {len(decidable)} "
                f"{which} ({min(100.0, 100.0 * bound / len(decidable)):.3g} %) differ"
            )
        arms, rows = self._arms(), self._rows()
        return outcome | {
            "fewer_than": bound,
            "judged_of": [len(judged), len(decidable)],
            "shifts_over_units": [
                {
                    "measure": test.name,
                    "seeds": test.seeds,
                    "beyond": test.beyond,
                    "side": test.side,
                }
                for test in self.refused
            ],
            "arms": arms,
            "rows": rows,
            "not_shown": self._not_shown(decidable, arms, rows),
            "summary": f"{count}; {claim}",
        }

    def _entry(self, checked: _Checked) -> dict[str, Any]:
        """A unit as the certificate lists it."""
        evidence = checked.unit.evidence
        processor = evidence.host.processor
        entry: dict[str, Any] = {
            "unit": checked.unit.name,
            "recorded_on": {name: getattr(evidence.run, name) for name in SAME}
            | {"processor": processor.model_dump() if processor else None},
            "cpu_seconds": checked.cpu_seconds,
        }
        found = checked.compared
        if found is None:
            return entry | {"equal": False, "judged": True, "error": checked.error}
        equal, judged = not found.wrong, found.comparison != "verdicts"
        if found.shifted:
            suspect = checked.unit.name in self.suspects
            equal = equal and found.shifted.tail > self.level and not suspect
            judged = found.shifted.least <= self.level
            entry |= {"tail": found.shifted.tail, "shifts": _shifts(found.shifted)}
        if found.unscaled:
            entry["without_scale"] = list(found.unscaled)
        listed = {**found.wrong, **found.verdicts}
        return entry | {
            "equal": equal,
            "judged": judged or not equal,
            "comparison": found.comparison,
            "values": found.values,
            "differing_values": len(found.moved),
            "largest_differences": found.largest,
            "differences": [
                {"name": name, "recorded": _written(a), "rerun": _written(b)}
                for name, (a, b) in [*listed.items()][:LISTED]
            ],
        }

    def _arms(self) -> dict[str, dict[str, Any]]:
        """Of each arm: units, those drawn, and how probable it was to draw one."""
        units = Counter(map(_arm, self.comparer.units))
        drawn = Counter(_arm(each.unit) for each in self.checked)
        of, n = units.total(), len(self.checked)
        return {
            arm: {
                "units": count,
                "drawn": drawn[arm],
                "probability": round(1 - comb(of - count, n) / comb(of, n), 4),
            }
            for arm, count in units.items()
        }

    def _rows(self) -> dict[str, float]:
        """The power to find a shift of half a row's margin in a drawn unit that the row reads."""
        power: dict[str, float] = {}
        for study in dict.fromkeys(unit.study for unit, _ in self.shifted):
            for row, cell, margin in self.comparer.margins(study):
                for unit, shifted in self.shifted:
                    shift = shifted.measures.get(cell.measure)
                    if shift and (unit.study, unit.run) == (study, cell.run):
                        tail = self.level / (2 * len(shifted.measures))
                        found = shift.scale.power(shift.seeds, margin / 2, tail)
                        power[row] = min(power.get(row, 1.0), round(found, 3))
        return power

    def _not_shown(
        self, decidable: set[str], arms: Mapping[str, Mapping[str, Any]], rows: Mapping[str, float]
    ) -> list[str]:
        """What the certificate does not say, in words."""
        absent = [arm for arm, known in arms.items() if not known["drawn"]]
        drawn = {each.unit.name for each in self.checked}
        weak = [row for row, power in rows.items() if power < POWER]
        alone = [unit.name for unit in self.comparer.units if unit.name not in decidable]
        pooled = {
            unit.study
            for unit, shifted in self.shifted
            if any(shift.scale.pooled for shift in shifted.measures.values())
        }
        unmeasured = {
            each.unit.study
            for each in self.checked
            if each.compared and each.compared.comparison == "verdicts"
        }
        older = self.comparer.older_kernels
        texts = {
            f"of {len(absent)} of {len(arms)} arms no unit was drawn: {', '.join(absent)}": absent,
            f"{len(alone)} units, {len(drawn.intersection(alone))} of them drawn, cannot be judged "
            "alone: trained on another processor, with too few seeds or no scale of the "
            "study": alone,
            "only verdicts were compared, for want of a scale: "
            + ", ".join(sorted(unmeasured)): unmeasured,
            "for want of pilots, the scale is pooled over studies: "
            + ", ".join(sorted(pooled)): pooled,
            "scales measured with older code: " + ", ".join(older): older,
            "a shift of half the margin is found with a probability below 0.9 in drawn units of "
            + ", ".join(weak): weak,
            "on another processor: values that no row reads, such as curves, and weights": rows,
        }
        always = (
            "a rerun uses the code and data of this repository: it shows that they give these "
            "values, not that data, models and measures are right; times were not compared"
        )
        return [
            f"not shown: {text}" for text in (*(t for t, said in texts.items() if said), always)
        ]


def _arm(unit: Unit) -> str:
    return f"{unit.study}/{unit.evidence.run.arm}"


def _shifts(shifted: Shifted) -> dict[str, Any]:
    """By measure: the median shift, the threshold, and the seeds beyond it on either side."""
    return {
        name: {
            "median": float(np.median(shift.differences)),
            "threshold": shift.scale.threshold,
            "seeds": shift.seeds,
            "below_and_above": shift.beyond,
            "favours_claims": {1: "above", -1: "below", 0: "neither"}[shift.favoured],
            "scale": "pooled over studies" if shift.scale.pooled else "of the study",
        }
        for name, shift in shifted.measures.items()
    }


def _seconds(budget: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", budget)
    if match is None or not float(match[1]):
        raise UserError(f"--budget {budget!r}: write a time such as 90s, 30m or 2h")
    return float(match[1]) * SECONDS[match[2]]


def at_last_look(workflow: WorkflowPlan, study: str, judge: Plan) -> Plan:
    """The plan to judge a study, with the seeds of the last look that has all its evidence."""
    end = workflow.evidence_of(study).end
    return judge.model_copy(update={"seeds": (judge.seeds or ())[:end]})


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
    if not entry["judged"]:
        lines[0] += "; not judged alone"
    beyond = [
        f"{name}: median shift {each['median']:.3g}, {below} and {above} of {each['seeds']} seeds "
        f"below and above ±{each['threshold']:.3g}"
        for name, each in entry.get("shifts", {}).items()
        for below, above in [each["below_and_above"]]
        if below or above
    ]
    listed = [
        f"{each['name']}: {each['recorded']} → {each['rerun']}" for each in entry["differences"]
    ]
    return lines + (beyond + listed)[:5]
