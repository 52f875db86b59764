"""The theorems that claims test: which document states each, and what it says in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from journeylab.config import Frozen, UserError, build, read_yaml

THEOREMS = "theorems.yaml"


class Document(Frozen):
    """A source document: its title in print, and the studies that test it."""

    title: str
    studies: tuple[str, ...]


class Theorem(Frozen):
    """One statement of a document: `name` in print, and `says`, its content in one sentence."""

    document: str
    name: str
    says: str


class Theorems(Frozen):
    """Every source document by its id, and every theorem by its label, such as ``thm:dfa``."""

    documents: Mapping[str, Document]
    theorems: Mapping[str, Theorem]


def read_theorems(claims: Path) -> Theorems:
    """Read ``theorems.yaml`` of the folder of claims.

    Raises UserError for a mistake in the file, or a theorem of a document that is not listed.
    """
    path = claims / THEOREMS
    known = build(Theorems, read_yaml(path), str(path))
    for label, theorem in known.theorems.items():
        if theorem.document not in known.documents:
            listed = ", ".join(known.documents)
            raise UserError(
                f"{path}: theorems.{label}.document: {theorem.document!r}: "
                f"no such document; write one of: {listed}"
            )
    return known
