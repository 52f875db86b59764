"""Reference results: what a study's claims came to, small enough to be kept beside the code.

A reproduction agrees if every verdict is the same word and every effect lies within the interval
that the reference states. Where an interval has no bound, or the claim is exact, the word decides.
"""

import math
from collections.abc import Iterator
from typing import Literal

from journeylab.config import Frozen
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
