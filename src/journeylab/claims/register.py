"""The register: what ``claims/`` may say, a file per study, and its check against the studies.

A claim compares an *effect* — a number per seed, built from cells of the measurements — with a
*region*. A :class:`Measure` names what is read from a run, a :class:`Cell` reads it from one run:

    measures:
      T2: {label: "hits@1, tier 2", metric: "hits@1", at: {tier: T2, format: text}}
    claims:
      - id: exp7.2
        theorem: prop:lis-union
        statement: Native triples transfer to text better than linearised ones.
        source: document
        cites: 'section 4, first sentence: native triples transfer'
        primary: true
        effect: {difference: [{run: native/A, measure: T2}, {run: 7a/B, measure: T2}]}
        region: {above: 0.02}

A row is checked before anything runs: its names, and that it can come out both ways.
This module is imported at every start of the workflow and loads neither scipy nor pandas.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    Discriminator,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    Tag,
    model_validator,
)

from journeylab.config import (
    Frozen,
    Metric,
    Name,
    StudySettings,
    UserError,
    build,
    read_yaml,
    shown,
)
from journeylab.records.plans import plan_key

LOOKS = "looks.yaml"
PILOT = 1000
"""Seeds from here on serve for tuning and for quick runs, and are never judged."""

MOST_TAILS = 15
"""With M ≤ 15 and 12 seeds a verdict needs 11 of the 12 seeds on one side of the margin."""

Level = str | int | None
"""A factor level; null where the factor does not apply."""
Kind = Literal["above", "below", "inside", "solves", "all_of", "any_of", "exact", "number"]
RunId = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*$")
]
Text = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\n]+$")]


def _keyed(shapes: Mapping[str, set[str]], wording: str, number: bool = False) -> Discriminator:
    """Choose a union's member by the keys that are written, so that an error names the choices."""

    def tag(value: object) -> str | None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return "(number)" if number else None
        keys = set(value) if isinstance(value, Mapping) else set()
        if isinstance(value, BaseModel):
            keys = set(type(value).model_fields)
        return next((f"({name})" for name, needed in shapes.items() if keys == needed), None)

    return Discriminator(
        tag, custom_error_type="shape", custom_error_message=f"write one of: {wording}"
    )


class Measure(Frozen):
    """What is read from a run: a metric at one level of each of its factors.

    ``range`` holds its least and largest possible value, ``step`` the least difference of two
    values, where it has steps (hits@1 over 6 facts: 1/6).
    """

    label: Text
    metric: Text
    at: Mapping[Name, Level] = {}
    range: tuple[float, float] | None = None
    step: PositiveFloat | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.range and not self.range[0] < self.range[1]:
            raise ValueError(f"range {list(self.range)}: the first end must be the smaller one")
        return self


class Cell(Frozen):
    """One number per seed: a measure of the run ``arm/variant``."""

    run: RunId
    measure: Text

    @property
    def arm(self) -> str:
        """The arm of the run."""
        return self.run.split("/")[0]

    @property
    def variant(self) -> str:
        """The variant of the run."""
        return self.run.split("/")[1]


class Difference(Frozen):
    """First minus second, seed by seed."""

    difference: tuple["Term", "Term"]

    @model_validator(mode="after")
    def _can_differ(self) -> Self:
        first, second = self.difference
        if first == second:
            raise ValueError("difference: both are the same; write two that can differ")
        if not any(cells(self.difference)):
            raise ValueError("difference: of numbers only; write {run: arm/variant, measure: name}")
        return self


Term = Annotated[
    Annotated[Cell, Tag("(cell)")]
    | Annotated[Difference, Tag("(difference)")]
    | Annotated[float, Tag("(number)")],
    _keyed(
        {"cell": {"run", "measure"}, "difference": {"difference"}},
        "{run: arm/variant, measure: name}, {difference: [first, second]}, a number",
        number=True,
    ),
]
"""A number per seed: a cell, a difference of terms, or a constant."""


