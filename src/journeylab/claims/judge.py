"""Judge the claims of a study: measurements → estimates → verdicts."""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from journeylab.claims import register as reg
from journeylab.claims import wording
from journeylab.claims.estimates import (
    between_margins,
    combine_parts,
    estimate_term,
    finite,
    settling_words,
)
from journeylab.claims.headroom import saturation_notes
from journeylab.claims.looks import (
    FixedLooks,
    Schedule,
    schedule,
    term_levels,
    why_exploratory,
)
from journeylab.claims.reading import read, read_rows, taken_rows
from journeylab.claims.statistics import (
    Values,
    detectable,
    gated_median,
    seeds_needed,
    success_needed,
)
from journeylab.config import Labels, Scale
from journeylab.records.looks import LookRecord, SeedRange, State
from journeylab.records.verdict_text import COARSE, opening, sentence
from journeylab.records.verdicts import Estimate, Part, StudyVerdicts, Verdict, Word

_SUPERLATIVE = re.compile(r"(largest|smallest|least|max)\b")


@dataclass(frozen=True)
class _Study:
    """What all claims of a study are judged by; ``seeds`` are all planned seeds in order."""

    claims: reg.StudyClaims
    names: wording.Names
    table: pd.DataFrame
    seeds: Sequence[int]
    schedule: Schedule
    exploratory: bool = False

    def reader(self, n: int) -> Callable[[reg.Term], Values]:
        """Reads a term at the first ``n`` seeds."""
        seeds = self.seeds[:n]
        return lambda term: read(term, self.table, self.claims.measures, seeds)

    def values(self, claim: reg.Claim, n: int) -> list[Values]:
        """Every term of a claim at the first ``n`` seeds."""
        return list(map(self.reader(n), claim.terms))


class _Stop(NamedTuple):
    """Where the looks at a claim end: at ``seeds`` seeds, in ``state``, withheld for a reason."""

    seeds: int
    state: State
    withheld: str


def judge_study(
    measurements: pd.DataFrame,
    study: str,
    register: reg.Register,
    seeds: Sequence[int],
    scale: Scale,
    evidence: bool,
    labels: Labels = MappingProxyType({}),
    arms: Labels = MappingProxyType({}),
) -> StudyVerdicts:
    """The verdicts on all claims of ``study``.

    ``measurements`` is the tidy table (study, arm, variant, seed, metric, factors …, value).
    ``seeds`` are all planned seeds in order: a seed without a value counts as failed. If their
    number is not a registered look, or the scale is not ``evidence``, results are exploratory. If
    looks are sequential, seeds after the looks that decide what reads them are left out.
    ``labels`` and ``arms`` are the printed names of variants and arms.
    Raises UserError if a cell selects several values of the same seed.
    """
    claims = register.studies.get(study, reg.StudyClaims(claims=()))
    table = measurements[measurements["study"] == study]
    looks = schedule(register, claims)
    exploratory = why_exploratory(claims, seeds, scale, looks.looks if evidence else ())
    if exploratory:
        looks = FixedLooks({len(seeds): 1.0}, register.alpha, claims.tails)
    names = wording.Names(labels, arms, claims.measures)
    judged = _Study(claims, names, table, seeds, looks, bool(exploratory))
    stops = _stops(judged)
    if taken := _seeds_taken(judged, stops):
        judged = replace(judged, table=taken_rows(table, taken))

    def verdict(claim: reg.Claim) -> Verdict:
        n = len(seeds) if taken is None else _common_seeds(claim, judged, taken)
        if isinstance(claim.effect, reg.Every):
            return _judge_exact(claim, claim.effect.every, judged, n)
        return _judge(claim, judged, stops.get(claim.id, _Stop(n, "open", "")))

    ends = [taken.first, *taken.further.values()] if taken else []
    return StudyVerdicts(
        study=study,
        scale=scale,
        seeds=max(ends) - seeds[0] if ends else len(seeds),
        look=not exploratory,
        evidence=evidence,
        alpha=register.alpha,
        M=claims.tails,
        exploratory=exploratory,
        revision=claims.revision,
        amendments=tuple(
            f"{amendment.date.isoformat()}, {', '.join(amendment.rows)}: {amendment.reason}"
            for amendment in claims.amendments
        ),
        looks=looks.looks if taken else (),
        taken=taken,
        verdicts=tuple(verdict(claim) for claim in claims.claims),
    )


