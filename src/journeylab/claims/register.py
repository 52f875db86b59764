"""The register: every file of ``claims/``, one for each study, as docs/claims.md describes them.

A claim compares an *effect* (a number per seed, built from cells of the measurements) with a
*region*. Rows are checked before anything runs: all names exist, and the row can be supported and
refuted. This module is imported at every start of the workflow and loads neither scipy nor pandas.
"""

from collections.abc import Collection
from pathlib import Path

from journeylab.claims.checks import check_parts
from journeylab.claims.forms import form_error
from journeylab.claims.schema import LOOKS, Looks, Register, StudyClaims
from journeylab.claims.theorems import THEOREMS, read_theorems
from journeylab.config import UserError, build, check_known, read_yaml


def read_register(folder: Path, only: Collection[str] = ()) -> Register:
    """Read ``looks.yaml`` and the ``expN.yaml`` of every study in a folder, or of those in `only`.

    Without ``looks.yaml`` all of its keys have their defaults.
    Raises UserError with the file, the claim or key, the value, and what is accepted.
    """
    path = folder / LOOKS
    looks = build(Looks, read_yaml(path) if path.exists() else {}, str(path))
    theorems = read_theorems(folder)
    studies = {}
    for path in sorted(folder.glob("exp*.yaml"), key=lambda path: (len(path.stem), path.stem)):
        study = path.stem
        if only and study not in only:
            continue
        claims = build(StudyClaims, read_yaml(path), str(path))
        for claim in claims.claims:
            if not claim.id.startswith(f"{study}."):
                raise UserError(f"{path}: {claim.id}: ids of {study} start with {study}.")
            if theorems.theorems:  # a folder without the file lists none
                unlisted = f"{claim.theorem!r} is not in {path.with_name(THEOREMS)}"
                where = f"{path}: {claim.id}: theorem"
                check_known(claim.theorem, theorems.by_label, f"{where}: {unlisted}")
            if claim.cites and claim.source != "document":
                raise UserError(f"{path}: {claim.id}: cites: write source: document too")
            exact = claim.kind == "exact"
            if why := form_error(claim.form, claim.evidence, primary=claim.primary, exact=exact):
                raise UserError(f"{path}: {claim.id}: {why}")
            check_parts(claim, claims, looks, str(path))
        studies[study] = claims
    return Register(**dict(looks), studies=studies)
