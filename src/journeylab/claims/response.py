"""``response.yaml``: the points of the reviewers, and the claims that answer them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, StringConstraints, model_validator

from journeylab.claims.effects import Text
from journeylab.claims.schema import Claim, Register
from journeylab.config import Frozen, Name, UserError, build, meant, read_yaml

Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


MOST_WORDS = 120
"""The most words of an answer."""


class ReviewPoint(Frozen):
    """What a reviewer says, word for word, and what answers it.

    ``claims`` are rows of the register (exp7.2), a study (exp7) or a theorem (thm:dfa), which stand
    for their judged rows. The author answers in a ``word``, with the ``number`` that carries it,
    and in an ``answer`` of at most :data:`MOST_WORDS` words; ``written_for`` are the verdicts that
    these rest on. ``change`` is the section of the manuscript that was changed, ``figures`` what is
    shown, as exp7/tiers, and ``title`` the heading; without it, the id is.
    """

    id: Name
    title: Text | None = None
    reviewer: Text
    point: Prose
    claims: tuple[Text, ...] = ()
    word: Literal["Yes", "No", "Partly", "Depends", "Open", "Agreed"] | None = None
    number: Text | None = None
    answer: Prose | None = None
    written_for: Mapping[str, Text] = {}
    change: Text | None = None
    figures: tuple[Annotated[str, StringConstraints(pattern=r"^exp\d+/[A-Za-z0-9_-]+$")], ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether neither a claim nor the author answers the point."""
        return not self.claims and self.answer is None


class Response(Frozen):
    """The whole file: the ``title`` of the letter, and ``about``, which says what its points are.

    ``characters`` is the most that a submission form accepts for one reviewer.
    """

    title: Text = "Response to the reviewers"
    about: Prose | None = None
    characters: PositiveInt = 5000
    points: Annotated[tuple[ReviewPoint, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        seen = set()
        for point in self.points:
            if point.id in seen:
                raise ValueError(f"points: the id {point.id!r} is used twice")
            seen.add(point.id)
        return self

    @property
    def open_points(self) -> tuple[str, ...]:
        """The ids of the open points."""
        return tuple(point.id for point in self.points if point.is_open)


def read_response(path: Path, register: Register) -> Response:
    """Read the points; check their length, and that the register has the claims that they name.

    Raises UserError with the file, the point, the key and what would be right.
    """
    response = build(Response, read_yaml(path), str(path))
    for point in response.points:
        words = len((point.answer or "").split())
        if words > MOST_WORDS:
            raise UserError(
                f"{path}: {point.id}: answer: {words} words; write {MOST_WORDS} or less"
            )
        named = [("claims", name) for name in point.claims if not _selected(name, register)]
        named += [("written_for", row) for row in point.written_for if row not in register.by_id]
        for key, name in named:
            others = ", a study (exp7) or a theorem (thm:coupling)" if key == "claims" else ""
            raise UserError(
                f"{path}: {point.id}: {key}: {name!r} is not in the register"
                f"{meant(name, _names(register)) or ';'} write a row (exp7.2){others}"
            )
    return response


def rows_of(point: ReviewPoint, register: Register) -> tuple[str, ...]:
    """The ids of the rows that answer a point, each once: judged ones first, in numeric order."""
    rows = {claim.id for name in point.claims for claim in _selected(name, register)}
    return tuple(sorted(rows, key=_order))


def _order(row: str) -> tuple[int, bool, int, str]:
    """exp7.2 before exp7.10, and both before exp7.s1 and exp12.1."""
    study, _, name = row.partition(".")
    return int(study[3:]), not name.isdigit(), int(re.sub(r"\D", "", name) or 0), name


def unasked(response: Response, register: Register) -> tuple[str, ...]:
    """The judged rows that answer no point."""
    used = {row for point in response.points for row in rows_of(point, register)}
    return tuple(row for row, claim in register.by_id.items() if claim.primary and row not in used)


def _selected(name: str, register: Register) -> list[Claim]:
    """The row with that id, or the judged rows of the study or theorem with that name.

    If none of them is judged, all of its rows.
    """
    rows = [
        claim
        for claim in register.by_id.values()
        if name in (claim.id, claim.theorem, claim.id.partition(".")[0])
    ]
    return [claim for claim in rows if claim.primary or claim.id == name] or rows


def _names(register: Register) -> list[str]:
    """All names that a point may use."""
    theorems = (row.theorem for row in register.by_id.values())
    return sorted({*register.studies, *theorems, *register.by_id})