def judge_look(
    measurements: pd.DataFrame,
    study: str,
    register: reg.Register,
    seeds: Sequence[int],
    runs: Collection[str],
) -> LookRecord:
    """What a sequential look decides; ``seeds`` are the registered seeds up to this look.

    ``runs`` are the runs ``arm/variant`` of the study that have seeds. A run goes on to the next
    look if a claim that is still open reads it.
    """
    claims = register.studies[study]
    looks = schedule(register, claims)
    names = wording.Names({}, {}, claims.measures)
    table = measurements[measurements["study"] == study]
    judged = _Study(claims, names, table, seeds, looks)
    stops = _stops(judged)
    still_open = [claim for claim in claims.claims if _is_open(stops.get(claim.id))]
    number = looks.looks.index(len(seeds)) + 1
    following = looks.looks[number : number + 1]
    goes_on = [
        run
        for run in runs
        if following and any(reg.is_read(claims, claim, *run.split("/")) for claim in still_open)
    ]
    taken = _seeds_taken(judged, stops) or SeedRange(first=seeds[0] + len(seeds))
    further = {run: seeds[0] + n for n in following for run in goes_on}
    return LookRecord(
        study=study,
        number=number,
        seeds=len(seeds),
        states={name: stop.state for name, stop in stops.items()},
        goes_on=tuple(goes_on),
        taken=SeedRange(first=taken.first, further={**taken.further, **further}),
    )


def _is_open(stop: _Stop | None) -> bool:
    return stop is not None and stop.state == "open"


def _stops(study: _Study) -> dict[str, _Stop]:
    """Where the looks end at every judged claim over seeds, by its id."""
    if study.exploratory:
        return {}
    return {
        claim.id: _stop(claim, study)
        for claim in study.claims.claims
        if claim.primary and not isinstance(claim.effect, reg.Every)
    }


def _stop(claim: reg.Claim, study: _Study) -> _Stop:
    """Judge at each look in turn, the gates by the seeds of that look; a decision is final.

    At sequential looks a claim also stops if a gate fails, since more seeds do not teach a model,
    or if no further seeds could decide it.
    """
    stop = _Stop(0, "open", "")
    for n in (n for n in study.schedule.looks if n <= len(study.seeds)):
        withheld = _failed_gates(claim, study, n)
        values = study.values(claim, n)
        state: State = "open"
        if withheld:
            state = "withheld"
        elif _estimate(claim, values, study, n).verdict in ("supported", "refuted"):
            state = "decided"
        elif study.schedule.sequential and not _can_be_decided(claim, study, values):
            state = "settled"
        stop = _Stop(n, state, withheld)
        if state == "decided" or (study.schedule.sequential and state != "open"):
            break
    return stop


def _can_be_decided(claim: reg.Claim, study: _Study, values: Sequence[Values]) -> bool:
    """Whether a claim could be decided at the last registered look by some further seeds.

    The further seeds of a term are put into each of the intervals between the margins in turn,
    those of one part independently of those of the others.
    """
    last = study.schedule.looks[-1]
    levels = term_levels(study.schedule, claim, last)
    possible = [
        {
            estimate_term(
                np.append(of_term, np.full(last - of_term.size, value)),
                claim.region,
                range(last),
                *levels,
            ).verdict
            for value in between_margins(claim.region)
        }
        for of_term in values
    ]
    by_all, by_any = settling_words(claim)
    return all(by_all in words for words in possible) or any(by_any in words for words in possible)


def _seeds_taken(study: _Study, stops: Mapping[str, _Stop]) -> SeedRange | None:
    """The seeds of every run, if looks are sequential: those of the last claim that reads it."""
    if not study.schedule.sequential:
        return None
    start, first = study.seeds[0], study.schedule.looks[0]
    further: dict[str, int] = {}
    for claim in study.claims.claims:
        n = stops[claim.id].seeds if claim.id in stops else first
        if n > first:
            for arm, variant in reg.claim_runs(study.claims, claim):
                run = f"{arm}/{variant}"
                further[run] = max(start + n, further.get(run, 0))
    return SeedRange(first=start + first, further=dict(sorted(further.items())))


