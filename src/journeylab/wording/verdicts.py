"""Verdicts in sentences; plain text with true minus signs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from journeylab.records.verdicts import WORDS, Earlier, ScopePoint, StudyVerdicts, Verdict
from journeylab.wording.numbers import places, printed_numbers
from journeylab.wording.rows import COARSE, SATURATED, Row, StudyRows
from journeylab.wording.typography import plain, short

Key = TypeVar("Key")
Value = TypeVar("Value")
UNFOUND = {
    "no counterexample found": "no counterexample was found",
    "not found": "no example was found",
}
"""What a search says that found nothing, and as a clause."""
SYMBOLS = {
    **{"supported": "✓", "refuted": "✗", "depends": "↔", "inconclusive": "∼", "undecidable": "?"},
    **dict.fromkeys((*UNFOUND, "not reproduced"), "○"),
    **{"holds": "✓", "fails": "✗"},
}
OUTCOMES = (
    *("supported", "no counterexample found", "refuted", "not found", "not reproduced"),
    *(word for word in WORDS if word not in ("supported", "refuted")),
    *("withheld", "not judged", "exploratory"),
)
"""The verdicts in the words of their forms, and then the words that stand where there is none."""

_NUMBERS = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_OPENINGS = {
    "depends": "It depends",
    "inconclusive": "Undecided by these data",
    "undecidable": "Cannot be decided with so few seeds",
}


# ---- one verdict ---------------------------------------------------------------------------------


def source_letter(row: Row) -> str:
    """D for a claim as the document states it, C for a corrected one."""
    return "D" if row.source == "document" else "C"


def tag(word: str | None) -> str:
    """A verdict's word behind its symbol; empty for None."""
    return f"{SYMBOLS.get(word or '', '')} {word or ''}".strip()


def opening(verdict: Row) -> str:
    """The verdict as the beginning of a sentence."""
    if not verdict.primary:
        return "Secondary, not judged"
    return _OPENINGS.get(verdict.word, capital(verdict.word))


def sentence(verdict: Row) -> str:
    """The claim with the numbers of its verdict in brackets; goes behind :func:`opening`."""
    claimed = f", claimed {verdict.region_text}" if verdict.region_text else ""
    if verdict.kind == "exact":
        extreme = "is not finite" if verdict.effect is None else short(verdict.effect)
        numbers = f"{verdict.effect_text} {extreme} over {verdict.n} cases{claimed}"
    elif verdict.scope:
        numbers = f"{scope_text(verdict)}{claimed}, up to {verdict.n} seeds"
    elif verdict.effect is None:
        numbers = f"no single number{claimed}, {verdict.n} seeds"
    else:
        name = "share of solving seeds" if verdict.solves else "median effect"
        if verdict.parts:
            name = f"{'worst' if verdict.kind == 'all_of' else 'best'} part's {name}"
        rounding = 1e-12 * max(abs(verdict.low or 0), abs(verdict.high or 0))
        effect = short(0.0 if abs(verdict.effect) < rounding else verdict.effect)
        numbers = f"{name} {effect}, interval {_interval(verdict)}{claimed}, {verdict.n} seeds"
    if verdict.failures and verdict.kind != "exact":
        numbers += f", {verdict.failures} failed"
    ending = "".join(f"; {note}" for note in remarks(verdict))
    return f"{verdict.statement.removesuffix('.')} ({numbers}{ending})."


def searched(row: Row) -> str:
    """What was tried, where the word says that it was in vain; else nothing."""
    if row.word not in (*UNFOUND, "not reproduced"):
        return ""
    number = f"{plain(row.n)} {'cases' if row.kind == 'exact' else 'seeds'}" if row.n > 1 else ""
    return ", ".join(filter(None, (measured_text(row), number)))


def scope_text(row: Verdict) -> str:
    """Where a row with a scope holds: “supported from length 24 on, refuted at length 8”.

    Of a verdict that depends, what every point says; of an open one, the points without an answer.
    """
    if row.verdict in ("supported", "refuted"):
        return f"{row.verdict} at all {len(row.scope)} points of its scope"
    groups = grouped((point.word, point) for point in row.scope)
    words = sorted(groups, key=lambda word: OUTCOMES.index(word))
    if row.verdict != "depends":
        words = [word for word in words if word not in ("supported", "refuted")]
        named = {word: "open" if word == "inconclusive" else word for word in words}
        return "; ".join(f"{named[word]} at {_where(groups[word])}" for word in words)
    return ", ".join(
        f"{word} {_boundary(row, groups[word]) or f'at {_where(groups[word])}'}" for word in words
    )