class AllOf(Frozen):
    """Every part lies in the region."""

    all_of: Annotated[tuple[Term, ...], Field(min_length=2)]


class AnyOf(Frozen):
    """At least one part lies in the region."""

    any_of: Annotated[tuple[Term, ...], Field(min_length=2)]


class Cases(Frozen):
    """All values of a metric in an arm, at any seed and draw, unless restricted."""

    label: Text
    metric: Text
    arm: Name
    variant: Name | None = None
    at: Mapping[Name, Level | tuple[Level, ...]] = {}


class Every(Frozen):
    """The extreme value over rows, for exact claims."""

    every: Cases


Effect = Annotated[
    Annotated[Cell, Tag("(cell)")]
    | Annotated[Difference, Tag("(difference)")]
    | Annotated[AllOf, Tag("(all_of)")]
    | Annotated[AnyOf, Tag("(any_of)")]
    | Annotated[Every, Tag("(every)")],
    _keyed(
        {
            "cell": {"run", "measure"},
            "difference": {"difference"},
            "all_of": {"all_of"},
            "any_of": {"any_of"},
            "every": {"every"},
        },
        "{run: arm/variant, measure: name}, {difference: [first, second]}, {all_of: […]}, "
        "{any_of: […]}, {every: {arm: …, metric: …, at: …}}",
    ),
]


class Above(Frozen):
    """Values greater than the margin."""

    above: float


class Below(Frozen):
    """Values less than the margin."""

    below: float


class Inside(Frozen):
    """Values between the two ends."""

    inside: tuple[float, float]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.inside[0] < self.inside[1]:
            raise ValueError(f"inside {list(self.inside)}: the first end must be the smaller one")
        return self


class AtMost(Frozen):
    """Values up to and including the tolerance."""

    at_most: float


class AtLeast(Frozen):
    """Values from the threshold on."""

    at_least: float


class Solves(Frozen):
    """More than half of all seeds reach the threshold."""

    solves: Annotated[
        Annotated[Above, Tag("(above)")] | Annotated[AtLeast, Tag("(at_least)")],
        _keyed(
            {"above": {"above"}, "at_least": {"at_least"}}, "{above: number}, {at_least: number}"
        ),
    ]


Region = Annotated[
    Annotated[Above, Tag("(above)")]
    | Annotated[Below, Tag("(below)")]
    | Annotated[Inside, Tag("(inside)")]
    | Annotated[Solves, Tag("(solves)")]
    | Annotated[AtMost, Tag("(at_most)")]
    | Annotated[AtLeast, Tag("(at_least)")],
    _keyed(
        {key: {key} for key in ("above", "below", "inside", "solves", "at_most", "at_least")},
        "{above: number}, {below: number}, {inside: [low, high]}, "
        "{solves: {at_least: number}}, {at_most: number}, {at_least: number}",
    ),
]


class Gate(Frozen):
    """What a run must have learned: its median over seeds is at least ``at_least``."""

    run: RunId
    measure: Text
    at_least: float

    @property
    def cell(self) -> Cell:
        """What is read."""
        return Cell(run=self.run, measure=self.measure)


class Amendment(Frozen):
    """What was changed after results had been seen, and why."""

    date: date
    rows: Annotated[tuple[Text, ...], Field(min_length=1)]
    reason: Text


