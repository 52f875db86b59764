"""The schema of the files in ``claims/``: claims, gates, amendments and looks."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from functools import cached_property
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    NonNegativeInt,
    PositiveInt,
    StringConstraints,
    model_validator,
)

from journeylab.claims import regions
from journeylab.claims.effects import (
    AllOf,
    AnyOf,
    Cell,
    Difference,
    Effect,
    Every,
    Mean,
    Measure,
    Quantity,
    RunId,
    Term,
    Text,
    cells,
    extent,
    steps,
)
from journeylab.claims.expressions import parse_gate
from journeylab.claims.forms import Evidence, Form
from journeylab.claims.regions import EVERYWHERE, Region
from journeylab.config import Frozen, Name

LOOKS = "looks.yaml"
OWN = "claim:own"
"""The theorem of a claim that belongs to none."""
PILOT = 1000
"""Seeds ≥ 1000 are for tuning and quick runs; they are never judged."""
APART = 100
"""The first seeds of consecutive revisions of a study lie this far apart."""
TheoremLabel = Annotated[str, StringConstraints(pattern=r"^[a-z]+:[a-z0-9-]+$")]

SEQUENTIAL = (12, 16, 20, 24, 28, 32, 36)
"""The looks, where ``looks.yaml`` names none."""

WORDING = {"statement", "cites", "theorem", "source"}
"""Keys of a row that are its words: no verdict depends on them."""
LINKS = {"finer", "before"}
"""Keys of a row that name related rows."""
FORM_KEYS = {"form", "evidence"}
"""Keys of a row that say how its verdict is printed; no hash of the row covers them."""

Kind = regions.Kind | Literal["all_of", "any_of", "exact", "number"]


GateName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z{][A-Za-z0-9_.{}-]*$")]
Levels = Annotated[
    tuple[Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]+$")], ...],
    BeforeValidator(
        lambda levels: [str(level) for level in levels] if isinstance(levels, list) else levels,
        json_schema_input_type=tuple[str | int, ...],
    ),
    Field(min_length=2, max_length=4),
]
"""The levels of an axis of a scope, as they stand in the names of runs, measures and gates."""


class Gate(Frozen):
    """What a run must have learned: its median over seeds is at least ``at_least``.

    Of several runs, one must have: two runs that are both near chance cannot be compared.
    """

    run: RunId | Annotated[tuple[RunId, ...], Field(min_length=2)]
    measure: Text
    at_least: float

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells; the largest of their medians over seeds is compared with ``at_least``."""
        runs = (self.run,) if isinstance(self.run, str) else self.run
        return tuple(Cell(run=run, measure=self.measure) for run in runs)


class Amendment(Frozen):
    """What was changed after results had been seen, and why."""

    date: date
    rows: Annotated[tuple[Text, ...], Field(min_length=1)]
    reason: Text


