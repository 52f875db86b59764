"""The claims of a study with their verdicts, in words: the numbers of the judge, and the register.

The judge knows no words (:mod:`journeylab.records.verdicts`); every stage that prints joins them.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field

from journeylab.claims.effects import Every
from journeylab.claims.forms import Evidence, Form, printed_word
from journeylab.claims.looks import seeds_needed
from journeylab.claims.reference import Reference
from journeylab.claims.regions import Region
from journeylab.claims.schema import APART, Claim, Kind, Register, StudyClaims
from journeylab.claims.theorems import Theorems
from journeylab.config import UserError
from journeylab.records.verdicts import Earlier, Estimate, Registration, StudyVerdicts, Verdict
from journeylab.wording.effects import (
    UNNAMED,
    Names,
    effect_text,
    gate_failed,
    metric_label,
    region_text,
    term_texts,
)
from journeylab.wording.typography import short

COARSE = "one step of the measure is wider than the distance that the region is about"
"""The note on a row whose region its measure cannot resolve."""
DECIDED = "decided at look"
"""The beginning of the note on a claim that a look decided."""
SATURATED = "both compared medians are at the"
"""The beginning of the note on a comparison without room for a difference."""


class TheoremText(NamedTuple):
    """What reports print of a theorem: its name, its content in one sentence, its document."""

    name: str
    says: str = ""
    document: str = ""


class Part(Estimate):
    """One part of an ``all_of`` or ``any_of`` claim."""

    effect_text: str


class Row(Verdict):
    """A claim and its verdict.

    ``withheld`` says which gates failed; ``notes`` are remarks on this row. ``before`` is the
    outcome of the row that this row continues from the previous revision. The ``registration`` and
    the text of the theorem, which :meth:`StudyRows.completed` adds, are not written.
    """

    theorem: str
    statement: str
    source: Literal["document", "corrected"]
    form: Form | None = None
    evidence: Evidence | None = None
    kind: Kind
    region: Region | None = None
    region_text: str
    effect_text: str
    metric_label: str
    cites: str = ""
    withheld: str = ""
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    before: Earlier | None = None
    registration: Annotated[Registration | None, Field(exclude=True)] = None
    known_theorem: Annotated[TheoremText | None, Field(exclude=True)] = None

    @property
    def about(self) -> TheoremText:
        """The text of the theorem; the label of one without a text is its name."""
        return self.known_theorem or TheoremText(self.theorem)

    @property
    def is_exploratory(self) -> bool:
        """Whether the row was not registered before its runs."""
        return self.registration is not None and self.registration.exploratory

    @property
    def outcome(self) -> str:
        """The verdict, or the reason why there is none, in a word or two.

        A check of code, which depends on no runs' registration, holds or fails.
        """
        late = self.verdict is not None and not self.is_check and self.is_exploratory
        return "exploratory" if late else self.word

    @property
    def word(self) -> str:
        """The verdict in the words of the row's form, or “withheld”, or “not judged”."""
        return self.in_form(self.verdict) or ("withheld" if self.withheld else "not judged")

    def in_form(self, verdict: str | None) -> str | None:
        """A verdict of the judge on this row, or on a part of it, in the words of its form."""
        return printed_word(verdict, self.form, self.evidence)

    @property
    def is_check(self) -> bool:
        """Whether the row is a check of code, which no count of verdicts has."""
        return self.form == "check"

    @property
    def solves(self) -> bool:
        """Whether the claim is about most seeds, so that its effect is a share of seeds."""
        return self.region is not None and self.region.of == "seeds"

    @property
    def extreme(self) -> float | None:
        """The effect of an exact row; infinite, on the refuted side, if a case was not finite."""
        if self.effect is None and self.n and self.region:
            return math.inf if self.region.low == -math.inf else -math.inf
        return self.effect