class Claim(Frozen):
    """One row of the register.

    ``primary`` is whether it is judged; a row whose id ends in s and a number is secondary, which
    may leave out its statement and its region. ``cites`` says where the document says it, in our
    own words, and is needed where ``source`` is ``document``. ``gate`` names what must have been
    learned for a verdict; ``finer`` the row that asks the same of a measure with finer steps;
    ``before`` the row of the revision before that this one continues, since rows may be renumbered.
    """

    id: Annotated[str, StringConstraints(pattern=r"^exp\d+\.[a-z0-9]+$")]
    theorem: Annotated[str, StringConstraints(pattern=r"^[a-z]+:[a-z0-9-]+$")]
    source: Literal["document", "corrected"]
    effect: Effect
    primary: Annotated[bool, Field(json_schema_extra=lambda schema: schema.pop("default"))] = True
    statement: Text | None = None
    region: Region | None = None
    cites: Text | None = None
    gate: tuple[Name, ...] = ()
    finer: Text | None = None
    before: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _primary_by_its_id(cls, written: object) -> object:
        if isinstance(written, Mapping) and "primary" not in written:
            secondary = re.search(r"\.s\d+$", str(written.get("id", "")))
            return {**written, "primary": secondary is None}
        return written

    @model_validator(mode="after")
    def _says_what_is_judged(self) -> Self:
        whole = isinstance(self.effect, Cell | Difference)
        if self.region is None and (self.primary or not whole):
            raise ValueError(f"{self.id}: region is missing; write e.g. region: {{above: 0.02}}")
        exact = isinstance(self.region, AtMost | AtLeast)
        if exact != isinstance(self.effect, Every):
            raise ValueError(f"{self.id}: regions at_most and at_least go with effect every only")
        if exact and self.gate:
            raise ValueError(f"{self.id}: a row of effect every has no gate")
        if self.statement is None and self.primary:
            raise ValueError(f"{self.id}: statement is missing")
        if self.source == "document" and self.cites is None:
            raise ValueError(
                f"{self.id}: cites is missing: write where the document says it, section and "
                "sentence in your own words, or source: corrected"
            )
        return self

    @property
    def kind(self) -> Kind:
        """How the claim is judged."""
        if isinstance(self.effect, Every):
            return "exact"
        if isinstance(self.effect, AllOf):
            return "all_of"
        if isinstance(self.effect, AnyOf):
            return "any_of"
        if self.region is None:
            return "number"
        if isinstance(self.region, Above):
            return "above"
        if isinstance(self.region, Below):
            return "below"
        return "inside" if isinstance(self.region, Inside) else "solves"

    @property
    def tails(self) -> int:
        """What the row costs of α: 0 if exact, 2 for a band, else 1."""
        if isinstance(self.effect, Every):
            return 0
        return 2 if isinstance(self.region, Inside) else 1

    @property
    def terms(self) -> tuple[Term, ...]:
        """The numbers per seed that are compared with the region."""
        if isinstance(self.effect, AllOf):
            return self.effect.all_of
        if isinstance(self.effect, AnyOf):
            return self.effect.any_of
        return () if isinstance(self.effect, Every) else (self.effect,)


