"""Judge the claims of a study: measurements → estimates → verdicts."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from journeylab.claims import register as reg
from journeylab.claims import wording
from journeylab.claims.reading import read, read_rows
from journeylab.claims.statistics import (
    Interval,
    Values,
    decide,
    detectable,
    median_interval,
    order,
    seeds_needed,
    success_interval,
    success_needed,
)
from journeylab.config import Labels, Scale
from journeylab.records.verdict_text import COARSE, opening, sentence
from journeylab.records.verdicts import Estimate, Part, Point, StudyVerdicts, Verdict, Word
from journeylab.typography import short


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
    ``seeds`` are the seeds that were meant to run, in their order: one without a value counts as
    failed. Where their number is no look, or the scale no ``evidence``, results are exploratory.
    ``labels`` and ``arms`` name variants and arms in print.
    Raises UserError if a cell selects several values of one seed.
    """
    claims = register.studies.get(study, reg.StudyClaims(claims=()))
    names = wording.Names(labels, arms, claims.measures)
    table = measurements[measurements["study"] == study]
    weights = register.looks if evidence else {}
    unlooked = _why_exploratory(claims, seeds, scale, weights)
    look = not unlooked
    spent = {n: weights[n] for n in sorted(weights) if n <= len(seeds)} if look else {}
    tails = {n: weight * register.alpha / max(claims.tails, 1) for n, weight in spent.items()}

    def verdict(claim: reg.Claim) -> Verdict:
        if isinstance(claim.effect, reg.Every):
            return _judge_exact(claim, claim.effect.every, table, seeds, look)
        values = [read(term, table, claims.measures, seeds) for term in claim.terms]
        if tails:
            return _judge_looks(claim, claims, names, table, values, seeds, tails)
        tail = register.alpha / max(claims.tails, 1)
        return _judge(claim, claims, names, values, seeds, tail, exploratory=True)

    return StudyVerdicts(
        study=study,
        scale=scale,
        seeds=len(seeds),
        look=look,
        evidence=evidence,
        alpha=register.alpha,
        M=claims.tails,
        exploratory=unlooked,
        revision=claims.revision,
        amendments=tuple(
            f"{one.date.isoformat()}, {', '.join(one.rows)}: {one.reason}"
            for one in claims.amendments
        ),
        verdicts=tuple(verdict(claim) for claim in claims.claims),
    )


def _why_exploratory(
    claims: reg.StudyClaims, seeds: Sequence[int], scale: Scale, weights: Mapping[int, float]
) -> str:
    """Why these seeds are not judged; empty where they are."""
    if len(seeds) not in weights:
        return f"{len(seeds)} seeds at scale {scale} are no registered look"
    first, registered = min(seeds), claims.seeds_from
    if first != registered or max(seeds) >= reg.PILOT:
        return f"seeds from {first} are not the registered ones, which count from {registered}"
    return ""


def _judge_looks(
    claim: reg.Claim,
    claims: reg.StudyClaims,
    names: wording.Names,
    table: pd.DataFrame,
    values: list[Values],
    seeds: Sequence[int],
    tails: Mapping[int, float],
) -> Verdict:
    """Judge at each look in turn, its gates by its own seeds; the first decision is final."""
    *earlier, last = tails
    for n in earlier:
        first = [one[:n] for one in values]
        note = f"decided at the look of {n} seeds"
        shut = _shut_gates(claim, claims, names, table, seeds[:n])
        verdict = _judge(claim, claims, names, first, seeds[:n], tails[n], shut, note)
        if verdict.verdict in ("supported", "refuted"):
            return verdict
    shut = _shut_gates(claim, claims, names, table, seeds)
    return _judge(claim, claims, names, values, seeds, tails[last], shut)


