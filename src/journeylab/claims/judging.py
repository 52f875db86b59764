"""Judge the claims of a study: measurements → estimates → verdicts."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from journeylab.claims.effects import Cases, Cell, Difference, Every, Term, cells
from journeylab.claims.estimates import combine_parts, estimate_term, finite, settling_words
from journeylab.claims.looks import Schedule, schedule, term_levels, why_unjudged
from journeylab.claims.reading import CellValues, PlannedSeeds, read_rows, taken_rows
from journeylab.claims.schema import Criteria, Criterion, StudyCriteria, claim_runs, is_read
from journeylab.claims.statistics import (
    Measured,
    Values,
    detectable,
    gated_median,
    is_single,
    reaches,
    spacing,
    success_needed,
)
from journeylab.config import ONCE, Scale
from journeylab.records.looks import LookRecord, SeedRange, State, seeded_by_run
from journeylab.records.verdicts import (
    Estimate,
    FailedGate,
    Saturation,
    ScopePoint,
    StudyVerdicts,
    Verdict,
    Word,
)


@dataclass(frozen=True)
class _Study:
    """What all claims of a study are judged by; ``seeds`` are all planned seeds in order."""

    claims: StudyCriteria
    table: pd.DataFrame
    seeds: Sequence[int]
    schedule: Schedule
    exploratory: bool = False

    @cached_property
    def values(self) -> CellValues:
        """The values of the table by cell."""
        return CellValues(self.table, self.claims.measures)

    @property
    def at_looks(self) -> bool:
        """Whether looks take seeds until the claims are decided."""
        return bool(self.claims.tails) and not self.exploratory

    def measured(self, terms: Iterable[Term], n: int) -> list[Measured]:
        """Terms at the first ``n`` seeds."""
        return [self.values.measured(term, self.seeds[:n]) for term in terms]


class _Stop(NamedTuple):
    """Where the looks at a claim end: at ``seeds`` seeds, in ``state``, with the failed gates."""

    seeds: int
    state: State = "open"
    failed: tuple[FailedGate, ...] = ()


def judge(
    measurements: pd.DataFrame,
    study: str,
    register: Criteria,
    seeds: Sequence[int],
    scale: Scale = "default",
    planned: Iterable[str] | None = None,
) -> StudyVerdicts:
    """The verdicts on all claims of ``study``.

    ``measurements`` is the tidy table (study, arm, variant, seed, metric, factors …, value).
    ``seeds`` are all planned seeds in order: a seed without a value counts as failed. If their
    number is not a registered look, or the scale is quick, results are exploratory.
    Seeds after the looks that decide what reads them are left out. ``planned`` are the folders
    ``arm/variant/seeds`` of all planned runs, by default those of the table: one that left no rows
    is missing.
    Raises UserError if a cell selects several values of the same seed.
    """
    claims = register.studies.get(study, StudyCriteria(claims=()))
    table = measurements[measurements["study"] == study]
    looks, evidence = schedule(register, claims), scale != "quick"
    unjudged = why_unjudged(claims, seeds, looks.looks if evidence else ())
    if unjudged:
        looks = replace(looks, looks=(len(seeds),))
    judged = _Study(claims, table, seeds, looks, unjudged is not None)
    stops = _stops(judged)
    if taken := _seeds_taken(judged, stops):
        judged = replace(judged, table=taken_rows(table, taken))

    runs = seeded_by_run(planned_runs(table) if planned is None else planned)
    of_runs = {
        run: (seeds if taken is None else range(seeds[0], taken.end(run))) if seeded else None
        for run, seeded in runs.items()
    }

    def verdict(claim: Criterion) -> Verdict:
        if isinstance(claim.effect, Every):
            return _judge_exact(claim, claim.effect.every, judged, of_runs)
        n = len(seeds) if taken is None else _common_seeds(claim, judged, taken)
        of_row = stops.get(claim.id, (_Stop(n),) * len(claim.points))
        verdicts = [_judge(*pair, judged) for pair in zip(claim.points, of_row, strict=True)]
        return _over_scope(claim, verdicts, _state_of(of_row)) if claim.scope else verdicts[0]

    ends = [taken.first, *taken.further.values()] if taken else []
    return StudyVerdicts(
        study=study,
        scale=scale,
        seeds=max(ends) - seeds[0] if ends else len(seeds),
        first=min(seeds, default=0),
        evidence=evidence,
        alpha=register.alpha,
        M=claims.tails,
        unjudged=unjudged,
        revision=claims.revision,
        looks=looks.looks if taken else (),
        taken=taken,
        verdicts=tuple(verdict(claim) for claim in claims.claims),
    )


def planned_runs(table: pd.DataFrame) -> set[str]:
    """The folders of the runs that have rows in a table, as if no other run had been planned."""
    seeded = table["seed"].notna().to_numpy() if "seed" in table else ()
    columns = zip(table["arm"], table["variant"], seeded, strict=True)
    return {f"{arm}/{variant}/{'seeds' if has else ONCE}" for arm, variant, has in columns}


def judge_look(
    measurements: pd.DataFrame,
    study: str,
    register: Criteria,
    seeds: Sequence[int],
    planned: Iterable[str],
) -> LookRecord:
    """What a look decides; ``seeds`` are the registered seeds up to this look.

    ``planned`` are the folders ``arm/variant/seeds`` of all runs up to it. A run with seeds goes on
    to the next look if a claim that is still open reads it.
    """
    claims = register.studies[study]
    looks = schedule(register, claims)
    table = measurements[measurements["study"] == study]
    judged = _Study(claims, table, seeds, looks)
    stops = _stops(judged)
    still_open = [
        point
        for claim in claims.claims
        for point, stop in zip(claim.points, stops.get(claim.id, ()), strict=False)
        if stop.state == "open"
    ]
    number = looks.looks.index(len(seeds)) + 1
    following = looks.looks[number : number + 1]
    goes_on = [
        run
        for run, seeded in seeded_by_run(planned).items()
        if seeded and following
        if any(is_read(claims, claim, *run.split("/")) for claim in still_open)
    ]
    taken = _seeds_taken(judged, stops) or SeedRange(first=seeds[0] + len(seeds))
    further = {run: seeds[0] + n for n in following for run in goes_on}
    return LookRecord(
        study=study,
        number=number,
        seeds=len(seeds),
        states={name: _state_of(of_row) for name, of_row in stops.items()},
        goes_on=tuple(goes_on),
        taken=SeedRange(first=taken.first, further={**taken.further, **further}),
    )


def _state_of(stops: Sequence[_Stop]) -> State:
    """The state of a row: the first of these that a point of its scope has."""
    order: tuple[State, ...] = ("open", "settled", "withheld", "decided")
    return min((stop.state for stop in stops), key=order.index)


def _stops(study: _Study) -> dict[str, tuple[_Stop, ...]]:
    """Where the looks end at the points of every judged claim over seeds, by its id."""
    if study.exploratory:
        return {}
    return {
        claim.id: tuple(_stop(point, study) for point in claim.points)
        for claim in study.claims.claims
        if claim.primary and not isinstance(claim.effect, Every)
    }


def _stop(claim: Criterion, study: _Study) -> _Stop:
    """Judge at each look in turn, the gates by the seeds of that look; a decision is final.

    A claim also stops if a gate fails, since more seeds do not teach a model, or if no further
    seeds could decide it.
    """
    stop = _Stop(0)
    for n in (n for n in study.schedule.looks if n <= len(study.seeds)):
        failed = _failed_gates(claim, study, n)
        values = study.measured(claim.terms, n)
        state: State = "open"
        if failed:
            state = "withheld"
        elif _estimate(claim, values, study, n)[0].verdict in ("supported", "refuted"):
            state = "decided"
        elif not _can_be_decided(claim, study, values):
            state = "settled"
        stop = _Stop(n, state, failed)
        if state != "open":
            break
    return stop


def _can_be_decided(claim: Criterion, study: _Study, values: Sequence[Measured]) -> bool:
    """Whether a claim could be decided at the last registered look by some further seeds.

    The further seeds of a term are put into each of the intervals between the margins in turn,
    those of one part independently of those of the others.
    """
    last = study.schedule.looks[-1]
    levels = term_levels(study.schedule, claim, last)
    possible = [
        {
            estimate_term(
                of_term.extended(last, value), claim.claimed, range(last), *levels
            ).verdict
            for value in claim.claimed.between
        }
        for of_term in values
    ]
    by_all, by_any = settling_words(claim)
    return all(by_all in words for words in possible) or any(by_any in words for words in possible)


def _seeds_taken(study: _Study, stops: Mapping[str, Sequence[_Stop]]) -> SeedRange | None:
    """The seeds of every run, if looks took them: those of the last claim that reads it."""
    if not study.at_looks:
        return None
    start, first = study.seeds[0], study.schedule.looks[0]
    further: dict[str, int] = {}
    for claim in study.claims.claims:
        for point, stop in zip(claim.points, stops.get(claim.id, ()), strict=False):
            if stop.seeds > first:
                for arm, variant in claim_runs(study.claims, point):
                    run = f"{arm}/{variant}"
                    further[run] = max(start + stop.seeds, further.get(run, 0))
    return SeedRange(first=start + first, further=dict(sorted(further.items())))


def _common_seeds(claim: Criterion, study: _Study, taken: SeedRange) -> int:
    """The number of seeds that all runs of a claim have."""
    runs = claim_runs(study.claims, claim)
    return min(taken.end(f"{arm}/{variant}") for arm, variant in runs) - study.seeds[0]


def _estimate(
    claim: Criterion, values: Sequence[Measured], study: _Study, n: int
) -> tuple[Estimate, list[Estimate]]:
    """The estimate of a whole claim at a look, and those of its parts, if it has several."""
    levels, seeds = term_levels(study.schedule, claim, n), study.seeds[:n]
    parts = [estimate_term(of_term, claim.claimed, seeds, *levels) for of_term in values]
    return (parts[0], []) if len(parts) == 1 else (combine_parts(claim, parts), parts)


def _over_scope(claim: Criterion, points: Sequence[Verdict], state: State) -> Verdict:
    """The verdict of a row from those at all points of its scope; a withheld point decides none."""
    words = {point.verdict for point in points}
    word: Word | None = "inconclusive"
    if len(words) == 1:
        word = points[0].verdict
    elif {"supported", "refuted"} <= words:
        word = "depends"
        state = state if state == "open" else "decided"
    failed = {gate.gate: gate for point in points for gate in point.failed_gates}
    distances = [point.detectable for point in points if point.detectable is not None]
    return Verdict(
        **dict.fromkeys(("effect", "mean", "low", "high")),
        id=claim.id,
        primary=True,
        n=max(point.n for point in points),
        failures=max(point.failures for point in points),
        verdict=word,
        tail=points[0].tail,
        k=max(point.k or 0 for point in points),
        detectable=max(distances, default=None),
        state=state if points[0].state else None,
        failed_gates=tuple(failed.values()) if word is None else (),
        absent=tuple(dict.fromkeys(run for point in points for run in point.absent)),
        saturated=tuple(dict.fromkeys(pair for point in points for pair in point.saturated)),
        scope=tuple(
            ScopePoint(**{name: getattr(point, name) for name in _OF_POINT}, at=levels)
            for point, levels in zip(points, claim.levels, strict=True)
        ),
    )


_OF_POINT = (*Estimate.model_fields, "k", "state", "failed_gates")


def _judge(claim: Criterion, stop: _Stop, study: _Study) -> Verdict:
    """The verdict at the look where the looks end, or an exploratory estimate."""
    n = stop.seeds
    terms = study.measured(claim.terms, n)
    values = [of_term.values for of_term in terms]
    whole, parts = _estimate(claim, terms, study, n)
    k = study.schedule.level(n).k
    decides = claim.primary and not study.exploratory and not stop.failed
    word: Word | None = (whole.verdict if k else "undecidable") if decides else None
    at_looks = claim.primary and study.at_looks
    return Verdict(
        **dict(whole.model_copy(update={"verdict": word})),
        id=claim.id,
        primary=claim.primary,
        tail=study.schedule.tail,
        k=k,
        detectable=_detectable(claim, study, values, n),
        state=stop.state if at_looks else None,
        failed_gates=stop.failed,
        absent=tuple(_absent(claim, values)),
        saturated=tuple(_saturations(claim, study, n)) if at_looks else (),
        parts=tuple(
            part.model_copy(update={"verdict": part.verdict if decides and k else None})
            for part in parts
        ),
    )


def _judge_exact(claim: Criterion, cases: Cases, study: _Study, planned: PlannedSeeds) -> Verdict:
    """Compare the extreme value over all matching rows with the region.

    A value that is not finite counts as infinitely wrong. If planned cases were not measured, the
    claim can be refuted but not supported. Values with seeds are judged at looks only.
    """
    values, missing, seeded = read_rows(cases, study.table, planned)
    upward = claim.claimed.low == -math.inf
    worst = np.where(np.isfinite(values), values, math.inf if upward else -math.inf)
    extreme = float(worst.max() if upward else worst.min()) if values.size else math.nan
    compared = Measured(worst, spacing(worst, is_single(worst))).at(*claim.claimed.ends)
    word: Word = "supported" if claim.claimed.contains(compared).all() else "refuted"
    if not values.size or (missing and word == "supported"):
        word = "inconclusive"
    return Verdict(
        **dict.fromkeys(("mean", "low", "high", "tail", "k", "detectable")),
        id=claim.id,
        primary=claim.primary,
        effect=finite(extreme),
        n=values.size,
        failures=int((~np.isfinite(values)).sum()),
        verdict=word if claim.primary and not (seeded and study.exploratory) else None,
        missing=tuple(missing),
    )


def _failed_gates(claim: Criterion, study: _Study, n: int) -> tuple[FailedGate, ...]:
    """The gates of a claim that the first ``n`` seeds fail."""
    failed = []
    for name in claim.gate:
        gate = study.claims.gates[name]
        cells = study.measured(gate.cells, n)
        if not any(reaches(cell, gate.at_least) for cell in cells):
            largest = max(gated_median(cell.values) for cell in cells)
            failed.append(FailedGate(gate=name, median=finite(largest)))
    return tuple(failed)


def _detectable(claim: Criterion, study: _Study, values: Sequence[Values], n: int) -> float | None:
    """Minimum detectable effect (power 0.8), largest over parts; at least a step of the measure."""
    k = min(level.k for level in term_levels(study.schedule, claim, n))
    if claim.claimed.of == "seeds":
        return success_needed(n, k) if k else None
    distances = [
        distance
        for of_term in values
        if (distance := detectable(of_term, k, band=claim.claimed.is_band)) is not None
    ]
    return max(*distances, study.claims.step(claim)) if distances else None


def _absent(claim: Criterion, values: Sequence[Values]) -> list[str]:
    """The runs of terms that have no value at any seed."""
    return [
        cell.run
        for term, of_term in zip(claim.terms, values, strict=True)
        if of_term.size and np.isnan(of_term).all()
        for cell in cells([term])
    ]


EDGE, SHARE = 0.01, (0.0, 1.0)
"""How near to an end of its range a median is at the floor or ceiling, and the range of a share."""


def _saturations(claim: Criterion, study: _Study, n: int) -> Iterator[Saturation]:
    """Every two compared runs that are both at the floor or both at the ceiling.

    Such a comparison says little. A run is at an end if its measure is a share, with the range
    [0, 1], and the median of its finite values is within :data:`EDGE` of that end.
    """

    def median(cell: Cell) -> float:
        values = study.values.read(cell, study.seeds[:n])
        finished = values[np.isfinite(values)]
        share = study.claims.measures[cell.measure].range == SHARE
        return float(np.median(finished)) if share and finished.size else math.nan

    for pair in _pairs(claim.terms):
        medians = tuple(map(median, pair))
        for end, at_end in (("floor", max(medians) <= EDGE), ("ceiling", min(medians) >= 1 - EDGE)):
            if at_end and all(map(math.isfinite, medians)):
                runs = tuple(cell.run for cell in pair)
                yield Saturation(end=end, runs=runs, medians=medians)


def _pairs(terms: Sequence[Term]) -> Iterator[tuple[Cell, Cell]]:
    """The cells that are compared directly, in nested differences too."""
    for term in terms:
        if isinstance(term, Difference):
            first, second = term.difference
            if isinstance(first, Cell) and isinstance(second, Cell):
                yield first, second
            else:
                yield from _pairs(term.difference)