class StudyClaims(Frozen):
    """The claims of one study and the measures they read: one file of the register.

    An amendment of what is judged, after results were seen, starts a new ``revision``, judged on
    seeds that nobody has seen: 100 … for the second, 200 … for the third.
    """

    revision: Annotated[int, Field(ge=1, le=10)] = 1
    seeds_from: NonNegativeInt = 0
    amendments: tuple[Amendment, ...] = ()
    measures: Mapping[Name, Measure] = {}
    gates: Mapping[Name, Gate] = {}
    claims: tuple[Claim, ...]

    @property
    def tails(self) -> int:
        """M: over the primary rows, one per one-sided row and two per band."""
        return sum(claim.tails for claim in self.claims if claim.primary)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.seeds_from != 100 * (self.revision - 1):
            raise ValueError(
                f"seeds_from {self.seeds_from}: revision {self.revision} is judged on seeds from "
                f"{100 * (self.revision - 1)}"
            )
        if self.revision > 1 and not self.amendments:
            raise ValueError(f"amendments is missing: say what revision {self.revision} changed")
        seen: list[str] = []
        for claim in self.claims:
            if claim.id in seen:
                raise ValueError(f"{claim.id}: the id is used twice")
            seen.append(claim.id)
            for cell in cells(claim.terms):
                _check_defined(f"{claim.id}: measure", cell.measure, self.measures)
            for needed in claim.gate:
                _check_defined(f"{claim.id}: gate", needed, self.gates)
            if claim.primary:
                self._check_open(claim)
        for name, gate in self.gates.items():
            _check_defined(f"gates.{name}: measure", gate.measure, self.measures)
        for claim in self.claims:
            if claim.finer is not None:
                _check_defined(f"{claim.id}: finer", claim.finer, seen)
            if claim.before is not None and self.revision == 1:
                raise ValueError(f"{claim.id}: before: there is no revision before the first")
        if self.tails > MOST_TAILS:
            raise ValueError(f"primary rows cost M = {self.tails} tails; accepted: ≤ {MOST_TAILS}")
        return self

    def _check_open(self, claim: Claim) -> None:
        """Refuse a row that cannot be supported, or cannot be refuted, whatever is measured."""
        if isinstance(claim.effect, Every) or claim.region is None:
            return
        reach = [extent(term, self.measures) for term in claim.terms]
        every, some = (any, all) if claim.kind == "any_of" else (all, any)
        if not every(_meets(one, claim.region) for one in reach):
            raise ValueError(f"{claim.id}: cannot be supported: {_told(claim.region, reach)}")
        if not some(_leaves(one, claim.region) for one in reach):
            raise ValueError(f"{claim.id}: cannot be refuted: {_told(claim.region, reach)}")

    def is_coarse(self, claim: Claim) -> bool:
        """Whether a step of the measure is larger than the distance of the margin from 0."""
        margin = _margin(claim.region)
        steps = [self.measures[cell.measure].step or 0.0 for cell in cells(claim.terms)]
        return margin is not None and max(steps, default=0.0) > margin


Weight = Annotated[float, Field(gt=0.0, le=1.0)]


class Looks(Frozen):
    """``looks.yaml``: α, and the seed counts at which it is judged with their shares of it."""

    alpha: Annotated[float, Field(gt=0.0, lt=0.5)] = 0.05
    looks: Mapping[PositiveInt, Weight] = {12: 1.0}

    @model_validator(mode="after")
    def _spends_at_most_alpha(self) -> Self:
        if sum(self.looks.values()) > 1.0 + 1e-9:
            raise ValueError("looks: the weights sum to more than 1")
        return self


class Register(Looks):
    """The whole register: the looks, and every study's claims."""

    studies: Mapping[Name, StudyClaims]


def read_register(folder: Path, only: Collection[str] = ()) -> Register:
    """Read ``looks.yaml`` and ``expN.yaml`` of every study in a folder, or of `only` some.

    Raises UserError: file, claim or key, value, what would be right.
    """
    looks = build(Looks, read_yaml(folder / LOOKS), str(folder / LOOKS))
    studies = {}
    for path in sorted(folder.glob("exp*.yaml")):
        study = path.stem
        if only and study not in only:
            continue
        registered = build(StudyClaims, read_yaml(path), str(path))
        for claim in registered.claims:
            if not claim.id.startswith(f"{study}."):
                raise UserError(f"{path}: {claim.id}: ids of {study} start with {study}.")
            _check_parts(claim, registered.tails, looks, path)
        studies[study] = registered
    return Register(alpha=looks.alpha, looks=looks.looks, studies=studies)


def _check_parts(claim: Claim, tails: int, looks: Looks, path: Path) -> None:
    """Refuse a row with so many parts that one look has too few seeds to settle it by one part."""
    if not claim.primary or claim.kind not in ("all_of", "any_of"):
        return
    parts = len(claim.terms)
    for n, weight in looks.looks.items():
        if n < -math.log2(weight * looks.alpha / tails / parts):
            raise UserError(
                f"{path}: {claim.id}: {parts} parts are too many for the look of {n} seeds: one "
                "part alone could never settle the row"
            )