def _common_seeds(claim: reg.Claim, study: _Study, taken: SeedRange) -> int:
    """The number of seeds that all runs of a claim have."""
    runs = reg.claim_runs(study.claims, claim)
    return min(taken.end(f"{arm}/{variant}") for arm, variant in runs) - study.seeds[0]


def _estimate(claim: reg.Claim, values: Sequence[Values], study: _Study, n: int) -> Estimate:
    """The estimate of a whole claim at a look."""
    estimates = _estimates(claim, values, study, n)
    return estimates[0] if len(estimates) == 1 else combine_parts(claim, estimates)


def _estimates(claim: reg.Claim, values: Sequence[Values], study: _Study, n: int) -> list[Estimate]:
    """The estimate of each term of a claim at a look."""
    support, refute = term_levels(study.schedule, claim, n)
    seeds = study.seeds[:n]
    return [estimate_term(of_term, claim.region, seeds, support, refute) for of_term in values]


def _judge(claim: reg.Claim, study: _Study, stop: _Stop) -> Verdict:
    """The verdict at the look where the looks end, or an exploratory estimate."""
    n, claims, measures = stop.seeds, study.claims, study.claims.measures
    values = study.values(claim, n)
    estimates = _estimates(claim, values, study, n)
    whole = _estimate(claim, values, study, n)
    word: Word | None = whole.verdict
    tail, k = study.schedule.tail(n), study.schedule.level(n).k
    notes = _look_notes(claim, study, stop)
    if k == 0:
        word = "undecidable"
        if not study.exploratory:
            notes.append(f"undecidable at n; needs ≥ {seeds_needed(tail)} seeds")
    if absent := [wording.run_name(cell, study.names) for cell in _absent(claim, values)]:
        notes.append(f"no values of {'; '.join(absent)}")
    if claim.primary and claims.is_coarse(claim):
        notes.append(COARSE)
    if claim.primary and study.schedule.sequential:
        notes += saturation_notes(claim.terms, study.reader(n), measures, study.names)
    judged = claim.primary and not study.exploratory and not stop.withheld
    parts = [
        Part(
            **{**dict(estimate), "verdict": estimate.verdict if judged and k else None},
            effect_text=text,
            metric_label=wording.metric_label([term], measures),
        )
        for term, text, estimate in zip(
            claim.terms, wording.term_texts(claim.terms, study.names), estimates, strict=True
        )
        if len(estimates) > 1
    ]
    sequential = claim.primary and study.schedule.sequential
    return _record(
        claim,
        whole.model_copy(update={"verdict": word if judged else None}),
        tail=tail,
        k=k,
        effect_text=wording.effect_text(claim, study.names),
        metric_label=wording.metric_label(claim.terms, measures),
        detectable=_detectable(claim, study, values, n),
        withheld=stop.withheld,
        state=stop.state if sequential else None,
        notes=tuple(notes),
        parts=tuple(parts),
    )


def _look_notes(claim: reg.Claim, study: _Study, stop: _Stop) -> list[str]:
    """What is to be said of the look at which the looks at a claim ended."""
    looks, n = study.schedule.looks, stop.seeds
    if not claim.primary or study.exploratory or stop.state == "withheld":
        return []
    if not study.schedule.sequential:
        decided_before = stop.state == "decided" and n < len(study.seeds)
        return [f"decided at the look of {n} seeds"] if decided_before else []
    if stop.state == "decided":
        return [f"decided at look {looks.index(n) + 1} of {len(looks)}, with {n} seeds"]
    left = looks[-1] - n
    if not left:
        return [f"not decided after all {n} seeds"]
    if stop.state == "settled":
        return [f"stopped at {n} seeds, since {left} further seeds could not decide it"]
    return [f"not finished, with {n} of up to {looks[-1]} seeds"]


