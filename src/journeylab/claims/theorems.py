"""What the source documents say: their theorems, and their statements with what tests each."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Self

from pydantic import model_validator

from journeylab.claims.schema import Register, TheoremLabel
from journeylab.config import Frozen, Name, UserError, build, check_known, read_yaml

THEOREMS, STATEMENTS = "theorems.yaml", "statements.yaml"


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


class Statement(Frozen):
    """What a document says in a ``section``: ``claims`` test it, or ``untested`` says why not.

    A statement may have both, if claims test a part of it. ``arguable`` is what a reader may hold
    against a verdict, with the answer.
    """

    section: str
    says: str
    claims: tuple[str, ...] = ()
    untested: str = ""
    arguable: str = ""

    @model_validator(mode="after")
    def _is_tested_or_says_why_not(self) -> Self:
        if not self.claims and not self.untested:
            raise ValueError("claims: name those that test it, or write `untested: the reason`")
        return self


class Statements(Frozen):
    """The statements of every source document, by the document's id in ``theorems.yaml``."""

    documents: Mapping[Name, tuple[Statement, ...]]


def read_statements(
    claims: Path, register: Register, theorems: Theorems
) -> Mapping[str, tuple[Statement, ...]]:
    """Read ``statements.yaml`` of the folder of claims; empty if there is no such file.

    Raises UserError for a mistake in the file, an unknown document or claim, and if a claim whose
    source is a document is named by no statement.
    """
    path = claims / STATEMENTS
    if not path.exists():
        return {}
    known = register.by_id
    documents = build(Statements, read_yaml(path), str(path)).documents
    named = set()
    for document, statements in documents.items():
        unknown = f"{path}: {document!r} is no document of theorems.yaml"
        check_known(document, theorems.documents, unknown)
        for statement in statements:
            for claim in statement.claims:
                where = f"{path}: {document}: {statement.section}"
                check_known(claim, known, f"{where}: {claim!r} is no claim")
                named.add(claim)
    if missing := [c.id for c in known.values() if c.source == "document" and c.id not in named]:
        raise UserError(
            f"{path}: no statement names {', '.join(missing)}, whose source is a document; add "
            "each to the claims of the statement that it tests"
        )
    return documents