def _judge(
    claim: reg.Claim,
    claims: reg.StudyClaims,
    names: wording.Names,
    values: list[Values],
    seeds: Sequence[int],
    tail: float,
    shut: str = "",
    note: str = "",
    exploratory: bool = False,
) -> Verdict:
    k, measures = order(len(seeds), tail), claims.measures
    support, refute = tail, tail
    if claim.kind == "all_of":
        refute = tail / len(values)
    elif claim.kind == "any_of":
        support = tail / len(values)
    estimates = [_estimate(one, claim.region, seeds, support, refute) for one in values]
    whole = estimates[0] if len(estimates) == 1 else _combine(claim, estimates)
    word: Word | None = whole.verdict
    notes = [note] if note else []
    if k == 0:
        word = "undecidable"
        if not exploratory:
            notes.append(f"undecidable at n; needs ≥ {seeds_needed(tail)} seeds")
    if absent := [wording.run_name(cell, names) for cell in _absent(claim, values, measures)]:
        notes.append(f"no values of {'; '.join(absent)}")
    if claim.primary and claims.is_coarse(claim):
        notes.append(COARSE)
    judged = claim.primary and not exploratory and not shut
    parts = [
        Part(
            **{**dict(estimate), "verdict": estimate.verdict if judged and k else None},
            effect_text=text,
            metric_label=wording.metric_label(term, measures),
        )
        for term, text, estimate in zip(
            claim.terms, wording.term_texts(claim.terms, names), estimates, strict=True
        )
        if len(estimates) > 1
    ]
    return _record(
        claim,
        whole.model_copy(update={"verdict": word if judged else None}),
        tail=tail,
        k=k,
        effect_text=wording.effect_text(claim, names),
        metric_label=wording.metric_label(claim.terms[0], measures),
        detectable=_detectable(claim, claims, values, tail),
        withheld=shut if claim.primary and not exploratory else "",
        notes=tuple(notes),
        parts=tuple(parts),
    )


def _estimate(
    values: Values, region: reg.Region | None, seeds: Sequence[int], support: float, refute: float
) -> Estimate:
    """The effect of one term; ``support`` and ``refute`` are the tails of the two decisions."""
    finished = values[np.isfinite(values)]
    if isinstance(region, reg.Solves):
        solved = np.where(np.isfinite(values), _reaches(values, region), np.nan)
        effect = float(np.nansum(solved)) / max(values.size, 1)
        supporting, refuting = (success_interval(solved, tail) for tail in (support, refute))
    else:
        effect = float(np.median(finished)) if finished.size else math.nan
        supporting, refuting = (median_interval(values, tail) for tail in (support, refute))
    bounds = _bounds(region)
    word: Word = "inconclusive"
    if decide(supporting, bounds) == "supported":
        word = "supported"
    elif decide(refuting, bounds) == "refuted":
        word = "refuted"
    shown = {
        "up": (supporting[0], refuting[1]),
        "down": (refuting[0], supporting[1]),
        "band": supporting,
    }[_direction(region)]
    return Estimate(
        effect=_finite(effect),
        mean=_finite(float(finished.mean()) if finished.size else math.nan),
        low=_finite(shown[0]),
        high=_finite(shown[1]),
        n=values.size,
        failures=values.size - finished.size,
        verdict=word,
        points=tuple(
            Point(seed=int(seed), value=_finite(float(value)))
            for seed, value in zip(seeds, values, strict=True)
        ),
    )


def _combine(claim: reg.Claim, parts: Sequence[Estimate]) -> Estimate:
    """The worst part of ``all_of``, the best of ``any_of``; a band has no single number."""
    settling: tuple[Word, Word] = ("supported", "refuted")
    needs_all, needs_one = settling if claim.kind == "all_of" else settling[::-1]
    word: Word = "inconclusive"
    if all(part.verdict == needs_all for part in parts):
        word = needs_all
    elif any(part.verdict == needs_one for part in parts):
        word = needs_one
    direction = _direction(claim.region)
    numbers: dict[str, float | None] = dict.fromkeys(("effect", "mean", "low", "high"))
    if direction != "band":
        pick = min if (direction == "up") == (claim.kind == "all_of") else max
        unbounded = {"effect": math.nan, "mean": math.nan, "low": -math.inf, "high": math.inf}
        for name in numbers:
            found = [getattr(part, name) for part in parts]
            bounds = [unbounded[name] if value is None else value for value in found]
            numbers[name] = _finite(math.nan if any(map(math.isnan, bounds)) else pick(bounds))
    failed = {point.seed for part in parts for point in part.points if point.value is None}
    return Estimate(**numbers, n=parts[0].n, failures=len(failed), verdict=word)