class StudyRows(StudyVerdicts):
    """All claims of a study and their verdicts.

    ``exploratory`` is the reason why claims about seeds are not judged; "" if they are. ``dropped``
    are the judged rows of the previous revision that no row continues.
    """

    verdicts: tuple[Row, ...]
    exploratory: str = ""
    amendments: tuple[str, ...] = ()
    dropped: tuple[Earlier, ...] = ()

    def completed(self, registered: Mapping[str, Registration], theorems: Theorems) -> Self:
        """The same rows with their registrations, and with the texts of their theorems."""
        rows = []
        for row in self.verdicts:
            update: dict[str, Any] = {"registration": registered.get(row.id)}
            if theorem := theorems.by_label.get(row.theorem):
                document = theorems.documents[theorem.document].title
                update["known_theorem"] = TheoremText(theorem.name, theorem.says, document)
            rows.append(row.model_copy(update=update))
        return self.model_copy(update={"verdicts": tuple(rows)})

    @property
    def judged(self) -> list[Row]:
        """The judged claims, without checks of code."""
        return [row for row in self.verdicts if row.primary and not row.is_check]

    @property
    def checks(self) -> list[Row]:
        """The checks of code."""
        return [row for row in self.verdicts if row.is_check]

    @property
    def exact(self) -> list[Row]:
        """The certificates, judged or not."""
        return [row for row in self.verdicts if row.kind == "exact" and not row.is_check]

    def over_seeds(self, *, primary: bool = True) -> list[Row]:
        """The judged claims over seeds, or the secondary ones."""
        rows = self.judged if primary else [row for row in self.verdicts if not row.primary]
        return [row for row in rows if row.kind != "exact"]

    @property
    def sections(self) -> dict[str, list[Row]]:
        """The rows as reports print them in detail: by what their tables have in common."""
        return {
            "verdicts": self.over_seeds(),
            "secondary": self.over_seeds(primary=False),
            "certificates": self.exact,
            "checks": self.checks,
        }


def in_words(
    study: StudyVerdicts,
    claims: StudyClaims,
    names: Names = UNNAMED,
    earlier: Reference | None = None,
) -> StudyRows:
    """The verdicts of a study with the words of its register.

    ``names`` are the printed names of variants and arms, ``earlier`` are the outcomes of the
    revision before. Raises UserError for a verdict on a row that is not registered.
    """
    names = names._replace(measures=claims.measures)
    registered = {claim.id: claim for claim in claims.claims}
    known = earlier.claims if earlier else {}
    before = {name: Earlier(id=name, **dict(row)) for name, row in known.items()}
    continued = {claim.before for claim in claims.claims}
    rows = []
    for verdict in study.verdicts:
        if verdict.id not in registered:
            raise UserError(
                f"{verdict.id} has a verdict, but is no row of claims/{study.study}.yaml; judge "
                "the study again"
            )
        rows.append(_row(verdict, registered[verdict.id], claims, study, names, before))
    return StudyRows(
        **{**dict(study), "verdicts": tuple(rows)},
        exploratory=_exploratory(study),
        amendments=tuple(
            f"{amendment.date.isoformat()}, {', '.join(amendment.rows)}: {amendment.reason}"
            for amendment in claims.amendments
        ),
        dropped=tuple(
            row
            for name, row in before.items()
            if (row.verdict or row.withheld) and name not in continued
        ),
    )


def recorded_rows(known: Reference, claims: StudyClaims, names: Names = UNNAMED) -> StudyRows:
    """The outcomes of a reference in words; what references do not keep is None or 0."""
    outcomes = known.claims
    unknown = dict.fromkeys(("mean", "tail", "k", "detectable"))
    verdicts = tuple(
        Verdict(
            id=claim.id,
            primary=claim.primary,
            n=outcomes[claim.id].seeds or 0,
            failures=0,
            **outcomes[claim.id].model_dump(include={"effect", "low", "high", "verdict"}),
            **unknown,
        )
        for claim in claims.claims
        if claim.id in outcomes
    )
    of_study = {name: getattr(known, name) for name in ("study", "scale", "seeds", "revision")}
    study = StudyVerdicts(**of_study, evidence=True, alpha=0, M=0, verdicts=verdicts)
    rows = in_words(study, claims, names)
    withheld = [
        row.model_copy(update={"withheld": outcomes[row.id].withheld}) for row in rows.verdicts
    ]
    return rows.model_copy(update={"verdicts": tuple(withheld)})


