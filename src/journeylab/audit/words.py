"""Verdict words in a sentence: which claims they speak of, and what they say about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

JUDGED: Mapping[str, str] = {
    "supported": r"support(?:ed|s)?|confirm(?:ed|s)|corroborat(?:ed|es)|upheld|verified|validated|"
    r"proven|(?<!which )holds?(?: up)?(?! (?:for|in|the|a|an|at|all|only|its)\b)|borne out",
    "refuted": r"refut(?:ed|es)|reject(?:ed|s)|contradict(?:ed|s)|falsified|disprove[ds]?|"
    r"(?:is|was|turns? out(?: to be)?) (?:false|wrong|untrue)",
    "inconclusive": r"inconclusive|undecided|(?:remains?|is|stays?|left) open|unresolved",
    "undecidable": r"undecidable",
    "withheld": r"withheld|not judged",
}
"""Words about a claim, by the verdict that they state."""
_THAN = r"(?! than [\d.<>≤≥\\$\ufffc−-])"
_POSITIVE = (
    r"solve[sd]?|outperform(?:s|ed)?|beats?|significant(?:ly)?|improve[sd]?|surpass(?:es|ed)?|"
    r"succeed(?:s|ed)?|superior|wins?|won|works?|worked|gains? from|learn(?:s|ed)?|"
    rf"(?:better|higher|larger|faster|stronger|more \w+){_THAN} than|"
    r"los(?:es?|t) (?:nothing|no)"
)
_NEGATIVE = (
    r"fail(?:s|ed)?|destroy(?:s|ed)?|break(?:s|ing)? down|collapses?|diverges?|"
    r"insignificant(?:ly)?|indistinguishable|underperform(?:s|ed)?|inferior|"
    rf"(?:worse|lower|slower|weaker|less \w+){_THAN} than|los(?:es?|t)(?! (?:nothing|no)\b)|"
    r"no (?:\w+ )?(?:effect|difference|improvement|gain|benefit|advantage|loss)"
)
_NEGATION = re.compile(
    r"\b(?:not|never|cannot|no longer|neither|nor|without|no evidence(?: that)?|fail(?:s|ed)? to|"
    r"far from|hardly)\b|n['’]t\b",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:whether|if|would|could|should|might|may|suppose|hypothes[ei]s\w*|conjectur\w*|expect\w*"
    r"|predict\w*|claim(?:s|ed)? (?:that|to)|(?:claim|theorem|it|which|that) "
    r"(?:states?|says|asserts?|asks|tests?)|(?:states?|says|asserts?|asks|tests?) that|"
    r"test of|in order to|designed to)\b",
    re.IGNORECASE,
)
_WORD = re.compile(
    "|".join(
        [
            *(rf"(?P<{word}>\b(?:{forms})\b)" for word, forms in JUDGED.items()),
            rf"(?P<positive>\b(?:{_POSITIVE})\b)",
            rf"(?P<negative>\b(?:{_NEGATIVE})\b)",
        ]
    ),
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?:(?<![\w.])\d+|\bone|\btwo|\bthree|\bfour|\bfive|\bsix|\bseven|\beight|\bnine|\bten|\bseeds?|\bruns?|\ball)"
    r"(?: (?:claims?|rows?|of them|are|is|were|was|judged|judged claims|have|has))*[\s\u00a0]+$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;,]|\b(?:but|while|whereas|although|though|yet|however|and|or)\b")

_CONTRAST = re.compile(r"\b(?:but|while|whereas|although|though|unlike|however)\b")
_UNLIKE = re.compile(r"\b(?:unlike|contrary to|in contrast to|as opposed to|instead of)\s+$", re.I)


class Spoken(NamedTuple):
    """A verdict word: what it says of the claims, and where it stands in the sentence.

    ``says`` is a verdict, or ``positive`` or ``negative`` for an effect; ``negated`` is whether the
    opposite is said, ``subject`` the text before the word. ``mentions`` are indices into the
    mentions of the sentence.
    """

    says: str
    negated: bool
    text: str
    start: int
    mentions: tuple[int, ...]
    subject: str


def spoken_words(text: str, mentions: Sequence[int]) -> Iterator[Spoken]:
    """The verdict words of a sentence that mentions claims at these indices.

    A word speaks of the mentions in its own clause; a clause without a word belongs to the next
    one that has a word. In questions and hypotheses nothing is said. With “respectively”, the n-th
    word speaks of the n-th mention.
    """
    if text.rstrip(" ”\"')\u2029\n").endswith("?"):
        return
    words = [match for match in _WORD.finditer(text) if _states(text, match)]
    if not words:
        return
    if "respectively" in text and len(words) == len(mentions):
        owners: list[tuple[int, ...]] = [(i,) for i in range(len(mentions))]
    else:
        owners = _without_contrasts(text, words, _owners(text, words, mentions), mentions)
    for match, owned in zip(words, owners, strict=True):
        group = str(match.lastgroup)
        before = _clause_before(text, match.start())
        if group in ("positive", "negative") and _HEDGE.search(text[: match.start()]):
            continue
        if group not in ("positive", "negative") and re.search(
            r"\b(?:whether|if|would|could|should|might)\b", before, re.IGNORECASE
        ):
            continue
        negations = len(_NEGATION.findall(" ".join(before.split()[-5:])))
        yield Spoken(group, negations % 2 == 1, match[0], match.start(), owned, before)


def polarity(statement: str, subject: str = "") -> int:
    """1, or -1 for a statement that denies an effect, such as “A fails” or “B has no effect”.

    If a sentence about “A is better than B” speaks of B, its `subject`, the sign is turned.
    """
    negative = len(re.findall(rf"\b(?:{_NEGATIVE})\b", statement, re.IGNORECASE))
    left, than, right = statement.partition(" than ")
    if than and subject:
        ours, others, spoken = (
            set(re.findall(r"\w{2,}", part.lower())) for part in (left, right, subject)
        )
        negative += bool(spoken & (others - ours)) and not spoken & (ours - others)
    return -1 if negative % 2 else 1


def _states(text: str, match: re.Match[str]) -> bool:
    """Whether a word speaks of a claim, and not of seeds, of a count or of a “supported” format."""
    before, after = text[: match.start()], text[match.end() :]
    if _COUNTED.search(before) and not re.search(r"\b(?:one|all)\s+$", before):
        return False
    if match["negative"] and re.match(r"\s+to\b", after):
        return False  # negates the verb that follows
    if match["supported"] and re.match(r"\s+(?:by|on)\s+(?:the\s+)?(?:GPU|CPU|CUDA|grant)", after):
        return False
    return not (match["negative"] and re.search(r"(?:seeds?|runs?)\s*(?:that\s*)?$", before))


def _clause_before(text: str, index: int) -> str:
    cuts = [match.end() for match in _CLAUSE.finditer(text, 0, index)]
    return text[cuts[-1] if cuts else 0 : index]


def _owners(
    text: str, words: Sequence[re.Match[str]], mentions: Sequence[int]
) -> list[tuple[int, ...]]:
    """The mentions of every word: those between the cuts on its two sides.

    Two neighbouring words are separated at the last cut between them that leaves a mention to each
    of them, where there is one; else they share their mentions.
    """
    bounds = [0]
    for left, right in pairwise(words):
        cuts = [cut.start() for cut in _CLAUSE.finditer(text, left.end(), right.start())]
        between = [at for at in mentions if left.end() <= at < right.start()]
        if not cuts:
            bounds.append(right.start() if between else bounds[-1])
            continue
        before_left = any(bounds[-1] <= at < left.start() for at in mentions)
        after_right = any(at > right.start() for at in mentions)
        # a mention before the left word leaves those in between to the right word
        if before_left or not after_right:
            first = [cut for cut in cuts if not between or cut <= between[0] or not before_left]
            bounds.append(first[0] if first else cuts[-1])
        else:
            bounds.append(cuts[-1])
    bounds.append(len(text) + 1)
    owners: list[tuple[int, ...]] = []
    for low, high in pairwise(bounds):
        own = tuple(i for i, at in enumerate(mentions) if low <= at < high)
        owners.append(own)
    return _fill(owners, len(mentions))


def _without_contrasts(
    text: str,
    words: Sequence[re.Match[str]],
    owners: Sequence[tuple[int, ...]],
    mentions: Sequence[int],
) -> list[tuple[int, ...]]:
    """The mentions of every word without those that it is contrasted with.

    These are the last ones of “exp1.1 is supported, but exp1.2 is not” and “unlike exp1.2”.
    """
    kept = []
    for match, owned in zip(words, owners, strict=True):
        own = tuple(
            i
            for i in owned
            if not _UNLIKE.search(text[: mentions[i]])
            and not _CONTRAST.search(text[match.end() : max(match.end(), mentions[i])])
        )
        kept.append(own or owned)
    return kept


def _fill(owners: list[tuple[int, ...]], mentions: int) -> list[tuple[int, ...]]:
    """A word without a mention of its own speaks of those of the word before, else of the next."""
    filled: list[tuple[int, ...]] = []
    for i, own in enumerate(owners):
        earlier = filled[-1] if filled else ()
        later = next((other for other in owners[i + 1 :] if other), ())
        filled.append(own or earlier or later or tuple(range(mentions)))
    return filled