class Criterion(Frozen):
    """What decides the verdict of one row of the register.

    ``primary`` is whether it is judged; a row whose id ends in s and a number is secondary, which
    may leave out its statement and its region. ``gate`` names what must have been learned for a
    verdict. ``scope`` holds the levels of axes on which the answer may turn: ``{axis}`` in the
    effect and the gates stands for each of them in turn.
    """

    id: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*\.[a-z0-9]+$")]
    effect: Effect
    primary: Annotated[bool, Field(json_schema_extra=lambda schema: schema.pop("default"))] = True
    region: Region | None = None
    gate: tuple[GateName, ...] = ()
    scope: Annotated[Mapping[Name, Levels], Field(exclude_if=lambda scope: not scope)] = {}

    @model_validator(mode="before")
    @classmethod
    def _primary_from_id(cls, written: object) -> object:
        if isinstance(written, Mapping) and "primary" not in written:
            secondary = re.search(r"\.s\d+$", str(written.get("id", "")))
            return {**written, "primary": secondary is None}
        return written

    @model_validator(mode="after")
    def _decides(self) -> Self:
        whole = isinstance(self.effect, Cell | Difference | Mean)
        if self.region is None and (self.primary or not whole):
            raise ValueError(f"{self.id}: region is missing; write e.g. region: {{above: 0.02}}")
        exact = self.region is not None and self.region.closed and self.region.of == "effect"
        if exact != isinstance(self.effect, Every):
            raise ValueError(
                f"{self.id}: write region at_most or at_least with effect every, and only there"
            )
        if exact and self.gate:
            raise ValueError(f"{self.id}: a row with effect every cannot have a gate")
        if self.scope and not (whole and self.primary):
            raise ValueError(f"{self.id}: only a judged row with one term over seeds has a scope")
        written = self.model_dump_json(include={"effect", "gate"})
        named = set(re.findall(r"\{([^{}\"]+)\}", written))
        if named != set(self.scope):
            raise ValueError(
                f"{self.id}: scope {listed(self.scope)}: the effect and the gates name "
                f"{listed(sorted(named))}"
            )
        return self

    @property
    def points(self) -> tuple["Criterion", ...]:
        """The row at each point of its scope, as a row of its own; without one, the row itself."""
        return self._of_scope if self.scope else (self,)

    @cached_property
    def _of_scope(self) -> tuple["Criterion", ...]:
        return tuple(map(self._at, self.levels))

    @property
    def levels(self) -> tuple[dict[str, str], ...]:
        """The points of the scope: the level of every axis."""
        return tuple(
            dict(zip(self.scope, levels, strict=True)) for levels in product(*self.scope.values())
        )

    def _at(self, levels: Mapping[str, str]) -> "Criterion":
        written = self.model_dump_json(include={"effect", "gate"})
        for axis, level in levels.items():
            written = written.replace(f"{{{axis}}}", level)
        own = {"id": self.id, "primary": self.primary, "region": self.region}
        return Criterion.model_validate(own | json.loads(written))

    @property
    def gates(self) -> tuple[str, ...]:
        """The gates of all points."""
        return tuple(dict.fromkeys(name for point in self.points for name in point.gate))

    @property
    def kind(self) -> Kind:
        """How the claim is judged."""
        named: dict[type, Kind] = {Every: "exact", AllOf: "all_of", AnyOf: "any_of"}
        return named.get(type(self.effect)) or (self.region.kind if self.region else "number")

    @property
    def claimed(self) -> Region:
        """The region; all numbers where a row names none."""
        return self.region or EVERYWHERE

    @property
    def tails(self) -> int:
        """How many tails of α a row costs at each point: 0 if exact, 2 for a band, else 1."""
        if isinstance(self.effect, Every):
            return 0
        return (2 if self.claimed.is_band else 1) * len(self.points)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The numbers per seed that are compared with the region, at all points of the scope."""
        if self.scope:
            return tuple(term for point in self.points for term in point.terms)
        if isinstance(self.effect, AllOf):
            return self.effect.all_of
        if isinstance(self.effect, AnyOf):
            return self.effect.any_of
        return () if isinstance(self.effect, Every) else (self.effect,)


class Claim(Criterion):
    """One row of the register: what decides its verdict, and its words.

    ``cites`` says where the document says it, in our own words, and is needed where ``source`` is
    ``document``. ``form`` is needed for judged rows of the present register; earlier ones have
    none. ``finer`` names the row that asks the same of a measure with finer steps;
    ``before`` the row of the revision before that this one continues, since rows may be renumbered.
    """

    theorem: TheoremLabel = OWN
    form: Form | None = None
    evidence: Evidence | None = None
    source: Literal["document", "corrected"] = "corrected"
    statement: Text | None = None
    cites: Text | None = None
    finer: Text | None = None
    before: Text | None = None

    @model_validator(mode="after")
    def _says(self) -> Self:
        if self.source == "document" and self.cites is None:
            raise ValueError(
                f"{self.id}: cites is missing: write where the document says it (section, and "
                "the sentence in your own words), or leave out source"
            )
        return self


class StudyCriteria(Frozen):
    """What decides the verdicts of one study.

    An amendment of what is judged, after results were seen, starts a new ``revision``, judged on
    seeds that nobody has seen: 100 … for the second, 200 … for the third.
    """

    revision: Annotated[int, Field(ge=1, le=10)] = 1
    seeds_from: NonNegativeInt = 0
    measures: Mapping[Name, Quantity] = {}
    gates: Mapping[
        Name, Annotated[Gate, BeforeValidator(parse_gate, json_schema_input_type=str)]
    ] = {}
    claims: tuple[Criterion, ...]

    @property
    def tails(self) -> int:
        """M: the sum over primary rows, 1 for each one-sided row and 2 for each band."""
        return sum(claim.tails for claim in self.claims if claim.primary)

    @property
    def study(self) -> str:
        """The study that the ids of the rows name; empty without rows."""
        return next((claim.id.partition(".")[0] for claim in self.claims), "")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.seeds_from != (first := APART * (self.revision - 1)):
            raise ValueError(
                f"seeds_from {self.seeds_from}: revision {self.revision} is judged on seeds from "
                f"{first}"
            )
        seen = set[str]()
        for claim in self.claims:
            if claim.id in seen:
                raise ValueError(f"{claim.id}: the id is used twice")
            seen.add(claim.id)
            for cell in cells(claim.terms):
                _check_defined(f"{claim.id}: measure", cell.measure, self.measures)
            for name in claim.gates:
                _check_defined(f"{claim.id}: gate", name, self.gates)
            for point in claim.points if claim.primary else ():
                self._check_open(point)
        for name, gate in self.gates.items():
            _check_defined(f"gates.{name}: measure", gate.measure, self.measures)
        return self

    def _check_open(self, claim: Criterion) -> None:
        """Refuse a row that cannot be supported, or cannot be refuted, whatever is measured."""
        region = claim.region
        if isinstance(claim.effect, Every) or region is None:
            return
        extents = [extent(term, self.measures) for term in claim.terms]
        low, high = min(ends[0] for ends in extents), max(ends[1] for ends in extents)
        ranges = f"the effect lies in [{low:g}, {high:g}], the region is {region.written()}"
        for_support, for_refutation = (any, all) if claim.kind == "any_of" else (all, any)
        if not for_support(region.can_meet(*ends) for ends in extents):
            raise ValueError(f"{claim.id}: cannot be supported: {ranges}")
        if not for_refutation(region.can_leave(*ends) for ends in extents):
            raise ValueError(f"{claim.id}: cannot be refuted: {ranges}")

    def step(self, claim: Criterion) -> float:
        """The largest step of the terms of a row; 0 without steps."""
        return max((step for term in claim.terms for step in steps(term, self.measures)), default=0)


class StudyClaims(StudyCriteria):
    """The claims of one study and the measures they read: one file of the register.

    ``defaults`` are what measures of a metric have unless they say otherwise; levels are added to
    theirs.
    """

    amendments: tuple[Amendment, ...] = ()
    defaults: tuple[Quantity, ...] = ()
    measures: Mapping[Name, Measure] = {}
    claims: tuple[Claim, ...]

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, written: Any) -> Any:
        match written:
            case {"defaults": list(defaults), "measures": Mapping() as measures}:
                filled = {name: _filled(each, defaults) for name, each in measures.items()}
                return {**written, "measures": filled}
        return written

    @model_validator(mode="after")
    def _continues(self) -> Self:
        for default in self.defaults:
            known = dict.fromkeys(measure.metric for measure in self.measures.values())
            _check_defined("defaults: metric", default.metric, known)
        if self.revision > 1 and not self.amendments:
            raise ValueError(f"amendments is missing: write what revision {self.revision} changed")
        for claim in self.claims:
            if claim.finer is not None:
                _check_defined(f"{claim.id}: finer", claim.finer, [row.id for row in self.claims])
            if claim.before is not None and self.revision == 1:
                raise ValueError(f"{claim.id}: before: revision 1 has no earlier revision")
        return self

    def is_coarse(self, claim: Claim) -> bool:
        """Whether a step of a term is larger than the width that matters at the region.

        That of a band, the margin of a difference, the distance of a value's margin from the
        nearest end of its range. A margin at "no difference", or at an end, needs no width.
        """
        region = claim.region
        return region is not None and any(
            0 < _width(region, term, self.measures) < max(steps(term, self.measures), default=0)
            for term in claim.terms
        )


class Looks(Frozen):
    """``looks.yaml``: α, and the numbers of seeds at which claims are judged.

    ``sequential`` looks share α by exact boundaries: seeds are added until claims are decided.
    ``not_monotone`` names the last revision of a study whose boundaries are those of its own M
    alone; since then they are the least over all numbers up to M.
    """

    alpha: Annotated[float, Field(gt=0.0, lt=0.5)] = 0.05
    sequential: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = SEQUENTIAL
    not_monotone: Mapping[Name, PositiveInt] = {}

    def is_monotone(self, claims: StudyCriteria) -> bool:
        """Whether boundaries of a study are the least over all numbers of tails up to M."""
        return claims.revision > self.not_monotone.get(claims.study, 0)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if list(self.sequential) != sorted(set(self.sequential)):
            raise ValueError(f"sequential {list(self.sequential)}: write increasing numbers")
        if (most := self.sequential[-1]) > APART:
            raise ValueError(
                f"a look at {most} seeds would use seeds of the next revision; accepted: ≤ {APART}"
            )
        return self


class Criteria(Looks):
    """What decides all verdicts: the looks, and every study's rows, measures and gates."""

    studies: Mapping[Name, StudyCriteria]


