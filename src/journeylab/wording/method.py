"""How claims are judged, in English: the paragraph on method of every report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from journeylab.wording.rows import Row, StudyRows
from journeylab.wording.typography import plain


def method(study: StudyRows) -> str:
    """How the claims of a study over seeds are judged, and how their intervals are made."""
    rows = [row for row in study.verdicts if row.primary and row.kind != "exact"]
    if not rows:
        return "Every claim of this study is exact: the extreme value over all cases decides."
    if study.exploratory:
        return (
            f"Exploratory: {study.exploratory}. Effects and intervals are shown; claims about "
            "seeds are not judged."
        )
    looks = sorted({(row.n, row.k, row.tail) for row in rows if row.k and row.tail is not None})
    if study.looks:
        return _sequential_method(study, rows)
    if not looks:
        return f"With {study.seeds} seeds no claim over seeds can be decided."
    texts = []
    if any(not row.solves for row in rows):
        ends = " and ".join(
            f"at {n} seeds from the ordered difference {k} to {n + 1 - (k or 0)}"
            for n, k, _ in looks
        )
        texts.append(f"{_MEDIAN} Its interval reaches {ends}; {_INTERVAL}")
    share = f"Each end is wrong with probability at most {_tails_text(study, looks)}."
    return " ".join((*texts, *_method(study, rows, share)))


_MEDIAN = "The effect is the median over seeds of a paired difference."
_INTERVAL = (
    "it is valid for any distribution. A failed seed counts as −∞ in the lower end and as ∞ in the "
    "upper end."
)


def _sequential_method(study: StudyRows, rows: Sequence[Row]) -> str:
    """The same for looks that go on until a claim is decided."""
    *most, last = study.looks
    looks = (
        f"Claims are judged at looks: at {', '.join(map(str, most))} and {last} seeds. An "
        "inconclusive claim is settled if further seeds could not decide it, and else open; only "
        "runs that open claims read get more seeds."
    )
    texts = [looks]
    if any(not row.solves for row in rows):
        texts.append(
            f"{_MEDIAN} Its interval reaches from the k-th smallest to the k-th largest one; "
            f"{_INTERVAL}"
        )
    solving = any(row.solves for row in rows)
    ends = (
        "the true median, or of ½ for a claim about most seeds," if solving else "the true median"
    )
    share = (
        f"An end is on the wrong side of {ends} at any of the looks with probability at most "
        f"{plain(study.alpha / study.M, 2)} ({study.alpha}, divided by {study.M} tails); how many "
        "seeds may lie on the other side of the margin follows exactly from the looks."
    )
    return " ".join((*texts, *_method(study, rows, share)))


def _method(study: StudyRows, rows: Sequence[Row], share: str) -> Iterator[str]:
    """What holds for all kinds of looks; ``share`` is how likely an end is wrong."""
    solving = [row for row in rows if row.solves]
    if solving:
        yield (
            "For a claim about most seeds, the effect is the share of seeds that reach the "
            "threshold. The interval is the Clopper–Pearson interval of the probability that a "
            "seed reaches it, and is compared with ½. A failed seed counts as a miss in the lower "
            "end and as a success in the upper end."
        )
    yield share
    if any(row.parts for row in rows):
        yield (
            "In a claim with several parts, an end that can settle the claim by one part alone is "
            "taken at that tail divided by the number of parts."
        )
    yield (
        "A claim is supported if the whole interval lies in the claimed region, refuted if it lies "
        "outside, and otherwise inconclusive. The probability of any wrong verdict in this study "
        f"is at most {study.alpha}."
    )
    if any(row.detectable is not None for row in rows):
        yield (
            "“Detectable” is the distance from the margin that these seeds decide with probability "
            "0.8 at their spread"
            + ("; for a claim about most seeds, the probability of success." if solving else ".")
        )


def _tails_text(study: StudyRows, looks: Iterable[tuple[int, int | None, float | None]]) -> str:
    """The tail of each look, and how it follows from α."""
    texts = []
    for n, _, tail in looks:
        share = (tail or 0.0) * study.M / study.alpha
        part = "" if math.isclose(share, 1) else f"a share of {plain(share, 2)} of "
        texts.append(
            f"{plain(tail, 2)} at {n} seeds ({part}{study.alpha}, divided by {study.M} tails)"
        )
    return " and ".join(texts)
