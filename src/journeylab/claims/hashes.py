"""Hashes of every row: of what decides its verdict, whole and in parts, and of its wording."""

import hashlib
from collections.abc import Mapping
from typing import Any

from journeylab.claims.effects import cells
from journeylab.claims.schema import (
    FORM_KEYS,
    LINKS,
    WORDING,
    Claim,
    Register,
    claim_runs,
    is_named,
)
from journeylab.config import canonical
from journeylab.records.plans import Plan, plan_key

FORM = 1
"""Version of the hashed contents, raised with them; hashes of two versions are not compared."""
_WORDS = LINKS | WORDING | FORM_KEYS


def row_hashes(
    register: Register, study: str, fixed_looks: Mapping[int, float] | None = None
) -> dict[str, tuple[str, str]]:
    """Two hashes for every row of a study: of all that decides its verdict, and of its wording.

    The first hash covers effect, region, the measures and gates that the row names, and the first
    seed of the revision. For a row that is judged over seeds it also covers α, the looks and M: a
    new primary row changes M, and so the tail at which all the others are judged. ``fixed_looks``
    are those of an earlier register: numbers of seeds with their shares of α.
    """
    claims = register.studies[study]
    looks = dict(fixed_looks) if fixed_looks else list(register.sequential)
    hashes = {}
    for claim in claims.claims:
        content = {
            "claim": claim.model_dump(mode="json", exclude=_WORDS),
            **_read(register, study, claim),
            "seeds_from": claims.seeds_from,
            "family": _family(register, study, claim, looks),
        }
        wording = claim.model_dump(mode="json", include=WORDING)
        hashes[claim.id] = (plan_key(content), plan_key(wording))
    return hashes


def row_parts(
    register: Register, study: str, runs: Mapping[tuple[str, str], Mapping[str, Plan]]
) -> dict[str, dict[str, str]]:
    """A hash of each part of what decides the verdict of a row, for every row of a study.

    ``runs`` are the plans of its runs by arm and variant, for each a plan of every stage.
    """
    claims = register.studies[study]
    monotone = {"monotone": True} if register.is_monotone(claims) else {}
    parts = {}
    for claim in claims.claims:
        named = claim_runs(claims, claim)
        read = {"/".join(run): made for run, made in runs.items() if is_named(named, *run)}
        row = claim.model_dump(mode="json", exclude=_WORDS | {"id", "region", "gate"})
        family = _family(register, study, claim, list(register.sequential))
        content: dict[str, Any] = {
            "effect": row,
            "region": claim.region and claim.region.written(),
            **_read(register, study, claim),
            "alpha, looks or M": family | monotone if family else {},
            "settings": {
                name: {stage: plan.settings for stage, plan in made.items()}
                for name, made in read.items()
            },
            "code": {
                name: {stage: plan.code for stage, plan in made.items()}
                for name, made in read.items()
            },
        }
        parts[claim.id] = {name: long_hash({name: each}) for name, each in content.items()}
    return parts


def long_hash(content: Any) -> str:
    """128 bits of a hash: two contents that somebody seeks do not share it."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:32]


def _read(register: Register, study: str, claim: Claim) -> dict[str, Any]:
    """The gates of a row, and the measures that it and they read."""
    claims = register.studies[study]
    gates = {name: claims.gates[name] for name in claim.gates}
    measures = {cell.measure for cell in cells(claim.terms)}
    measures |= {gate.measure for gate in gates.values()}
    return {
        "gates": {name: gate.model_dump(mode="json") for name, gate in gates.items()},
        "measures": {
            name: claims.measures[name].model_dump(mode="json", exclude={"label"})
            for name in measures
        },
    }


def _family(register: Register, study: str, claim: Claim, looks: Any) -> dict[str, Any]:
    """What all judged rows over seeds share; nothing for another row."""
    if not (claim.primary and claim.tails):
        return {}
    return {"alpha": register.alpha, "looks": looks, "M": register.studies[study].tails}


def register_hash(register: Register, study: str) -> str:
    """One hash of all rows of a study, verdicts' content and wording; "" without a register."""
    return plan_key({"rows": row_hashes(register, study)}) if study in register.studies else ""
