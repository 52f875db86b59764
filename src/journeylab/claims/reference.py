"""Reference results: the outcome of every claim, small enough to be kept beside the code.

A result reproduces if its verdict is the same and its effect lies within the reference's interval.
If that interval is unbounded, or the claim is exact, the verdict alone decides. A claim may end at
another look. Results are compared only with a reference of the same revision of the register. The
outcomes of an earlier revision are kept as ``expN-r1.json``; a report prints them beside the rows
that continue them.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from journeylab.claims.schema import StudyClaims
from journeylab.config import Frozen, Scale, UserError, build
from journeylab.records.files import VERDICTS, read_json, write_json
from journeylab.records.verdicts import Outcome, StudyVerdicts, Verdict


class Reference(Frozen):
    """The claims of one study at one scale, by their ids; gates that withheld them by name."""

    study: str
    scale: Scale
    seeds: int
    revision: int = 1
    claims: Mapping[str, Outcome]


def read_reference(path: Path) -> Reference:
    """Read a reference. Raises UserError if the file is missing or invalid."""
    return build(Reference, read_json(path, sealed=False), str(path))


def read_earlier(references: Path, study: str, claims: StudyClaims) -> Reference | None:
    """The reference of a study's previous revision; None for revision 1.

    Raises UserError if the file is missing, or if a claim continues a row that is not in it.
    """
    if claims.revision == 1:
        return None
    path = references / f"{study}-r{claims.revision - 1}.json"
    if not path.exists():
        raise UserError(
            f"{path} is missing: revision {claims.revision} of {study} prints the outcomes of the "
            f"previous revision; copy {references / f'{study}.json'} to it before you record"
        )
    earlier = read_reference(path)
    for claim in claims.claims:
        if claim.before is not None and claim.before not in earlier.claims:
            raise UserError(
                f"{claim.id}: before: {claim.before!r} is unknown; rows of {path}: "
                f"{', '.join(earlier.claims)}"
            )
    return earlier


def verify_results(results: Path, references: Path) -> tuple[list[str], list[str]]:
    """One line for every study with results, and one for every claim that does not reproduce.

    Raises UserError if there is nothing to compare.
    """
    lines: list[str] = []
    problems: list[str] = []
    compared = False
    for study, verdicts in _judged(results).items():
        path = references / f"{study}.json"
        if not path.exists():
            lines.append(f"{study}: no reference")
            continue
        known = read_reference(path)
        if known.revision != verdicts.revision:
            lines.append(
                f"{study}: not compared, the results are of revision {verdicts.revision} and "
                f"{path} of revision {known.revision}"
            )
            continue
        compared = True
        if reason := _incomparable(verdicts, known):
            problems.append(f"{study}: not compared, {reason}")
            continue
        different = list(differences(verdicts, known))
        problems += different
        claims = len(known.claims)
        new = [row.id for row in verdicts.verdicts if row.id not in known.claims]
        ending = f"; not in {path}: {', '.join(new)}" if new else ""
        lines.append(f"{study}: {claims - len(different)} of {claims} claims reproduce{ending}")
    if not compared:
        raise UserError(f"{'; '.join(lines)}; `journeylab verify --record` writes references")
    return lines, problems


def record_references(results: Path, references: Path) -> None:
    """Write the reference of every study with results. Raises UserError if there are no results."""
    for study, verdicts in _judged(results).items():
        write_json(references / f"{study}.json", reference_of(verdicts), sealed=False)


def _judged(results: Path) -> dict[str, StudyVerdicts]:
    judged = {
        path.parent.name: build(StudyVerdicts, read_json(path), str(path))
        for path in sorted(results.glob(f"*/{VERDICTS}"))
    }
    if not judged:
        raise UserError(f"{results}: there are no verdicts; run `make all`, or `make exp7`, first")
    return judged


def reference_of(verdicts: StudyVerdicts) -> Reference:
    """The reference that a study's verdicts are recorded as."""
    return Reference(
        **verdicts.model_dump(include={"study", "scale", "seeds", "revision"}),
        claims={verdict.id: _outcome(verdict) for verdict in verdicts.verdicts},
    )


def _incomparable(verdicts: StudyVerdicts, reference: Reference) -> str:
    """Why verdicts cannot be compared with a reference of their revision; "" if they can."""
    same_seeds = bool(verdicts.looks) or verdicts.seeds == reference.seeds
    if verdicts.scale == reference.scale and same_seeds:
        return ""
    return (
        f"the results have scale {verdicts.scale} with {verdicts.seeds} seeds, the reference has "
        f"scale {reference.scale} with {reference.seeds}"
    )


def differences(verdicts: StudyVerdicts, reference: Reference) -> Iterator[str]:
    """One line for every claim that does not reproduce."""
    outcomes = {verdict.id: _outcome(verdict) for verdict in verdicts.verdicts}
    for name, expected in reference.claims.items():
        if name not in outcomes:
            yield f"{name}: is in the reference and not in the register"
        elif outcomes[name].verdict != expected.verdict:
            yield f"{name}: {outcomes[name].word}, the reference says {expected.word}"
        elif not _within(outcomes[name].effect, expected):
            yield (
                f"{name}: effect {outcomes[name].effect}, outside the reference's interval "
                f"[{expected.low}, {expected.high}]"
            )


def _outcome(verdict: Verdict) -> Outcome:
    return Outcome(
        **verdict.model_dump(include={"effect", "low", "high", "verdict"}),
        withheld=", ".join(failed.gate for failed in verdict.failed_gates),
        seeds=verdict.n if verdict.state else None,
    )


def _within(effect: float | None, expected: Outcome) -> bool:
    if effect is None:
        return expected.effect is None
    low = -math.inf if expected.low is None else expected.low
    high = math.inf if expected.high is None else expected.high
    return low <= effect <= high
