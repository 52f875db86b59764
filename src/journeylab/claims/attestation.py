"""The register as an in-toto statement: the hashes of all that decides a verdict, in one file.

Format: in-toto Statement v1 (https://in-toto.io/Statement/v1), whose subject is the register.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from journeylab.claims.hashes import row_contents
from journeylab.claims.register import Register
from journeylab.claims.theorems import Theorems
from journeylab.config import canonical

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:journeylab:register:1"
SUBJECT = "register"
UNHASHED = ("commit", "journeylab")
"""Parts of the predicate that the digest of the subject does not cover."""


def state_register(register: Register, theorems: Theorems, commit: str | None) -> dict[str, Any]:
    """The statement on a register: SHA-256 of every claim, of its wording, of looks and theorems.

    The digest of the subject covers all of them. Comments, layout and the order of claims are in no
    hash. `commit` is the git commit that was checked out; like the version of journeylab, it is in
    no hash.
    """
    hashed = hash_register(register, theorems)
    return {
        "_type": STATEMENT,
        "subject": [{"name": SUBJECT, "digest": {"sha256": _sha256(hashed)}}],
        "predicateType": PREDICATE,
        "predicate": {**hashed, "commit": commit, "journeylab": version("journeylab")},
    }


def hash_register(register: Register, theorems: Theorems) -> dict[str, Any]:
    """The SHA-256 hashes of a register's parts.

    A claim's hash covers the same content as the hash by which a report compares a row with its
    registration: effect, region, measures, gates, first seed and, for a row that is judged over
    seeds, α, looks and M, the number of tails. Those are shortened to 16 characters, these are not.
    """
    contents = {
        row: pair
        for study in sorted(register.studies)
        for row, pair in row_contents(register, study).items()
    }
    return {
        "claims": {row: _sha256(content) for row, (content, _) in sorted(contents.items())},
        "wording": {row: _sha256(wording) for row, (_, wording) in sorted(contents.items())},
        "revisions": {s: register.studies[s].revision for s in sorted(register.studies)},
        "looks": _sha256(register.model_dump(mode="json", exclude={"studies"})),
        "theorems": _sha256(theorems.model_dump(mode="json")),
    }


def differences(stated: Mapping[str, Any], register: Register, theorems: Theorems) -> Iterator[str]:
    """In what the register differs from a statement's predicate, a line each; nothing if equal."""
    present = hash_register(register, theorems)
    for row in sorted({*stated["claims"], *present["claims"]}):
        before, now = stated["claims"].get(row), present["claims"].get(row)
        if before is None:
            yield f"{row} was added"
        elif now is None:
            yield f"{row} was removed"
        elif before != now:
            yield f"{row} changed in what decides its verdict"
        elif stated["wording"].get(row) != present["wording"][row]:
            yield f"{row} changed in its wording only"
    for study in sorted({*stated["revisions"], *present["revisions"]}):
        before, now = stated["revisions"].get(study), present["revisions"].get(study)
        if before != now and before is not None and now is not None:
            yield f"{study} was at revision {before} and is at revision {now}"
    for part in ("looks", "theorems"):
        if stated[part] != present[part]:
            yield f"{part}.yaml changed"


def is_consistent(statement: Mapping[str, Any]) -> bool:
    """Whether the digest of the subject is that of the hashes in the predicate."""
    hashed = {name: part for name, part in statement["predicate"].items() if name not in UNHASHED}
    return bool(statement["subject"] == [{"name": SUBJECT, "digest": {"sha256": _sha256(hashed)}}])


def _sha256(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()