def _where(points: Sequence[ScopePoint]) -> str:
    return listed(point.label for point in points)


def _boundary(row: Verdict, points: Sequence[ScopePoint]) -> str:
    """“from length 24 on” for several points at the upper end of a scope's only axis of numbers."""
    [axis, *more] = row.scope[0].at
    levels = [point.at[axis] for point in row.scope]
    try:
        numbers = [float(level) for level in levels]
    except ValueError:
        return ""
    here = {point.at[axis] for point in points}
    if more or numbers != sorted(numbers) or len(here) < 2:
        return ""
    if here == set(levels[-len(here) :]):
        return f"from {axis} {levels[-len(here)]} on"
    return f"up to {axis} {levels[len(here) - 1]}" if here == set(levels[: len(here)]) else ""


def remarks(row: Row) -> list[str]:
    """Why a row is withheld, and the judge's notes on it."""
    return [*([row.withheld] if row.withheld else []), *row.notes]


def seed_numbers(study: StudyVerdicts, rows: Sequence[Verdict] = ()) -> str:
    """The number of seeds of a study, or of some of its rows: “12”, or “12 to 36”."""
    over = [row.n for row in rows or study.verdicts if row.k is not None] if study.looks else []
    return " to ".join(map(plain, sorted({min(over), max(over)} if over else {study.seeds})))


def measured_text(row: Row) -> str:
    """What was measured: the effect, then its metric unless the effect names it."""
    if row.kind == "exact":
        return row.effect_text
    if row.parts:
        return row.metric_label
    metric = "" if row.metric_label in row.effect_text else row.metric_label
    return "; ".join(filter(None, (row.effect_text, metric)))


def earlier_text(row: Earlier, now: Row | None = None) -> str:
    """What an earlier revision concluded on a row: verdict, effect and interval.

    The verdict is in the words of the row that continues it ``now``.
    """
    word = now.in_form(row.verdict) if now else row.verdict
    word = word or ("withheld" if row.withheld else "no verdict")
    effect = "no finite value" if row.effect is None else short(row.effect)
    if row.low is None and row.high is None:
        return f"{word}, {effect}"
    return f"{word}, {effect} in {_interval(row)}"


def _interval(row: Row | Earlier) -> str:
    low = "−∞" if row.low is None else short(row.low)
    return f"[{low}, {'∞' if row.high is None else short(row.high)}]"


def explanation(row: Row, study: StudyRows) -> Iterator[str]:
    """The claim, its numbers and its verdict, line by line, for a terminal."""
    source = "stated by the document" if row.source == "document" else "corrected statement"
    name = row.about.name
    label = f", {row.theorem}" if name != row.theorem else ""
    form = f" as {row.form}" * bool(row.form) + f", by {row.evidence}" * bool(row.evidence)
    yield f"{row.id} · {name}{label} · {source}, {'judged' if row.primary else 'secondary'}{form}"
    yield row.statement
    if row.cites:
        yield f"  document: {row.cites}"
    yield f"  measured: {measured_text(row)}"
    yield f"  claimed:  {row.region_text or 'no region'}"
    if row.kind == "exact":
        failed = f"; {row.failures} of them are not finite" if row.failures else ""
        cases = f" of {plain(row.n)} cases{failed}" if row.n else ""
        yield f"  extreme value: {plain(row.effect)}{cases}"
    else:
        yield from _estimate_lines(row)
    yield f"  verdict: {row.word}" + (f"; tried: {tried}" if (tried := searched(row)) else "")
    where = scope_text(row) if row.scope else ""
    for note in filter(None, (where, row.withheld, study.exploratory, *row.notes)):
        yield f"    {note}"