class Register(Criteria):
    """The whole register: the looks, and every study's claims."""

    studies: Mapping[Name, StudyClaims]

    @cached_property
    def by_id(self) -> dict[str, Claim]:
        """The claims of all studies by their ids."""
        return {claim.id: claim for study in self.studies.values() for claim in study.claims}

    def claims_of(self, study: str) -> StudyClaims:
        """The claims of one study; none of a study that has no file."""
        return self.studies.get(study) or StudyClaims(claims=())

    def of(self, study: str) -> Self:
        """The looks, and the claims of one study, if it has any."""
        own = {study: self.studies[study]} if study in self.studies else {}
        kept = {name: n for name, n in self.not_monotone.items() if name == study}
        return self.model_copy(update={"studies": own, "not_monotone": kept})

    def criteria(self, study: str) -> dict[str, Any]:
        """What decides the verdicts of one study, as :class:`Criteria` reads it."""
        words: dict[str, Any] = {
            "amendments": True,
            "defaults": True,
            "measures": {"__all__": {"label"}},
            "claims": {"__all__": WORDING | LINKS | FORM_KEYS},
        }
        return self.of(study).model_dump(mode="json", exclude={"studies": {"__all__": words}})


def claim_runs(claims: StudyCriteria, claim: Criterion) -> set[tuple[str, str | None]]:
    """The (arm, variant) pairs that a row reads; variant None means all variants of the arm."""
    gates = [cell for name in claim.gates for cell in claims.gates[name].cells]
    runs: set[tuple[str, str | None]] = {
        (cell.arm, cell.variant) for cell in (*cells(claim.terms), *gates)
    }
    if isinstance(claim.effect, Every):
        runs.add((claim.effect.every.arm, claim.effect.every.variant))
    return runs


