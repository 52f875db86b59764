"""The checkable statements of the source documents, each with the claims that test it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import model_validator

from journeylab.claims.schema import Register
from journeylab.claims.theorems import Theorems
from journeylab.config import Frozen, Name, UserError, build, check_known, read_yaml

STATEMENTS = "statements.yaml"


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
