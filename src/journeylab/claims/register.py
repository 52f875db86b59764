"""The register: what ``claims.yaml`` may say, and its check against the studies.

A claim compares an *effect* — a number per seed, built from cells of the measurements — with a
*region*. A :class:`Measure` names what is read from a run, a :class:`Cell` reads it from one run:

    measures:
      T2: {label: "hits@1, tier 2", metric: "hits@1", at: {tier: T2, format: text}}
    claims:
      - id: exp7.2
        theorem: prop:lis-union
        statement: Native triples transfer to text better than linearised ones.
        source: document
        primary: true
        effect: {difference: [{run: native/A, measure: T2}, {run: 7a/B, measure: T2}]}
        region: {above: 0.02}

This module is imported at every start of the workflow and loads neither scipy nor pandas.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    Discriminator,
    Field,
    PositiveInt,
    StringConstraints,
    Tag,
    model_validator,
)

from journeylab.config import Frozen, Metric, Name, Scale, StudySettings, UserError

MOST_TAILS = 15
"""With M ≤ 15 and 12 seeds a verdict needs 11 of the 12 seeds on one side of the margin."""

Level = str | int | None
"""A factor level; null where the factor does not apply."""
Kind = Literal["above", "below", "inside", "solves", "all_of", "any_of", "exact"]
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
    """What is read from a run: a metric at one level of each of its factors."""

    label: Text
    metric: Text
    at: Mapping[Name, Level] = {}


class Cell(Frozen):
    """One number per seed: a measure of the run ``arm/variant``."""

    run: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*$"),
    ]
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


class Claim(Frozen):
    """One row of the register. “Greater” without a margin means above 0.02."""

    id: Annotated[str, StringConstraints(pattern=r"^exp\d+\.[a-z0-9]+$")]
    theorem: Annotated[str, StringConstraints(pattern=r"^[a-z]+:[a-z0-9-]+$")]
    statement: Text
    source: Literal["document", "corrected"]
    primary: bool
    effect: Effect
    region: Region = Above(above=0.02)

    @model_validator(mode="after")
    def _exact_or_judged(self) -> Self:
        exact = isinstance(self.region, AtMost | AtLeast)
        if exact != isinstance(self.effect, Every):
            raise ValueError(f"{self.id}: regions at_most and at_least go with effect every only")
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
    """The claims of one study and the measures they read."""

    measures: Mapping[Name, Measure] = {}
    claims: tuple[Claim, ...]

    @property
    def tails(self) -> int:
        """M: over the primary rows, one per one-sided row and two per band."""
        return sum(claim.tails for claim in self.claims if claim.primary)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        seen = set()
        for claim in self.claims:
            if claim.id in seen:
                raise ValueError(f"{claim.id}: the id is used twice")
            seen.add(claim.id)
            for cell in cells(claim.terms):
                if cell.measure not in self.measures:
                    raise ValueError(
                        f"{claim.id}: measure {cell.measure!r} is not defined; "
                        f"accepted: {_listed(self.measures)}"
                    )
        if self.tails > MOST_TAILS:
            raise ValueError(f"primary rows cost M = {self.tails} tails; accepted: ≤ {MOST_TAILS}")
        return self


Weight = Annotated[float, Field(gt=0.0, le=1.0)]


class Register(Frozen):
    """The whole of ``claims.yaml``.

    ``looks`` holds, per scale, the seed counts at which claims are judged and their shares of α.
    """

    alpha: Annotated[float, Field(gt=0.0, lt=0.5)] = 0.05
    looks: Mapping[Scale, Mapping[PositiveInt, Weight]] = {"default": {12: 1.0}, "paper": {30: 1.0}}
    studies: Mapping[Name, StudyClaims]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for scale, weights in self.looks.items():
            if sum(weights.values()) > 1.0 + 1e-9:
                raise ValueError(f"looks.{scale}: the weights sum to more than 1")
        for study, registered in self.studies.items():
            for claim in registered.claims:
                if not claim.id.startswith(f"{study}."):
                    raise ValueError(f"{claim.id}: ids of {study} start with {study}.")
        return self


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
    file: str = "claims.yaml",
) -> None:
    """Check every name that a claim uses against the studies.

    ``metrics_by_study`` holds all studies there are, ``settings_by_study`` those configured; arms
    and variants are checked for the latter. Raises UserError: claim, key, value, accepted values.
    """
    for study, registered in register.studies.items():
        if study not in metrics_by_study:
            raise UserError(
                f"{file}: studies: {study!r} is unknown; accepted: {_listed(metrics_by_study)}"
            )
        settings, metrics = settings_by_study.get(study), metrics_by_study[study]
        for name, measure in registered.measures.items():
            where = f"{file}: {study}: measures.{name}"
            _check_metric(where, measure.metric, metrics)
            factors = metrics[measure.metric].factors
            _check_levels(where, measure.at, factors)
            if missing := [factor for factor in factors if factor not in measure.at]:
                raise UserError(f"{where}.at: name one level of {_listed(missing)}")
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
        raise UserError(f"{where} {value!r} is unknown; accepted: {_listed(known)}")


def _listed(names: Iterable[str | int]) -> str:
    return ", ".join(str(name) for name in names) or "none"