def is_read(claims: StudyCriteria, claim: Criterion, arm: str, variant: str) -> bool:
    """Whether a row reads the runs of this variant of this arm."""
    return is_named(claim_runs(claims, claim), arm, variant)


def is_named(runs: Collection[tuple[str, str | None]], arm: str, variant: str) -> bool:
    """Whether one of these pairs is this variant of this arm, or all variants of the arm."""
    return (arm, variant) in runs or (arm, None) in runs


def named_runs(claims: StudyCriteria) -> set[tuple[str, str | None]]:
    """The (arm, variant) pairs that primary rows read, as :func:`claim_runs` gives them."""
    return {run for claim in claims.claims if claim.primary for run in claim_runs(claims, claim)}


def listed(names: Iterable[str | int]) -> str:
    """Names separated by commas, or “none”."""
    return ", ".join(str(name) for name in names) or "none"


def _filled(measure: Any, defaults: Iterable[Any]) -> Any:
    """A measure with the defaults of its metric; one of another shape is left as it is."""
    for known in defaults:
        if isinstance(known, Mapping) and isinstance(measure, Mapping):
            levels = known.get("at", {}), measure.get("at", {})
            same = known.get("metric") == measure.get("metric")
            if same and all(isinstance(each, Mapping) for each in levels):
                return {**known, **measure, "at": {**levels[0], **levels[1]}}
    return measure


def _width(region: Region, term: Term, measures: Mapping[str, Quantity]) -> float:
    """The width that a measure must resolve to decide whether a term lies in a region."""
    if region.is_band:
        return region.high - region.low
    [margin] = region.ends
    if _compares(term):
        return abs(margin)
    return min(abs(margin - end) for end in extent(term, measures))


def _compares(term: Term) -> bool:
    return isinstance(term, Difference) or (
        isinstance(term, Mean) and any(map(_compares, term.mean))
    )


def _check_defined(key: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ValueError(f"{key} {name!r} is not defined; accepted: {listed(known)}")