def _estimate_lines(row: Row) -> Iterator[str]:
    """The numbers of a claim over seeds, for a terminal."""
    digits = places([row])
    printed = printed_numbers(row, digits)
    interval = f", interval {printed['interval']}" if printed["interval"] else ""
    solves = row.solves
    yield f"  {'solving share:' if solves else 'median effect:'} {printed['effect']}{interval}"
    yield f"  mean:          {printed['mean']}"
    failed = f", {row.failures} failed" if row.failures else ""
    yield f"  seeds:         {plain(row.n)}{failed}"
    if row.k:
        kind = f"the interval reaches from ordered difference {row.k} to {row.n + 1 - row.k}"
        kind = "the Clopper–Pearson interval is compared with ½" if solves else kind
        wrong = "each comparison" if solves else "each end"
        yield (
            f"  test: {kind}; {wrong} is wrong with probability at most {plain(row.tail, 2)}"
            + (" at all looks together" if row.state else "")
        )
    if row.detectable is not None:
        ending = "as probability that a seed solves it" if solves else "from the margin"
        yield f"  detectable:    {plain(row.detectable, 2)} {ending}"
    for point in row.scope:
        cells = printed_numbers(point, digits)
        seeds = f"{point.n} seeds, {point.word}"
        yield f"  at {point.label}: {cells['effect']} {cells['interval']}, {seeds}"
    for part in row.parts:
        cells = printed_numbers(part, digits)
        yield f"  part {part.effect_text}: {cells['effect']} {cells['interval']}"


# ---- many verdicts -------------------------------------------------------------------------------


def tally(words: Sequence[str | None]) -> tuple[tuple[str, int], ...]:
    """How often each outcome occurs, in the order of outcomes, without those that do not."""
    return tuple((word, words.count(word)) for word in OUTCOMES if word in words)


def headline(verdicts: Sequence[Row]) -> str:
    """How many claims have which verdict, in one sentence."""
    words = [v.word for v in verdicts if v.verdict is not None]
    if not words:
        return "No claim was judged."
    texts = [_which_are(str(n), n, word) for word, n in tally(words)]
    claims = "claim" if len(words) == 1 else "claims"
    withheld = sum(bool(v.withheld) for v in verdicts)
    ending = f"; {withheld} {_are(withheld)} withheld" if withheld else ""
    return f"Of {len(words)} judged {claims}, {listed(texts)}{ending}."


def findings(rows: Sequence[Row], *, ids: bool = False) -> list[str]:
    """The outcomes of rows in sentences, a theorem at a time, and then what limits them.

    Claims of the document come before corrected ones. ``ids`` names the rows of every outcome.
    """
    sentences = []
    by_theorem = grouped((row.theorem, row) for row in rows)
    for about in by_theorem.values():
        document = [row for row in about if row.source == "document"]
        corrected = [row for row in about if row.source == "corrected"]
        texts = [_outcomes_text(of, ids=ids) for of in (document, corrected) if of]
        text = f"{'; '.join(texts)}."
        alone = len(by_theorem) == 1
        sentences.append(capital(text) if alone else f"{about[0].about.name}: {text}")
    return sentences + _limits(rows)


def _outcomes_text(rows: Sequence[Row], *, ids: bool) -> str:
    """How many claims of one source have which outcome."""
    groups = grouped((row.outcome, row.id.removeprefix("exp")) for row in rows)
    names = {word: f" ({', '.join(of)})" if ids else "" for word, of in groups.items()}
    number, document = len(rows), rows[0].source == "document"
    if len(groups) == 1:
        [word] = groups
        whole = "the document's claim" if document else "the corrected claim"
        if number > 1:
            every = "both" if number == 2 else f"all {count(number)}"
            whole = f"{every} of the document's claims" if document else f"{every} corrected claims"
        return f"{_which_are(whole, number, word)}{names[word]}"
    texts = [
        f"{_which_are(count(len(groups[word])), len(groups[word]), word)}{names[word]}"
        for word in OUTCOMES
        if word in groups
    ]
    whose = f"the document's {count(number)}" if document else f"{count(number)} corrected"
    return f"of {whose} claims, {listed(texts)}"


def _limits(rows: Sequence[Row]) -> list[str]:
    """Why rows have no verdict or are not decided, reason by reason."""
    reasons = grouped(
        ((row.word, reason), row.id.removeprefix("exp"))
        for row in rows
        if row.verdict not in ("supported", "refuted")
        for reason in remarks(row)
        if reason != COARSE
    )
    return [
        f"In {listed(names)}, {reason}."
        if reason.startswith(SATURATED)
        else f"{listed(names)} {_are(len(names))} {word}: {reason}."
        for (word, reason), names in reasons.items()
    ]


