"""Checks that need more than one file: the register against the studies, and against the looks."""

from collections.abc import Iterable, Mapping, Sequence

from journeylab.claims.effects import Cell, Every, Level, cells
from journeylab.claims.looks import schedule, seeds_needed
from journeylab.claims.schema import Claim, Looks, Register, StudyClaims, listed
from journeylab.config import ComputedArm, Metric, StudySettings, UserError, shown


def check_register(
    register: Register,
    settings_by_study: Mapping[str, StudySettings],
    metrics_by_study: Mapping[str, Mapping[str, Metric]],
    folder: str = "claims",
) -> None:
    """Check that every name in the register exists.

    ``metrics_by_study`` holds all studies, ``settings_by_study`` the configured ones; arms and
    variants are checked for the configured studies only. Raises UserError with the claim, the key,
    the value and the accepted values.
    """
    for study, registered in register.studies.items():
        file = f"{folder}/{study}.yaml"
        if study not in metrics_by_study:
            raise UserError(f"{file}: no such study; accepted: {listed(metrics_by_study)}")
        settings, metrics = settings_by_study.get(study), metrics_by_study[study]
        for name, measure in registered.measures.items():
            key = f"{file}: measures.{name}"
            _check_name(f"{key}.metric", measure.metric, metrics)
            factors = metrics[measure.metric].factors
            _check_levels(key, measure.at, factors)
            if missing := [factor for factor in factors if factor not in measure.at]:
                raise UserError(f"{key}.at: name one level of {listed(missing)}")
        if settings is not None:
            for name, gate in registered.gates.items():
                for cell in gate.cells:
                    _check_seeded(f"{file}: gates.{name}", cell, settings)
        for claim in registered.claims:
            for cell in cells(claim.terms):
                if settings is not None:
                    _check_seeded(f"{file}: {claim.id}: run", cell, settings)
            if isinstance(claim.effect, Every):
                cases, key = claim.effect.every, f"{file}: {claim.id}: every"
                _check_name(f"{key}.metric", cases.metric, metrics)
                _check_levels(key, cases.at, metrics[cases.metric].factors)
                if settings is not None:
                    _check_run(key, cases.arm, cases.variant, settings)


def check_parts(claim: Claim, claims: StudyClaims, looks: Looks, file: str) -> None:
    """Refuse an ``all_of`` or ``any_of`` row with too many parts for the seeds of the last look.

    One part alone settles such a row at its tail divided by the number of parts. The last look must
    have an interval at that tail: n seeds have one if n ≥ log₂(parts/tail). Raises UserError.
    """
    if not claim.primary or claim.kind not in ("all_of", "any_of"):
        return
    parts, plan = len(claim.terms), schedule(looks, claims)
    if (n := plan.looks[-1]) < seeds_needed(plan.tail / parts):
        raise UserError(
            f"{file}: {claim.id}: {parts} parts are too many for the look of {n} seeds: one part "
            "alone could never settle the row"
        )


def _check_run(key: str, arm: str, variant: str | None, settings: StudySettings) -> None:
    _check_name(f"{key}: arm", arm, settings.arms)
    if variant is not None:
        _check_name(f"{key}: variant of {arm}", variant, settings.arms[arm].variants)


def _check_seeded(key: str, cell: Cell, settings: StudySettings) -> None:
    _check_run(key, cell.arm, cell.variant, settings)
    arm = settings.arms[cell.arm]
    if isinstance(arm, ComputedArm) and arm.replicates == "once":
        raise UserError(
            f"{key} {shown(cell.run)} is computed once and has no seeds; write it as every: …"
        )


def _check_levels(
    key: str,
    at: Mapping[str, Level | tuple[Level, ...]],
    factors: Mapping[str, Sequence[str | int]],
) -> None:
    for factor, levels in at.items():
        _check_name(f"{key}.at: factor", factor, factors)
        for level in levels if isinstance(levels, tuple) else (levels,):
            if level is not None:
                _check_name(f"{key}.at.{factor}", level, factors[factor])


def _check_name(key: str, value: str | int, known: Iterable[str | int]) -> None:
    accepted = tuple(known)
    if value not in accepted:
        raise UserError(f"{key} {shown(value)} is unknown; accepted: {listed(accepted)}")
