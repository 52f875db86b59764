"""Reference results: what a study's claims came to, small enough to be kept beside the code.

A reproduction agrees if every verdict is the same word and every effect lies within the interval
that the reference states. Where an interval has no bound, or the claim is exact, the word decides.
Results are compared with a reference of their own revision of the register only. What an earlier
revision said is kept, frozen, as ``expN-r1.json``; a report tells it beside the rows that go on.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from journeylab.claims.register import StudyClaims
from journeylab.config import Frozen, UserError, build
from journeylab.records.files import VERDICTS, read_json, write_json
from journeylab.records.verdicts import Earlier, StudyVerdicts, Verdict, Word


class ReferenceClaim(Frozen):
    """One claim's effect, interval and verdict; None as in the verdict records."""

    effect: float | None
    low: float | None
    high: float | None
    verdict: Word | None


class Reference(Frozen):
    """The claims of one study at one scale, by their ids."""

    study: str
    scale: Literal["quick", "default", "paper"]
    seeds: int
    revision: int = 1
    claims: Mapping[str, ReferenceClaim]


def read_reference(path: Path) -> Reference:
    """Read one reference. Raises UserError if it is missing or says something else."""
    return build(Reference, read_json(path, sealed=False), str(path))


def read_earlier(references: Path, study: str, claims: StudyClaims) -> Reference | None:
    """What the revision before the current one said of a study; None of a first revision.

    Raises UserError if it is not kept, or if a row continues one that it does not have.
    """
    if claims.revision == 1:
        return None
    path = references / f"{study}-r{claims.revision - 1}.json"
    if not path.exists():
        raise UserError(
            f"{path} is missing: revision {claims.revision} of {study} tells what the one before "
            f"said; copy {references / f'{study}.json'} to it before that is recorded anew"
        )
    earlier = read_reference(path)
    for claim in claims.claims:
        if claim.before is not None and claim.before not in earlier.claims:
            raise UserError(
                f"{claim.id}: before: {claim.before!r} is unknown; rows of {path}: "
                f"{', '.join(earlier.claims)}"
            )
    return earlier


def attach_earlier(
    verdicts: StudyVerdicts, claims: StudyClaims, earlier: Reference
) -> StudyVerdicts:
    """The verdicts, each with what the revision before said of the row that it continues."""
    known = {name: Earlier(id=name, **dict(row)) for name, row in earlier.claims.items()}
    continued = {claim.id: claim.before for claim in claims.claims if claim.before is not None}
    told = [
        verdict.model_copy(update={"before": known[continued[verdict.id]]})
        if verdict.id in continued
        else verdict
        for verdict in verdicts.verdicts
    ]
    dropped = [
        row
        for name, row in known.items()
        if row.verdict is not None and name not in continued.values()
    ]
    return verdicts.model_copy(update={"verdicts": tuple(told), "dropped": tuple(dropped)})


def verify_results(results: Path, references: Path) -> tuple[list[str], list[str]]:
    """How many claims of every study with results reproduce, and one line per claim that does not.

    Raises UserError if there is nothing to compare.
    """
    found = _judged(results)
    told: list[str] = []
    problems: list[str] = []
    compared = False
    for study, verdicts in found.items():
        path = references / f"{study}.json"
        if not path.exists():
            told.append(f"{study}: no reference")
            continue
        known = read_reference(path)
        if known.revision != verdicts.revision:
            told.append(
                f"{study}: not compared, the results are of revision {verdicts.revision} and "
                f"{path} of revision {known.revision}"
            )
            continue
        compared = True
        different = list(differences(verdicts, known))
        problems += different
        claims = len(known.claims)
        told.append(f"{study}: {claims - len(different)} of {claims} claims reproduce")
    if not compared:
        raise UserError(f"{'; '.join(told)}; `journeylab verify --record` writes references")
    return told, problems


def record_references(results: Path, references: Path) -> None:
    """Write the reference of every study with results. Raises UserError if there is none."""
    for study, verdicts in _judged(results).items():
        write_json(references / f"{study}.json", reference_of(verdicts), sealed=False)


def _judged(results: Path) -> dict[str, StudyVerdicts]:
    found = {
        path.parent.name: build(StudyVerdicts, read_json(path), str(path))
        for path in sorted(results.glob(f"*/{VERDICTS}"))
    }
    if not found:
        raise UserError(f"{results}: there are no verdicts; run `make all`, or `make exp7`, first")
    return found


def reference_of(verdicts: StudyVerdicts) -> Reference:
    """What to keep of a study's verdicts."""
    return Reference(
        study=verdicts.study,
        scale=verdicts.scale,
        seeds=verdicts.seeds,
        revision=verdicts.revision,
        claims={verdict.id: _kept(verdict) for verdict in verdicts.verdicts},
    )


def differences(verdicts: StudyVerdicts, reference: Reference) -> Iterator[str]:
    """One line per claim that does not reproduce; none if all do."""
    if (verdicts.scale, verdicts.seeds) != (reference.scale, reference.seeds):
        yield (
            f"{verdicts.study}: scale {verdicts.scale} with {verdicts.seeds} seeds, the reference "
            f"has scale {reference.scale} with {reference.seeds}"
        )
        return
    found = {verdict.id: _kept(verdict) for verdict in verdicts.verdicts}
    for name, expected in reference.claims.items():
        if name not in found:
            yield f"{name}: is in the reference and not in the register"
        elif found[name].verdict != expected.verdict:
            yield f"{name}: {found[name].verdict}, the reference says {expected.verdict}"
        elif not _within(found[name].effect, expected):
            yield (
                f"{name}: effect {found[name].effect}, outside the reference's interval "
                f"[{expected.low}, {expected.high}]"
            )


def _kept(verdict: Verdict) -> ReferenceClaim:
    return ReferenceClaim(
        effect=verdict.effect, low=verdict.low, high=verdict.high, verdict=verdict.verdict
    )


def _within(effect: float | None, expected: ReferenceClaim) -> bool:
    if effect is None:
        return expected.effect is None
    low = -math.inf if expected.low is None else expected.low
    high = math.inf if expected.high is None else expected.high
    return low <= effect <= high
