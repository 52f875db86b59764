"""Whether a rerun unit agrees with its record: bit for bit, or as another processor allows."""

import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from journeylab.chunks.tables import joined
from journeylab.claims.effects import Cell, cells
from journeylab.claims.judging import judge
from journeylab.claims.reading import CellValues
from journeylab.claims.schema import Register
from journeylab.claims.shifts import Scale, Shift, Shifted, favoured_side, measured_scale
from journeylab.claims.statistics import Values
from journeylab.records.processor import StudyKernels, this_processor
from journeylab.records.runs import cpu_model
from journeylab.workflow.rerun import Plans, Result, Unit, read_recorded, rerun

Comparison = Literal["bits", "tolerance", "rows", "shift", "verdicts"]
Value = float | str | None
Differences = Mapping[str, tuple[Value, Value]]
TOLERANCE = 1e-6
FEW, FEW_TOLERANCE = 6, 1e-4
SAME = ("cpu", "engine", "device", "threads", "versions")


class Compared(NamedTuple):
    """What a rerun showed: the values that moved, and those of them that are ``wrong``.

    ``shifted`` is there if the law of shifts decides, with the measures that have no scale;
    ``verdicts`` are those that would differ.
    """

    comparison: Comparison
    values: int
    moved: Differences
    wrong: Differences
    shifted: Shifted | None = None
    unscaled: Sequence[str] = ()
    verdicts: Differences = MappingProxyType({})

    @property
    def largest(self) -> dict[str, float]:
        """The largest difference of each metric."""
        largest: dict[str, float] = {}
        for name, (a, b) in self.moved.items():
            if isinstance(a, float) and isinstance(b, float) and math.isfinite(a - b):
                metric = _metric(name)
                largest[metric] = max(largest.get(metric, 0.0), abs(a - b))
        return largest


@dataclass(frozen=True)
class Comparer:
    """Compares units; ``kernels`` are the measured differences between kernels, by study."""

    units: Sequence[Unit]
    plans: Plans
    register: Register
    kernels: Mapping[str, StudyKernels]
    data: Path
    _studies: dict[str, tuple[pd.DataFrame, dict[str, Value]]] = field(default_factory=dict)
    """Recorded measurements and the verdicts on them, by study, as far as they were needed."""
    _known_scales: dict[str, dict[str, Scale | None]] = field(default_factory=dict)
    """The scales of the measures of runs, by folder, as far as they were needed."""

    def expected(self, unit: Unit) -> Comparison:
        """How a unit will be compared on this machine."""
        run, known = unit.evidence.run, unit.evidence.host.processor
        if known is not None and known == this_processor() and run.cpu == (cpu_model(),):
            return "bits"
        if run.kind == "computed" and not self._trains(unit):
            return "tolerance"
        return "shift" if any(self._scales(unit).values()) else "verdicts"

    def _trains(self, unit: Unit) -> bool:
        """Whether other kernels changed a computed run of the same arm by more than rounding."""
        known = self.kernels.get(unit.study, StudyKernels()).runs
        of_arm = (each for run, each in known.items() if Path(run).parent == Path(unit.run).parent)
        values = (v or 0.0 for each in of_arm for seeds in each.differences.values() for v in seeds)
        return any(abs(value) > TOLERANCE for value in values)

    @property
    def older_kernels(self) -> list[str]:
        """The measured runs whose code is not that of the current plans."""
        code = {
            (str(Path(path).parent.parent), plan.stage): plan.code
            for path, plan in self.plans.items()
        }
        return [
            f"{study}/{run}"
            for study, known in self.kernels.items()
            for run, each in known.runs.items()
            for stage in ("train", "measure", "compute")
            if stage in each.code and code.get((f"{study}/{run}", stage)) != each.code[stage]
        ]

    def decidable(self, unit: Unit, level: float) -> bool:
        """Whether a difference of this unit alone could be refused, if it is large enough."""
        how = self.expected(unit)
        if how != "shift":
            return how != "verdicts"
        zeros = np.zeros(len(unit.evidence.run.seeds) if unit.seed is None else 1)
        known = {name: Shift(zeros, scale) for name, scale in self._scales(unit).items() if scale}
        return Shifted(unit.study, known).least <= level

    def compare(self, unit: Unit, folder: Path) -> Compared:
        """Rerun a unit in an empty folder and compare it. Raises UserError if a job fails."""
        recorded = read_recorded(unit.evidence)
        again = rerun(unit, self.plans, folder, self.data)
        old, new = recorded.values(unit), again.values(unit)
        same = all(getattr(again.run, name) == getattr(recorded.run, name) for name in SAME)
        computed = unit.evidence.run.kind == "computed"
        expected = self.expected(unit)
        if same and expected == "bits":
            moved = differences(old, new)
            return Compared("bits", len(old), moved, moved)
        verdicts = self._verdicts(unit, again)
        if expected == "tolerance":
            moved = differences(old, new, TOLERANCE)
            errors = rounding_errors(moved)
            wrong = {name: moved[name] for name in moved.keys() - errors}
            how: Comparison = "rows" if errors else "tolerance"
            return Compared(how, len(old), moved, {**wrong, **verdicts})
        moved = differences(old, new, TOLERANCE if computed else 0.0)
        wrong = {name: moved[name] for name in moved if name in recorded.exact(unit)}
        shifted, unscaled = self._shifted(unit, recorded, again)
        if shifted is None:
            return Compared("verdicts", len(old), moved, {**wrong, **verdicts})
        return Compared("shift", len(old), moved, wrong, shifted, unscaled, verdicts)

    def _shifted(
        self, unit: Unit, recorded: Result, again: Result
    ) -> tuple[Shifted | None, list[str]]:
        """The paired differences of what the register reads, and the measures without a scale."""
        claims = self.register.claims_of(unit.study)
        seeds = [each.seed for each in recorded.run.seeds if unit.seed in (None, each.seed)]
        values = [CellValues(each.tables[0], claims.measures) for each in (recorded, again)]
        shifts, unscaled = {}, []
        for name, scale in self._scales(unit).items():
            cell = Cell(run=unit.run, measure=name)
            old, new = (cell_values.read(cell, seeds) for cell_values in values)
            paired = (old - new)[np.isfinite(old - new)]
            if paired.size and scale:
                shifts[name] = Shift(paired, scale, favoured_side(claims, cell))
            elif paired.size:
                unscaled.append(name)
        return Shifted(unit.study, shifts) if shifts else None, unscaled

    def _scales(self, unit: Unit) -> dict[str, Scale | None]:
        """The scale of each measure of the register whose metric a run has; None without pilots."""
        if unit.folder not in self._known_scales:
            measures = {study: claims.measures for study, claims in self.register.studies.items()}
            metrics = set(read_recorded(unit.evidence).tables[0]["metric"])
            self._known_scales[unit.folder] = {
                name: measured_scale(self.kernels, measures, unit.study, name)
                for name, measure in self.register.claims_of(unit.study).measures.items()
                if measure.metric in metrics
            }
        return self._known_scales[unit.folder]

    def _verdicts(self, unit: Unit, again: Result) -> Differences:
        """The verdicts that differ if a unit's rerun values replace the recorded ones."""
        table, words = self._study(unit.study)
        own = (table["arm"] == again.run.arm) & (table["variant"] == again.run.variant)
        rerun_seeds = [each.seed for each in again.run.seeds]
        own &= table["seed"].isin(rerun_seeds) if rerun_seeds else True
        replaced = joined([table[~own], again.tables[0]])
        return differences(words, self._words(unit.study, replaced))

    def _words(self, study: str, table: pd.DataFrame) -> dict[str, Value]:
        plan = self.plans[f"{study}/judge.json"]
        scale, seeds = plan.settings["scale"], plan.seeds or ()
        judged = judge(table, study, self.register, seeds, scale, planned=dict(plan.runs))
        return {row.id: row.word for row in judged.verdicts}

    def _study(self, study: str) -> tuple[pd.DataFrame, dict[str, Value]]:
        """All recorded measurements of a study, and the verdicts on them."""
        if study not in self._studies:
            runs = {each.folder: each.evidence for each in self.units if each.study == study}
            table = joined([read_recorded(evidence).tables[0] for evidence in runs.values()])
            self._studies[study] = table, self._words(study, table)
        return self._studies[study]

    def margins(self, study: str) -> Iterator[tuple[str, Cell, float]]:
        """For each judged row, its cells and the distance of its effect to the end of its region.

        The effect is the median over the seeds of a term.
        """
        claims, (table, _) = self.register.claims_of(study), self._study(study)
        seeds = self.plans[f"{study}/judge.json"].seeds or ()
        cell_values = CellValues(table, claims.measures)
        for claim in claims.claims:
            for term in claim.terms if claim.primary else ():
                values = cell_values.read(term, seeds)
                if np.isfinite(values).any():
                    effect = float(np.nanmedian(values))
                    margin = min(abs(effect - end) for end in claim.claimed.ends)
                    yield from ((claim.id, cell, margin) for cell in cells([term]))