def in_planned_words(
    study: StudyVerdicts, register: Register, settings: Mapping[str, Any], names: Names
) -> StudyRows:
    """The same with the register and the earlier outcomes in the settings of a plan."""
    earlier = settings["earlier"].get(study.study)
    known = None if earlier is None else Reference.model_validate(earlier)
    return in_words(study, register.claims_of(study.study), names, known)


def _row(
    verdict: Verdict,
    claim: Claim,
    claims: StudyClaims,
    study: StudyVerdicts,
    names: Names,
    before: Mapping[str, Earlier],
) -> Row:
    effect, metric = effect_text(claim, names), metric_label(claim.terms, claims.measures)
    if isinstance(claim.effect, Every):
        metric = claim.effect.every.label
    unnamed = metric not in effect
    texts = term_texts(claim.terms, names)
    parts = tuple(
        Part(**dict(part), effect_text=text)
        for part, text in zip(verdict.parts, texts, strict=False)
    )
    return Row(
        **{**dict(verdict), "parts": parts},
        **{name: getattr(claim, name) for name in _OF_CLAIM},
        statement=claim.statement or (f"{effect}; {metric}" if unnamed else effect),
        region_text=region_text(claim),
        effect_text=effect,
        metric_label=metric,
        cites=claim.cites or "",
        withheld="; ".join(_failed_gates(verdict, claims, names)),
        notes=tuple(_notes(verdict, claim, claims, study, names)),
        before=before.get(claim.before or ""),
    )


_OF_CLAIM = ("theorem", "source", "form", "evidence", "kind", "region")


def _failed_gates(row: Verdict, claims: StudyClaims, names: Names) -> Iterator[str]:
    for failed in row.failed_gates:
        gate = claims.gates[failed.gate]
        runs = [names.run(cell.run) for cell in gate.cells]
        yield gate_failed(runs, names.measure(gate.measure), failed.median, gate.at_least)


def _notes(
    row: Verdict, claim: Claim, claims: StudyClaims, study: StudyVerdicts, names: Names
) -> Iterator[str]:
    """What is to be said of a verdict beside its numbers."""
    if claim.kind == "exact":
        if row.failures:
            yield f"{row.failures} values are not finite"
        if row.missing:
            yield f"not measured: {', '.join(row.missing)}"
        return
    if row.state and row.state != "withheld":
        yield _look_note(row, study)
    if row.k == 0 and row.tail and not study.unjudged:
        yield f"undecidable at n; needs ≥ {seeds_needed(row.tail)} seeds"
    if row.absent:
        yield f"no values of {'; '.join(map(names.run, row.absent))}"
    if claim.primary and claims.is_coarse(claim):
        yield COARSE
    for saturated in row.saturated:
        medians = [
            f"{short(median)} in “{names.run(run)}”"
            for run, median in zip(saturated.runs, saturated.medians, strict=True)
        ]
        yield f"{SATURATED} {saturated.end} ({' and '.join(medians)})"


def _look_note(row: Verdict, study: StudyVerdicts) -> str:
    """How the looks at a claim ended."""
    n, last = row.n, study.looks[-1]
    if row.state == "decided":
        return f"{DECIDED} {study.look_of(row)} of {len(study.looks)}, with {n} seeds"
    if n == last:
        return f"not decided after all {n} seeds"
    if row.state == "settled":
        return f"stopped at {n} seeds, since {last - n} further seeds could not decide it"
    return f"not finished, with {n} of up to {last} seeds"


def _exploratory(study: StudyVerdicts) -> str:
    """Why claims about seeds are not judged."""
    if study.unjudged == "number":
        are = "seed at scale {} is" if study.seeds == 1 else "seeds at scale {} are"
        return f"{study.seeds} {are.format(study.scale)} no registered look"
    if study.unjudged == "first":
        return (
            f"seeds from {study.first} are not the registered ones, which count from "
            f"{APART * (study.revision - 1)}"
        )
    return ""