def _judge_exact(
    claim: reg.Claim, rows: reg.Cases, table: pd.DataFrame, seeds: Sequence[int], look: bool
) -> Verdict:
    """The extreme value over all matching rows; what is not finite is infinitely wrong.

    What was not measured may hide anything: it leaves room for refutation only. What has seeds is
    judged at looks only.
    """
    found, missing, seeded = read_rows(rows, table, seeds)
    exploratory = seeded and not look
    upward = isinstance(claim.region, reg.AtMost)
    kind = "largest" if upward else "smallest"
    failures = int((~np.isfinite(found)).sum())
    worst = np.where(np.isfinite(found), found, math.inf if upward else -math.inf)
    extreme = float(worst.max() if upward else worst.min()) if found.size else math.nan
    word: Word = "supported" if _holds(extreme, claim.region) else "refuted"
    if not found.size or (missing and word == "supported"):
        word = "inconclusive"
    notes = []
    if failures:
        notes.append(f"{failures} values are not finite")
    if missing:
        notes.append(f"not measured: {', '.join(missing)}")
    estimate = Estimate(
        effect=_finite(extreme),
        mean=None,
        low=None,
        high=None,
        n=found.size,
        failures=failures,
        verdict=word if claim.primary and not exploratory else None,
    )
    return _record(
        claim,
        estimate,
        tail=None,
        k=None,
        effect_text=rows.label if rows.label.startswith(kind) else f"{kind} {rows.label}",
        metric_label=rows.label,
        notes=tuple(notes),
    )


def _holds(extreme: float, region: reg.Region | None) -> bool:
    if isinstance(region, reg.AtMost):
        return extreme <= region.at_most
    return isinstance(region, reg.AtLeast) and extreme >= region.at_least


def _shut_gates(
    claim: reg.Claim,
    claims: reg.StudyClaims,
    names: wording.Names,
    table: pd.DataFrame,
    seeds: Sequence[int],
) -> str:
    """What was not learned that the claim needs, in words; empty if nothing."""
    told = []
    for name in claim.gate:
        gate = claims.gates[name]
        values = read(gate.cell, table, claims.measures, seeds)
        median = float(np.median(np.where(np.isfinite(values), values, -np.inf)))
        if not median >= gate.at_least:
            found = (
                f"its median is {short(median)}"
                if math.isfinite(median)
                else "half its seeds failed"
            )
            told.append(
                f"“{wording.run_name(gate.cell, names)}” has not learned its task: {found}, "
                f"needed is {short(gate.at_least)}"
            )
    return "; ".join(told)


def _detectable(
    claim: reg.Claim, claims: reg.StudyClaims, values: Sequence[Values], tail: float
) -> float | None:
    """What the seeds can see, of the part that needs most; never below a step of the measure."""
    n, parts = values[0].size, len(values)
    k = order(n, tail / parts if claim.kind in ("all_of", "any_of") else tail)
    if isinstance(claim.region, reg.Solves):
        return success_needed(n, k) if k else None
    found = [detectable(one, k, band=isinstance(claim.region, reg.Inside)) for one in values]
    seen = [one for one in found if one is not None]
    steps = [claims.measures[cell.measure].step or 0.0 for cell in reg.cells(claim.terms)]
    return max([*seen, *steps]) if seen else None


def _absent(
    claim: reg.Claim, values: Sequence[Values], measures: Mapping[str, reg.Measure]
) -> list[reg.Cell]:
    """Cells of the terms that no seed has a value of."""
    return [
        cell
        for term, one in zip(claim.terms, values, strict=True)
        if one.size and np.isnan(one).all()
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


def _bounds(region: reg.Region | None) -> Interval:
    """The open region on the scale of the interval."""
    if isinstance(region, reg.Above):
        return region.above, math.inf
    if isinstance(region, reg.Below):
        return -math.inf, region.below
    if isinstance(region, reg.Inside):
        return region.inside
    return (-math.inf, math.inf) if region is None else (0.5, math.inf)


def _direction(region: reg.Region | None) -> Literal["up", "down", "band"]:
    if region is None or isinstance(region, reg.Inside):
        return "band"
    return "down" if isinstance(region, reg.Below) else "up"


def _reaches(values: Values, region: reg.Solves) -> Any:
    threshold = region.solves
    if isinstance(threshold, reg.Above):
        return values > threshold.above
    return values >= threshold.at_least


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
