"""What verdicts mean for the theorems: a paragraph, made of nothing but the verdicts."""

from collections.abc import Iterable, Sequence

from journeylab.records.verdicts import WORDS, StudyVerdicts, Verdict

_LABELS = {
    "thm": "Theorem",
    "prop": "Proposition",
    "lem": "Lemma",
    "cor": "Corollary",
    "def": "Definition",
}
_NUMBERS = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_SINCE = {
    "inconclusive": "inconclusive, since what was measured leaves both answers open",
    "undecidable": "undecidable with so few seeds",
}
_QUOTED = 8
"""So many rows are quoted; more are told by their ids, since their statements are listed below."""
_KINDS = (("document", False), ("corrected", False), ("document", True), ("corrected", True))


def meaning(study: StudyVerdicts) -> str:
    """By theorem: what is supported of the document's statements, what is not, what stays open.

    Corrected statements follow the document's own; certificates, which are checked exactly, are
    told apart from what is judged over seeds. A quick run is no evidence, and means nothing.
    """
    rows = [verdict for verdict in study.verdicts if verdict.primary]
    if not rows:
        return "No claim of this study is judged."
    theorems = list(dict.fromkeys(verdict.theorem for verdict in rows))
    if not study.evidence:
        return (
            "A quick run is no evidence: its seeds and budgets are cut to see that everything "
            f"runs, and it says nothing for or against {listed(map(name_theorem, theorems))}."
        )
    told = []
    if study.exploratory and any(verdict.kind != "exact" for verdict in rows):
        told.append(
            f"These runs are exploratory ({study.exploratory}): no claim about seeds is judged."
        )
        told += outcomes(rows, certificates_only=True)
    else:
        told += outcomes(rows)
    return " ".join(told)


def outcomes(rows: Sequence[Verdict], *, certificates_only: bool = False) -> list[str]:
    """By theorem, in sentences: what holds of its judged rows, what does not, what stays open."""
    told = []
    for theorem in dict.fromkeys(verdict.theorem for verdict in rows):
        about = [verdict for verdict in rows if verdict.theorem == theorem]
        told.append(_outcome(theorem, [one for one in about if one.source == "document"]))
        for source, exact in _KINDS:
            group = [v for v in about if (v.source, v.kind == "exact") == (source, exact)]
            if group and (exact or not certificates_only):
                told.append(_group(group, quoted=len(rows) <= _QUOTED))
    if any(verdict.kind == "exact" for verdict in rows):
        told.append("A certificate is exact: its worst case decides, whatever training finds.")
    return told


def name_theorem(label: str) -> str:
    """The printed name of a label: ``thm:info-loss`` is Theorem info-loss."""
    kind, _, name = label.partition(":")
    return f"{_LABELS.get(kind, kind)} {name}"


def _outcome(theorem: str, document: Sequence[Verdict]) -> str:
    """What became of the document's own statements on a theorem, all taken together."""
    name, words = name_theorem(theorem), {verdict.verdict for verdict in document}
    if not document:
        return f"{name} is tested in corrected statements only."
    decided = [word for word in ("supported", "refuted") if word in words]
    if not decided:
        return f"Of what the document says on {name}, nothing is decided here."
    rest = "; the rest stays open" if words - set(decided) else ""
    if len(decided) == 2:
        return f"Of what the document says on {name}, part is supported and part refuted{rest}."
    if rest:
        return f"Of what the document says on {name}, all that is decided is {decided[0]}{rest}."
    return f"What the document says on {name} is {decided[0]} wherever it was tested."


def _group(rows: Sequence[Verdict], *, quoted: bool) -> str:
    """How many statements of one source and kind came out how, and which."""
    found: dict[str, list[Verdict]] = {}
    for row in rows:
        word = row.verdict or ("withheld" if row.withheld else "not judged")
        found.setdefault(word, []).append(row)
    words = [word for word in (*WORDS, "withheld", "not judged") if word in found]
    both = len(rows) == 2 and len(words) == 1
    number = "" if both else f"{count(len(rows))} "
    noun = "statement" if len(rows) == 1 else "statements"
    document, exact = rows[0].source == "document", rows[0].kind == "exact"
    whose = f"the document's {number}{noun}" if document else f"the {number}corrected {noun}"
    seeds = " or ".join(count(n) for n in sorted({row.n for row in rows}))
    whose += " checked by certificate" if exact else f" judged over {seeds} seeds"
    if len(words) == 1:
        head = f"{'Both' if both else 'All'} of {whose} are"
        if len(rows) == 1:
            head = f"{capital(whose)} is"
        which = f": {_quoted(rows)}" if quoted else f" ({_ids(rows)})"
        return f"{head} {_SINCE.get(words[0], words[0])}{which}."
    if not quoted:
        counts = [f"{count(len(found[word]))} {word} ({_ids(found[word])})" for word in words]
        return f"Of {whose}, {listed(counts)}."
    counts = [f"{count(len(found[word]))} {_are(len(found[word]))} {word}" for word in words]
    lists = [f"{capital(_SINCE.get(word, word))}: {_quoted(found[word])}." for word in words]
    return " ".join((f"Of {whose}, {listed(counts)}.", *lists))


def _quoted(rows: Sequence[Verdict]) -> str:
    """Statements with their ids, and with the reason where one is withheld or open."""
    return "; ".join(f"“{row.statement.removesuffix('.')}” ({_reasoned(row)})" for row in rows)


def _ids(rows: Sequence[Verdict]) -> str:
    """Ids, and the reason where a row is withheld or open."""
    told = [_reasoned(row) for row in rows]
    return ("; " if any(";" in one for one in told) else ", ").join(told)


def _reasoned(row: Verdict) -> str:
    decided = row.verdict in ("supported", "refuted")
    reasons = [] if decided else [row.withheld, *row.notes]
    return "; ".join(filter(None, (row.id.removeprefix("exp"), *reasons)))


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def count(number: int) -> str:
    """A small number in a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def capital(text: str) -> str:
    """A text as a sentence begins with it."""
    return text[:1].upper() + text[1:]


def listed(parts: Iterable[str]) -> str:
    """One, two and three."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