WORDING = {"statement", "cites", "theorem", "source"}
"""What a row says and where it is from: a verdict does not depend on it."""


def row_hashes(register: Register, study: str) -> dict[str, tuple[str, str]]:
    """Every row of a study with two hashes: of all that decides its verdict, and of its wording.

    The first covers effect and region, the measures and gates that the row names, the seeds of its
    revision, and of a row judged over seeds α, the looks and M: one that joins them changes what
    each is held to.
    """
    claims = register.studies[study]
    family = {"alpha": register.alpha, "looks": dict(register.looks), "M": claims.tails}
    found = {}
    for claim in claims.claims:
        gates = {name: claims.gates[name] for name in claim.gate}
        read = [cell.measure for cell in cells(claim.terms)]
        measures = {*read, *(gate.measure for gate in gates.values())}
        content = {
            "claim": claim.model_dump(mode="json", exclude={"before", "finer", *WORDING}),
            "gates": {name: gate.model_dump(mode="json") for name, gate in gates.items()},
            "measures": {
                name: claims.measures[name].model_dump(mode="json", exclude={"label"})
                for name in measures
            },
            "seeds_from": claims.seeds_from,
            "family": family if claim.primary and claim.tails else {},
        }
        wording = claim.model_dump(mode="json", include=WORDING)
        found[claim.id] = (plan_key(content), plan_key(wording))
    return found


def register_hash(register: Register, study: str) -> str:
    """One hash of all rows of a study as they are judged and worded; empty where it has none."""
    return plan_key({"rows": row_hashes(register, study)}) if study in register.studies else ""


def claim_runs(claims: StudyClaims, claim: Claim) -> set[tuple[str, str | None]]:
    """The (arm, variant) pairs that a row reads; None where all variants of an arm count."""
    gates = [claims.gates[name].cell for name in claim.gate]
    named: set[tuple[str, str | None]] = {
        (cell.arm, cell.variant) for cell in (*cells(claim.terms), *gates)
    }
    if isinstance(claim.effect, Every):
        named.add((claim.effect.every.arm, claim.effect.every.variant))
    return named


def is_read(claims: StudyClaims, claim: Claim, arm: str, variant: str) -> bool:
    """Whether a row reads the runs of a variant of an arm."""
    read = claim_runs(claims, claim)
    return (arm, variant) in read or (arm, None) in read


def named_runs(claims: StudyClaims) -> set[tuple[str, str | None]]:
    """The (arm, variant) pairs that primary rows read; None where all variants of an arm count."""
    return {run for claim in claims.claims if claim.primary for run in claim_runs(claims, claim)}


def extent(term: Term, measures: Mapping[str, Measure]) -> tuple[float, float]:
    """The least and the largest value that a term can take."""
    if isinstance(term, Cell):
        return measures[term.measure].range or (-math.inf, math.inf)
    if isinstance(term, Difference):
        (low, high), (least, largest) = (extent(part, measures) for part in term.difference)
        return low - largest, high - least
    return term, term


def _meets(reach: tuple[float, float], region: Region) -> bool:
    """Whether some possible value lies inside the region."""
    low, high = _open(region)
    if isinstance(region, Solves) and isinstance(region.solves, AtLeast):
        return reach[1] >= low
    return reach[1] > low and reach[0] < high


def _leaves(reach: tuple[float, float], region: Region) -> bool:
    """Whether some possible value lies outside the region."""
    low, high = _open(region)
    if isinstance(region, Solves) and isinstance(region.solves, Above):
        return reach[0] <= low
    return reach[0] < low or reach[1] > high


def _open(region: Region) -> tuple[float, float]:
    match region:
        case Inside(inside=ends):
            return ends
        case Below(below=high):
            return -math.inf, high
        case Above(above=low) | Solves(solves=Above(above=low) | AtLeast(at_least=low)):
            return low, math.inf
        case AtMost(at_most=high):
            return -math.inf, high
        case AtLeast(at_least=low):
            return low, math.inf


