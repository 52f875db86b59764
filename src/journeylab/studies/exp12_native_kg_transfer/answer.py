"""The study's answer in one paragraph, composed from its verdicts only."""

from __future__ import annotations

from journeylab.wording.answers import NO_EVIDENCE, Answer, rows_of, sentences
from journeylab.wording.rows import Row, StudyRows

CONDITIONS: dict[str, Answer] = {
    "1": Answer(
        "with embeddings of deviation 1, native triples transfer better in a larger world",
        "with embeddings of deviation 1, native triples do not transfer better in a larger world "
        "by the claimed margin",
        "whether native triples transfer better by the claimed margin in a larger world with "
        "embeddings of deviation 1",
    ),
    "11": Answer(
        "with four tokens a name, native triples transfer better in a larger world",
        "with four tokens a name, native triples do not transfer better in a larger world by the "
        "claimed margin",
        "whether they transfer better by the claimed margin in a larger world with four tokens a "
        "name",
    ),
    "9": Answer(
        "in a world ten times as large as exp7's native triples transfer as well as sentences do",
        "in a world ten times as large as exp7's native triples do not transfer as well as "
        "sentences do",
        "whether in a world ten times as large as exp7's they transfer as well as sentences do",
    ),
    "4": Answer(
        "with 70 % bridged, facts read as triples transfer even if they cannot be derived from "
        "other facts",
        "with 70 % bridged, facts read as triples do not transfer by the claimed margin if they "
        "cannot be derived",
        "whether, with 70 % bridged, facts read as triples transfer if they cannot be derived from "
        "other facts",
    ),
    "5": Answer(
        "reading more facts in both formats favours native triples",
        "reading more facts in both formats does not favour native triples by the claimed margin",
        "whether reading more facts in both formats favours native triples by the claimed margin",
    ),
    "6": Answer(
        "regularised, native triples generalise to unseen facts better than sentences do",
        "regularised, native triples do not generalise to unseen facts better than sentences do by "
        "the claimed margin",
        "whether regularised native triples generalise to unseen facts better than sentences do by "
        "the claimed margin",
    ),
    "10": Answer(
        "in world ×10, without strong regularisation, masked native triples generalise to unseen "
        "facts better than sentences read causally",
        "in world ×10, without strong regularisation, masked native triples do not generalise to "
        "unseen facts better than sentences read causally by the claimed margin",
        "whether in world ×10, without strong regularisation, masked native triples generalise "
        "better than sentences read causally by the claimed margin",
    ),
}
"""Claims on when native KG transfers and generalises, in the order of the answer."""

FACTORS = {
    "12": "the initial scale, in the small world",
    "1": "the size of the world, with embeddings of deviation 1",
    "2": "one token a name instead of four, in world ×3",
    "3": "a second, causal reading of the triples with four tokens a name, in world ×3",
    "7": "the objective, for unseen facts",
    "8": "the format, for unseen facts",
}
"""What each claim varies."""
EQUIVALENCE_CLAIMS = ("8",)
"""Claims that say that their factor makes no difference. Only they can show that: a refuted
difference is smaller than its margin, or opposite."""
OUTCOMES = (
    "Makes a difference",
    "Makes no difference",
    "Not shown by the claimed margin",
    "Not decided, by the claimed margins",
)


def answer(study: StudyRows) -> str:
    """Return when native KG transfers and generalises, and which factors make a difference.

    Numbers of claims are in brackets. A quick or exploratory run gives no answer.
    """
    if not (rows := rows_of(study)):
        return NO_EVIDENCE
    composed = sentences(rows, CONDITIONS, withheld="not all models learned the taught facts")
    factors: dict[str, list[str]] = {outcome: [] for outcome in OUTCOMES}
    for name, factor in FACTORS.items():
        if name in rows:
            factors[_outcome(rows[name], name)].append(f"{factor} ({name})")
    composed += [f"{outcome}: {'; '.join(those)}." for outcome, those in factors.items() if those]
    return " ".join(composed)


def _outcome(row: Row, name: str) -> str:
    different, not_different, not_shown, undecided = OUTCOMES
    if row.verdict not in ("supported", "refuted"):
        return undecided
    if name in EQUIVALENCE_CLAIMS:
        return not_different if row.verdict == "supported" else different
    return different if row.verdict == "supported" else not_shown