def _judge_exact(claim: reg.Claim, cases: reg.Cases, study: _Study, n: int) -> Verdict:
    """Compare the extreme value over all matching rows with the region.

    A value that is not finite counts as infinitely wrong. If cases were not measured at the first
    ``n`` seeds, the claim can be refuted but not supported. Values with seeds are judged at looks
    only.
    """
    values, missing, seeded = read_rows(cases, study.table, study.seeds[:n])
    exploratory = seeded and study.exploratory
    upward = isinstance(claim.region, reg.AtMost)
    kind = "largest" if upward else "smallest"
    failures = int((~np.isfinite(values)).sum())
    worst = np.where(np.isfinite(values), values, math.inf if upward else -math.inf)
    extreme = float(worst.max() if upward else worst.min()) if values.size else math.nan
    word: Word = "supported" if _contains(claim.region, extreme) else "refuted"
    if not values.size or (missing and word == "supported"):
        word = "inconclusive"
    notes = []
    if failures:
        notes.append(f"{failures} values are not finite")
    if missing:
        notes.append(f"not measured: {', '.join(missing)}")
    estimate = Estimate(
        effect=finite(extreme),
        mean=None,
        low=None,
        high=None,
        n=values.size,
        failures=failures,
        verdict=word if claim.primary and not exploratory else None,
    )
    return _record(
        claim,
        estimate,
        tail=None,
        k=None,
        effect_text=cases.label if _SUPERLATIVE.match(cases.label) else f"{kind} {cases.label}",
        metric_label=cases.label,
        notes=tuple(notes),
    )


def _contains(region: reg.Region | None, extreme: float) -> bool:
    if isinstance(region, reg.AtMost):
        return extreme <= region.at_most
    return isinstance(region, reg.AtLeast) and extreme >= region.at_least


def _failed_gates(claim: reg.Claim, study: _Study, n: int) -> str:
    """The gates of a claim that the first ``n`` seeds fail, in words; "" if none."""
    failed = []
    for name in claim.gate:
        gate = study.claims.gates[name]
        medians = [gated_median(study.reader(n)(cell)) for cell in gate.cells]
        if not max(medians) >= gate.at_least:
            names = [wording.run_name(cell, study.names) for cell in gate.cells]
            measure = study.names.measure(gate.measure)
            failed.append(wording.gate_failed(names, measure, max(medians), gate.at_least))
    return "; ".join(failed)


def _detectable(claim: reg.Claim, study: _Study, values: Sequence[Values], n: int) -> float | None:
    """Minimum detectable effect (power 0.8), largest over parts; at least a step of the measure."""
    k = min(level.k for level in term_levels(study.schedule, claim, n))
    if isinstance(claim.region, reg.Solves):
        return success_needed(n, k) if k else None
    band = isinstance(claim.region, reg.Inside)
    distances = [
        distance
        for of_term in values
        if (distance := detectable(of_term, k, band=band)) is not None
    ]
    steps = [study.claims.measures[cell.measure].step or 0.0 for cell in reg.cells(claim.terms)]
    return max([*distances, *steps]) if distances else None


def _absent(claim: reg.Claim, values: Sequence[Values]) -> list[reg.Cell]:
    """The cells of terms that have no value at any seed."""
    return [
        cell
        for term, of_term in zip(claim.terms, values, strict=True)
        if of_term.size and np.isnan(of_term).all()
        for cell in reg.cells([term])
    ]


def _record(claim: reg.Claim, estimate: Estimate, **more: Any) -> Verdict:
    measured, metric = more["effect_text"], more["metric_label"]
    if claim.kind != "exact" and metric not in measured:
        measured += f"; {metric}"
    verdict = Verdict(
        **dict(estimate),
        **({"detectable": None} | more),
        id=claim.id,
        theorem=claim.theorem,
        statement=claim.statement or measured,
        cites=claim.cites or "",
        source=claim.source,
        primary=claim.primary,
        kind=claim.kind,
        region=claim.region.model_dump() if claim.region else {},
        region_text=wording.region_text(claim),
        opening="",
        sentence="",
    )
    texts = {"opening": opening(verdict), "sentence": sentence(verdict)}
    return verdict.model_copy(update=texts)