def _margin(region: Region | None) -> float | None:
    """How far the nearest end of a region is from 0."""
    if region is None:
        return None
    return min(abs(end) for end in _open(region) if math.isfinite(end))


def _told(region: Region, reach: Sequence[tuple[float, float]]) -> str:
    low, high = min(one[0] for one in reach), max(one[1] for one in reach)
    return f"the effect lies in [{low:g}, {high:g}], the region is {region.model_dump()}"


def cells(terms: Iterable[Term]) -> Iterator[Cell]:
    """The cells that terms read, in the order of writing."""
    for term in terms:
        if isinstance(term, Cell):
            yield term
        elif isinstance(term, Difference):
            yield from cells(term.difference)


def check_register(
    register: Register,
    settings_by_study: Mapping[str, StudySettings],
    metrics_by_study: Mapping[str, Mapping[str, Metric]],
    folder: str = "claims",
) -> None:
    """Check every name that a claim uses against the studies.

    ``metrics_by_study`` holds all studies there are, ``settings_by_study`` those configured; arms
    and variants are checked for the latter. Raises UserError: claim, key, value, accepted values.
    """
    for study, registered in register.studies.items():
        file = f"{folder}/{study}.yaml"
        if study not in metrics_by_study:
            raise UserError(f"{file}: no such study; there are: {_listed(metrics_by_study)}")
        settings, metrics = settings_by_study.get(study), metrics_by_study[study]
        for name, measure in registered.measures.items():
            where = f"{file}: measures.{name}"
            _check_metric(where, measure.metric, metrics)
            factors = metrics[measure.metric].factors
            _check_levels(where, measure.at, factors)
            if missing := [factor for factor in factors if factor not in measure.at]:
                raise UserError(f"{where}.at: name one level of {_listed(missing)}")
        if settings is not None:
            for name, gate in registered.gates.items():
                _check_run(f"{file}: gates.{name}", gate.cell.arm, gate.cell.variant, settings)
        for claim in registered.claims:
            for cell in cells(claim.terms):
                if settings is not None:
                    _check_run(f"{file}: {claim.id}: run", cell.arm, cell.variant, settings)
            if isinstance(claim.effect, Every):
                rows, where = claim.effect.every, f"{file}: {claim.id}: every"
                _check_metric(where, rows.metric, metrics)
                _check_levels(where, rows.at, metrics[rows.metric].factors)
                if settings is not None:
                    _check_run(where, rows.arm, rows.variant, settings)


def _check_run(where: str, arm: str, variant: str | None, settings: StudySettings) -> None:
    _check_name(f"{where}: arm", arm, settings.arms)
    if variant is not None:
        _check_name(f"{where}: variant of {arm}", variant, settings.arms[arm].variants)


def _check_defined(where: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ValueError(f"{where} {name!r} is not defined; accepted: {_listed(known)}")


def _check_metric(where: str, metric: str, metrics: Mapping[str, Metric]) -> None:
    _check_name(f"{where}.metric", metric, metrics)


def _check_levels(
    where: str,
    at: Mapping[str, Level | tuple[Level, ...]],
    factors: Mapping[str, Sequence[str | int]],
) -> None:
    for factor, levels in at.items():
        _check_name(f"{where}.at: factor", factor, factors)
        for level in levels if isinstance(levels, tuple) else (levels,):
            if level is not None:
                _check_name(f"{where}.at.{factor}", level, factors[factor])


def _check_name(where: str, value: str | int, accepted: Iterable[str | int]) -> None:
    known = tuple(accepted)
    if value not in known:
        raise UserError(f"{where} {shown(value)} is unknown; accepted: {_listed(known)}")


def _listed(names: Iterable[str | int]) -> str:
    return ", ".join(str(name) for name in names) or "none"