def meaning(study: StudyRows) -> str:
    """What was found, in a paragraph; a quick run is no evidence and finds nothing."""
    rows = study.judged
    if not rows:
        return "No claim of this study is judged."
    if not study.evidence:
        return (
            "Nothing yet: a quick run cuts seeds and budgets to check that everything runs, and is "
            "no evidence for or against any claim."
        )
    exact = [row for row in rows if row.kind == "exact"]
    if study.exploratory and len(exact) < len(rows):
        first = f"These runs are exploratory ({study.exploratory}): no claim about seeds is judged."
        return " ".join((first, *findings(exact)))
    return " ".join(findings(rows))


def certainty(study: StudyRows, *, failed: int, trained: int) -> str:
    """How sure the verdicts are: seeds, error probability, certificates, registration, failures.

    ``failed`` of ``trained`` seeds have no result.
    """
    if not study.evidence:
        seeds = f"{study.seeds} {'seeds' if study.seeds > 1 else 'seed'}"
        return f"Not at all: this is a quick run of {seeds}, with cut budgets."
    judged = [row for row in study.judged if row.verdict is not None]
    exact = [row for row in judged if row.kind == "exact"]
    over_seeds = [row for row in judged if row.kind != "exact"]
    rows = [row for row in over_seeds if not row.is_exploratory]
    texts = []
    if rows:
        texts.append(
            f"claims over seeds rest on {seed_numbers(study, rows)} seeds each; the probability "
            "that any verdict of this study is wrong about the population median in its setting "
            f"is at most {study.alpha}"
        )
    if exact:
        some = "one claim is" if len(exact) == 1 else f"{count(len(exact))} claims are"
        these = "every claim is" if len(exact) == len(judged) else some
        texts.append(f"{these} exact: the worst of all cases decides, not chance")
    if known := [row for row in judged if row.registration]:
        texts.append(_registered_text(known))
    if failed:
        texts.append(
            f"{failed} of {plain(trained)} trained seeds failed and count against both answers"
        )
    return " ".join(f"{capital(text)}." for text in texts) or "No claim is judged."


def _registered_text(rows: Sequence[Row]) -> str:
    """How many rows were registered before their runs, and which were not."""
    late = [row.id.removeprefix("exp") for row in rows if row.is_exploratory]
    if not late:
        return "all claims were registered before the runs"
    if len(late) == len(rows):
        return "no claim was registered before its runs: all verdicts are exploratory"
    before = len(rows) - len(late)
    return (
        f"{count(before)} of {count(len(rows))} claims were registered before their runs; "
        f"{listed(late)} {_are(len(late))} exploratory"
    )


def checks_text(rows: Iterable[Row]) -> str:
    """The checks of code among rows, which no count has, in a sentence; "" without any."""
    names = grouped((row.word, row.id.removeprefix("exp")) for row in rows if row.is_check)
    texts = [
        f"{listed(ids)} {word.removesuffix('s') if len(ids) > 1 else word}"
        if word in ("holds", "fails")
        else f"{listed(ids)} {_are(len(ids))} {word}"
        for word, ids in names.items()
    ]
    return f"Checks of code, in no count: {'; '.join(texts)}." if texts else ""


def registration_lines(study: StudyRows) -> list[str]:
    """The registration of all judged rows, grouped by what it says."""
    groups = grouped(
        (row.registration.text, row.id.removeprefix("exp"))
        for row in study.verdicts
        if row.verdict is not None and row.registration
    )
    if len(groups) == 1:
        (text,) = groups
        return [f"All judged claims: {text}."]
    return [f"{', '.join(names)}: {text}." for text, names in groups.items()]


# ---- words ---------------------------------------------------------------------------------------


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, in their order."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def count(number: int) -> str:
    """A small number in a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def capital(text: str) -> str:
    """A text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def listed(parts: Iterable[str]) -> str:
    """Parts as an enumeration: “a, b and c”."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def _which_are(which: str, number: int, word: str) -> str:
    """“Two are refuted”; “in two no counterexample was found”."""
    return f"in {which} {UNFOUND[word]}" if word in UNFOUND else f"{which} {_are(number)} {word}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
