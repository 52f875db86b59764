"""Judge the claims of a study: measurements → estimates → verdicts."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from journeylab.claims import register as reg
from journeylab.claims import wording
from journeylab.claims.estimates import combine_parts, estimate_term, finite
from journeylab.claims.reading import read, read_rows
from journeylab.claims.statistics import (
    Values,
    detectable,
    interval_rank,
    seeds_needed,
    success_needed,
)
from journeylab.config import Labels, Scale
from journeylab.records.verdict_text import COARSE, opening, sentence
from journeylab.records.verdicts import Estimate, Part, StudyVerdicts, Verdict, Word
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
    ``seeds`` are all planned seeds in order: a seed without a value counts as failed. If their
    number is not a registered look, or the scale is not ``evidence``, results are exploratory.
    ``labels`` and ``arms`` are the printed names of variants and arms.
    Raises UserError if a cell selects several values of the same seed.
    """
    claims = register.studies.get(study, reg.StudyClaims(claims=()))
    names = wording.Names(labels, arms, claims.measures)
    table = measurements[measurements["study"] == study]
    exploratory = _why_exploratory(claims, seeds, scale, register.looks if evidence else {})
    look = not exploratory
    tails = look_tails(register, claims, len(seeds)) if look else {}

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
        exploratory=exploratory,
        revision=claims.revision,
        amendments=tuple(
            f"{amendment.date.isoformat()}, {', '.join(amendment.rows)}: {amendment.reason}"
            for amendment in claims.amendments
        ),
        verdicts=tuple(verdict(claim) for claim in claims.claims),
    )


def look_tails(register: reg.Register, claims: reg.StudyClaims, seeds: int) -> dict[int, float]:
    """The tail w·α/M of every registered look up to a number of seeds, w the look's weight."""
    return {
        n: register.looks[n] * register.alpha / max(claims.tails, 1)
        for n in sorted(register.looks)
        if n <= seeds
    }


def _why_exploratory(
    claims: reg.StudyClaims, seeds: Sequence[int], scale: Scale, weights: Mapping[int, float]
) -> str:
    """Why claims are not judged on these seeds; "" if they are."""
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
    """Judge at each look in turn, the gates by the seeds of that look; a decision is final."""
    *earlier, last = tails
    for n in earlier:
        of_look = [of_term[:n] for of_term in values]
        note = f"decided at the look of {n} seeds"
        withheld = _failed_gates(claim, claims, names, table, seeds[:n])
        verdict = _judge(claim, claims, names, of_look, seeds[:n], tails[n], withheld, note)
        if verdict.verdict in ("supported", "refuted"):
            return verdict
    withheld = _failed_gates(claim, claims, names, table, seeds)
    return _judge(claim, claims, names, values, seeds, tails[last], withheld)


def _judge(
    claim: reg.Claim,
    claims: reg.StudyClaims,
    names: wording.Names,
    values: list[Values],
    seeds: Sequence[int],
    tail: float,
    withheld: str = "",
    note: str = "",
    exploratory: bool = False,
) -> Verdict:
    k, measures = interval_rank(len(seeds), tail), claims.measures
    support, refute = tail, tail
    if claim.kind == "all_of":  # a single part can refute the claim, so each pays for all of them
        refute = tail / len(values)
    elif claim.kind == "any_of":
        support = tail / len(values)
    estimates = [estimate_term(of_term, claim.region, seeds, support, refute) for of_term in values]
    whole = estimates[0] if len(estimates) == 1 else combine_parts(claim, estimates)
    word: Word | None = whole.verdict
    notes = [note] if note else []
    if k == 0:
        word = "undecidable"
        if not exploratory:
            notes.append(f"undecidable at n; needs ≥ {seeds_needed(tail)} seeds")
    if absent := [wording.run_name(cell, names) for cell in _absent(claim, values)]:
        notes.append(f"no values of {'; '.join(absent)}")
    if claim.primary and claims.is_coarse(claim):
        notes.append(COARSE)
    judged = claim.primary and not exploratory and not withheld
    parts = [
        Part(
            **{**dict(estimate), "verdict": estimate.verdict if judged and k else None},
            effect_text=text,
            metric_label=wording.metric_label([term], measures),
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
        metric_label=wording.metric_label(claim.terms, measures),
        detectable=_detectable(claim, claims, values, tail),
        withheld=withheld if claim.primary and not exploratory else "",
        notes=tuple(notes),
        parts=tuple(parts),
    )


def _judge_exact(
    claim: reg.Claim, cases: reg.Cases, table: pd.DataFrame, seeds: Sequence[int], look: bool
) -> Verdict:
    """Compare the extreme value over all matching rows with the region.

    A value that is not finite counts as infinitely wrong. If cases were not measured, the claim
    can be refuted but not supported. Values with seeds are judged at looks only.
    """
    values, missing, seeded = read_rows(cases, table, seeds)
    exploratory = seeded and not look
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
        effect_text=cases.label if cases.label.startswith(kind) else f"{kind} {cases.label}",
        metric_label=cases.label,
        notes=tuple(notes),
    )


def _contains(region: reg.Region | None, extreme: float) -> bool:
    if isinstance(region, reg.AtMost):
        return extreme <= region.at_most
    return isinstance(region, reg.AtLeast) and extreme >= region.at_least


def _failed_gates(
    claim: reg.Claim,
    claims: reg.StudyClaims,
    names: wording.Names,
    table: pd.DataFrame,
    seeds: Sequence[int],
) -> str:
    """The gates of a claim that these seeds fail, in words; "" if none. Failed seeds are −∞."""
    failed = []
    for name in claim.gate:
        gate = claims.gates[name]
        values = read(gate.cell, table, claims.measures, seeds)
        median = float(np.median(np.where(np.isfinite(values), values, -np.inf)))
        if not median >= gate.at_least:
            reason = (
                f"its median is {short(median)}"
                if math.isfinite(median)
                else "half its seeds failed"
            )
            failed.append(
                f"“{wording.run_name(gate.cell, names)}” has not learned its task: {reason}, "
                f"needed is {short(gate.at_least)}"
            )
    return "; ".join(failed)


def _detectable(
    claim: reg.Claim, claims: reg.StudyClaims, values: Sequence[Values], tail: float
) -> float | None:
    """Minimum detectable effect (power 0.8), largest over parts; at least a step of the measure."""
    n, parts = values[0].size, len(values)
    k = interval_rank(n, tail / parts if claim.kind in ("all_of", "any_of") else tail)
    if isinstance(claim.region, reg.Solves):
        return success_needed(n, k) if k else None
    band = isinstance(claim.region, reg.Inside)
    distances = [
        distance
        for of_term in values
        if (distance := detectable(of_term, k, band=band)) is not None
    ]
    steps = [claims.measures[cell.measure].step or 0.0 for cell in reg.cells(claim.terms)]
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