def differences(
    recorded: Mapping[str, Value], again: Mapping[str, Value], tolerance: float = 0.0
) -> Differences:
    """The values that differ, by name; None is a value that is missing."""
    pairs = {name: (recorded.get(name), again.get(name)) for name in {**recorded, **again}}
    return {name: pair for name, pair in pairs.items() if not _agree(*pair, tolerance)}


def rounding_errors(moved: Differences) -> set[str]:
    """The moved values that are rounding errors: of metrics that no shift and no factor explains.

    Of such a metric at least six values moved, and none is negative. Differences, and logarithms of
    ratios, scatter: their interquartile range is a tenth of their median size or more. Beside such
    a metric, single values of others may move by 10⁻⁴ · max(1, |a|, |b|).
    """
    metrics: dict[str, list[str]] = {}
    for name, pair in moved.items():
        if all(isinstance(value, float) and 0 <= value < math.inf for value in pair):
            metrics.setdefault(_metric(name), []).append(name)
    errors, few = set[str](), set[str]()
    for names in metrics.values():
        values = np.array([moved[name] for name in names], dtype=np.float64)
        positive = values[(values > 0).all(axis=1)]
        if len(positive) < FEW:
            few |= {name for name in names if _agree(*moved[name], FEW_TOLERANCE)}
        elif _scatters(-np.diff(values)) and _scatters(np.diff(np.log(positive))):
            errors |= {*names}
    return errors | few if errors else errors


def _scatters(values: Values) -> bool:
    low, high = np.percentile(values, [25, 75])
    return bool(high - low >= 0.1 * np.median(np.abs(values)))


def _agree(a: Value, b: Value, tolerance: float) -> bool:
    if not isinstance(a, float) or not isinstance(b, float):
        return a == b
    if struct.pack("<d", a) == struct.pack("<d", b):
        return True
    scale = max(1.0, abs(a), abs(b))
    counts = a.is_integer() and b.is_integer()
    return math.isfinite(scale) and not counts and abs(a - b) <= tolerance * scale


def _metric(name: str) -> str:
    return re.split(r" \(|, row ", name)[0]
