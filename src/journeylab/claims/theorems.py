"""The theorems that claims test: which document states each, and what it says in one sentence."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from journeylab.claims.schema import TheoremLabel
from journeylab.config import Frozen, Name, build, check_known, read_yaml

THEOREMS = "theorems.yaml"


class Document(Frozen):
    """A source document: its title in print, and the studies that test it."""

    title: str
    studies: tuple[Name, ...]


class Theorem(Frozen):
    """A statement of a document: ``name`` in print, and ``says``, its content in one sentence."""

    label: TheoremLabel
    document: Name
    name: str
    says: str


class Theorems(Frozen):
    """Every source document by its id, and every theorem with its label, such as ``thm:dfa``."""

    documents: Mapping[Name, Document] = {}
    theorems: tuple[Theorem, ...] = ()

    @cached_property
    def by_label(self) -> dict[str, Theorem]:
        """The theorems by their labels."""
        return {theorem.label: theorem for theorem in self.theorems}


def read_theorems(claims: Path) -> Theorems:
    """Read ``theorems.yaml`` of the folder of claims; empty if there is no such file.

    Raises UserError for a mistake in the file, or a theorem of a document that is not listed.
    """
    path = claims / THEOREMS
    known = build(Theorems, read_yaml(path) if path.exists() else {}, str(path))
    for theorem in known.theorems:
        unknown = f"{path}: {theorem.label}: document: {theorem.document!r} is unknown"
        check_known(theorem.document, known.documents, unknown)
    return known
