"""Reference results: what a study's claims came to, small enough to be kept beside the code.

A reproduction agrees if every verdict is the same word and every effect lies within the interval
that the reference states. Where an interval has no bound, or the claim is exact, the word decides.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from journeylab.config import Frozen, UserError, build
from journeylab.records.files import read_json, write_json
from journeylab.records.verdicts import StudyVerdicts, Verdict, Word


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
    claims: dict[str, ReferenceClaim]


def verify_results(results: Path, references: Path) -> tuple[list[str], list[str]]:
    """How many claims of every study with results reproduce, and one line per claim that does not.

    Raises UserError if there is nothing to compare.
    """
    found = _judged(results)
    if not any((references / f"{study}.json").exists() for study in found):
        raise UserError(
            f"{references}: has no reference for {', '.join(found)}; --record writes it"
        )
    told: list[str] = []
    problems: list[str] = []
    for study, verdicts in found.items():
        path = references / f"{study}.json"
        if not path.exists():
            told.append(f"{study}: no reference")
            continue
        known = build(Reference, read_json(path, sealed=False), str(path))
        different = list(differences(verdicts, known))
        problems += different
        claims = len(known.claims)
        told.append(f"{study}: {claims - len(different)} of {claims} claims reproduce")
    return told, problems


def record_references(results: Path, references: Path) -> None:
    """Write the reference of every study with results. Raises UserError if there is none."""
    for study, verdicts in _judged(results).items():
        write_json(references / f"{study}.json", refer(verdicts), sealed=False)


def _judged(results: Path) -> dict[str, StudyVerdicts]:
    found = {
        path.parent.name: build(StudyVerdicts, read_json(path), str(path))
        for path in sorted(results.glob("*/verdicts.json"))
    }
    if not found:
        raise UserError(f"{results}: there are no verdicts; run `make all`, or `make exp7`, first")
    return found


def refer(verdicts: StudyVerdicts) -> Reference:
    """What to keep of a study's verdicts."""
    return Reference(
        study=verdicts.study,
        scale=verdicts.scale,
        seeds=verdicts.seeds,
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
