"""Two hashes of every row: of the content that decides its verdict, and of its wording."""

from collections.abc import Mapping

from journeylab.claims.effects import cells
from journeylab.claims.schema import FORM_KEYS, LINKS, WORDING, Register
from journeylab.records.plans import plan_key

FORM = 1
"""Version of the hashed contents, raised with them; hashes of two versions are not compared."""


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
    family = {"alpha": register.alpha, "looks": looks, "M": claims.tails}
    hashes = {}
    for claim in claims.claims:
        gates = {name: claims.gates[name] for name in claim.gate}
        measures = {cell.measure for cell in cells(claim.terms)}
        measures |= {gate.measure for gate in gates.values()}
        content = {
            "claim": claim.model_dump(mode="json", exclude=LINKS | WORDING | FORM_KEYS),
            "gates": {name: gate.model_dump(mode="json") for name, gate in gates.items()},
            "measures": {
                name: claims.measures[name].model_dump(mode="json", exclude={"label"})
                for name in measures
            },
            "seeds_from": claims.seeds_from,
            "family": family if claim.primary and claim.tails else {},
        }
        wording = claim.model_dump(mode="json", include=WORDING)
        hashes[claim.id] = (plan_key(content), plan_key(wording))
    return hashes


def register_hash(register: Register, study: str) -> str:
    """One hash of all rows of a study, verdicts' content and wording; "" without a register."""
    return plan_key({"rows": row_hashes(register, study)}) if study in register.studies else ""
