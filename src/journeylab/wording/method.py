"""How claims are judged, in English: the paragraph on method of every report."""

from collections.abc import Iterator, Sequence

from journeylab.wording.rows import Row, StudyRows
from journeylab.wording.typography import plain
from journeylab.wording.verdicts import listed


def method(study: StudyRows) -> str:
    """How the claims of a study over seeds are judged, and how their intervals are made."""
    if not (rows := study.over_seeds()):
        return "Every claim of this study is exact: the extreme value over all cases decides."
    if study.exploratory:
        return (
            f"Exploratory: {study.exploratory}. Effects and intervals are shown; claims about "
            "seeds are not judged."
        )
    return " ".join(_method(study, rows))


def _method(study: StudyRows, rows: Sequence[Row]) -> Iterator[str]:
    yield (
        f"Claims are judged at looks: at {listed(map(str, study.looks))} seeds. An inconclusive "
        "claim is settled if further seeds could not decide it, and else open; only runs that open "
        "claims read get more seeds."
    )
    solving = any(row.solves for row in rows)
    if any(not row.solves for row in rows):
        yield (
            "The effect is the median over seeds of a paired difference. Its interval reaches from "
            "the k-th smallest to the k-th largest one; it is valid for any distribution. A failed "
            "seed counts as −∞ in the lower end and as ∞ in the upper end."
        )
    if solving:
        yield (
            "For a claim about most seeds, the effect is the share of seeds that reach the "
            "threshold. The interval is the Clopper–Pearson interval of the probability that a "
            "seed reaches it, and is compared with ½. A failed seed counts as a miss in the lower "
            "end and as a success in the upper end."
        )
    ends = (
        "the true median, or of ½ for a claim about most seeds," if solving else "the true median"
    )
    yield (
        f"An end is on the wrong side of {ends} at any of the looks with probability at most "
        f"{plain(study.alpha / study.M, 2)} ({study.alpha}, divided by {study.M} tails); how many "
        "seeds may lie on the other side of the margin follows exactly from the looks."
    )
    if any(row.parts for row in rows):
        yield (
            "In a claim with several parts, an end that can settle the claim by one part alone is "
            "taken at that tail divided by the number of parts."
        )
    yield (
        "A claim is supported if the whole interval lies in the claimed region, refuted if it lies "
        "outside, and otherwise inconclusive. The probability of any wrong verdict in this study, "
        f"about population medians in its settings, is at most {study.alpha}."
    )
    if any(row.detectable is not None for row in rows):
        yield (
            "“Detectable” is the distance from the margin that these seeds decide with probability "
            "0.8 at their spread"
            + ("; for a claim about most seeds, the probability of success." if solving else ".")
        )
