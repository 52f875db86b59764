"""The audit of a manuscript: every number, verdict word, macro and included file."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from journeylab.audit.beside import Beside, check_number
from journeylab.audit.findings import Finding, Kind, closest
from journeylab.audit.known import ALL, Known
from journeylab.audit.latex import read_latex
from journeylab.audit.numbers import find_numbers
from journeylab.audit.pictures import check_included
from journeylab.audit.prose import read_answers, read_markdown
from journeylab.audit.script import BREAK, Mark, Sentence, Source
from journeylab.audit.words import Spoken, polarity, spoken_words
from journeylab.config import UserError
from journeylab.typography import plain

_CLAIM = re.compile(r"\bexp\d+\.s?\d+\b(?!\.\w)")
_KEY = re.compile(r"(exp\d+)\.(?:(s?\d+)\.(?:(\d+)\.)?)?([A-Za-z_][\w.-]*)")
DECIDED = ("supported", "refuted")
_REFERS_BACK = re.compile(
    r"\s*(?:It|Its|This|That|These|They|Their|Here|The (?:median |measured |observed )?"
    r"(?:effect|gain|loss|drop|interval|median|difference|verdict|claim|result|error|accuracy))\b"
)


class Audited(NamedTuple):
    """The findings in one file, in order, and how many of its numbers are of each sort."""

    path: Path
    findings: list[Finding]
    counts: Counter[str]


def audit_files(paths: Iterable[Path], known: Known) -> list[Audited]:
    """Audit LaTeX manuscripts, responses (``.yaml``) and Markdown files.

    Raises UserError for a file that cannot be read, or of another sort.
    """
    return [_audit(path, known) for path in paths]


def _audit(path: Path, known: Known) -> Audited:
    reported: list[Finding] = []
    counts: Counter[str] = Counter()
    sources: list[Source]
    if path.suffix == ".tex":
        latex = read_latex(path)
        scripts, sources = [latex.script], latex.sources
        for include in latex.includes:
            reported += check_included(include, path.parent, known)
    elif path.suffix in (".yaml", ".yml"):
        scripts, source = read_answers(path)
        sources = [source]
    elif path.suffix == ".md":
        script, source = read_markdown(path)
        scripts, sources = [script], [source]
    else:
        raise UserError(f"{path}: an audit reads .tex, .md and response.yaml")
    for script in scripts:
        before: list[tuple[int, str]] = []
        for sentence in script.sentences():
            mentions = _mentions(sentence, known)
            reported += _macros(sentence, known, counts)
            reported += _sentence(sentence, mentions, before, known, counts)
            ended = sentence.text.endswith(BREAK) or re.search(r"\n[ \t]*\n\s*$", sentence.text)
            before = [] if ended else mentions or before
    exempt = {(str(source.path), line) for source in sources for line in source.exempt}
    kept = [each for each in dict.fromkeys(reported) if (each.file, each.line) not in exempt]
    order = {str(source.path): i for i, source in enumerate(sources)}
    kept.sort(key=lambda each: (order.get(each.file, 0), each.line, each.column))
    return Audited(path, kept, counts)


def _mentions(sentence: Sentence, known: Known) -> list[tuple[int, str]]:
    """The claims and theorems that a sentence mentions, from left to right."""
    mentions = [(at, name) for at, mark in sentence.marks.items() if (name := _named(mark, known))]
    for match in _CLAIM.finditer(sentence.text):
        if match[0] in known.register.by_id:
            mentions.append((match.start(), match[0]))
    for label in known.by_theorem:
        for match in re.finditer(rf"(?<![\w:-]){re.escape(label)}(?![\w-])", sentence.text):
            mentions.append((match.start(), label))
    return sorted(mentions)


def _macros(sentence: Sentence, known: Known, counts: Counter[str]) -> Iterator[Finding]:
    """Macros and ids of claims that do not exist."""
    for index, mark in sorted(sentence.marks.items()):
        counts["macros"] += mark.kind != "reference"
        if problem := _macro(mark, known):
            yield _finding(sentence, index, *problem)
    for match in _CLAIM.finditer(sentence.text):
        if match[0] not in known.register.by_id:
            hint = closest(match[0], known.register.by_id)
            yield _finding(
                sentence, match.start(), "macro", f"{match[0]}: there is no such claim{hint}"
            )


def _sentence(
    sentence: Sentence,
    mentions: Sequence[tuple[int, str]],
    before: Sequence[tuple[int, str]],
    known: Known,
    counts: Counter[str],
) -> Iterator[Finding]:
    """The numbers and verdict words of a sentence.

    Without a mention of its own, a sentence that begins with “It” or “Its effect” speaks of those
    `before` it, as do all answers of a response of the claims of their point. Of the numbers of
    another sentence, only those that equal one of the claims before are attributed to them.
    """
    carried = [(0, name) for _, name in before]
    usual = [(0, name) for name in sentence.script.beside]
    named = list(mentions) or (carried if _REFERS_BACK.match(sentence.text) else []) or usual
    beside, earlier = Beside.of(known, named), Beside.of(known, carried)
    for number in find_numbers(sentence.text):
        context = beside if named or not earlier.has(number, sentence.text) else earlier
        kind, text = check_number(number, sentence.text, context, known)
        counts[kind] += 1
        if kind != "set" and kind != "other" and text:
            yield _finding(sentence, number.start, kind, text)
    shown = {mark.name for mark in sentence.marks.values()}
    for spoken in spoken_words(sentence.text, [at for at, _ in named]) if named else ():
        for name in dict.fromkeys(named[i][1] for i in spoken.mentions):
            text = _disagreement(spoken, name, known)
            if text and f"{name}.verdict" not in shown:
                said = f"not {spoken.text}" if spoken.negated else spoken.text
                what: Kind = "unchecked" if text.startswith("no numbers") else "verdict"
                yield _finding(sentence, spoken.start, what, f"“{said}” beside {name}: {text}")


def _finding(sentence: Sentence, index: int, kind: Kind, text: str) -> Finding:
    source, offset = sentence.origin(index)
    return Finding(str(source.path), source.line(offset), source.column(offset), kind, text)


def _disagreement(spoken: Spoken, name: str, known: Known) -> str:
    """How a word disagrees with the verdicts of a claim, a study or a theorem; "" if it agrees."""
    claims = known.claims_of(name)
    verdicts = {claim: known.verdict(claim) for claim in claims}
    given = {claim: word for claim, word in verdicts.items() if word is not None}
    if not given:
        return f"no numbers of {name.partition('.')[0]} are known here"
    agreeing = [
        claim
        for claim, word in given.items()
        if _agrees(spoken, word, known.row(claim).statement or "")
    ]
    if agreeing:  # of a theorem some claims may be decided otherwise
        return ""
    words = Counter("not judged" if word is None else word for word in given.values())
    if len(given) == 1:
        [(claim, word)] = given.items()
        primary = known.row(claim).primary
        return (
            f"its verdict is {word}"
            if word in DECIDED or primary
            else "it is secondary and not judged"
        )
    return "its verdicts are " + ", ".join(f"{n} {word}" for word, n in words.items())


def _agrees(spoken: Spoken, verdict: str, statement: str) -> bool:
    if spoken.says in ("positive", "negative"):
        if verdict not in DECIDED:
            return False
        said = (1 if spoken.says == "positive" else -1) * (-1 if spoken.negated else 1)
        return (said == polarity(statement, spoken.subject)) == (verdict == "supported")
    if spoken.says == "withheld":
        return (verdict in ("withheld", "not judged")) != spoken.negated
    return (verdict == spoken.says) != spoken.negated


def _macro(mark: Mark, known: Known) -> tuple[Kind, str] | None:
    """What is wrong with the key of a macro."""
    if mark.kind == "reference":
        return None
    macro = f"\\{mark.kind}{{{mark.name}}}"
    if mark.name in known.numbers:
        value = known.numbers[mark.name]
        if mark.kind == "rawresult" and not isinstance(value, int | float):
            return "macro", f"{macro}: is no finite number; \\result prints {plain(value)}"
        return None
    parts = _KEY.fullmatch(mark.name)
    study = parts[1] if parts else mark.name.partition(".")[0]
    if study in known.drawn:
        hint = closest(mark.name, known.numbers)
        return "macro", f"{macro}: {known.drawn[study]} has no such number{hint}"
    if study not in known.register.studies:
        hint = closest(study, known.register.studies)
        return "macro", f"{macro}: there is no study {study!r}{hint}"
    if parts and parts[2]:
        claim = f"{study}.{parts[2]}"
        if claim not in known.register.by_id:
            hint = closest(claim, known.register.by_id)
            return "macro", f"{macro}: there is no claim {claim}{hint}"
        if parts[4] not in ALL:
            close = difflib.get_close_matches(parts[4], ALL, n=1)
            hint = f"; did you mean .{close[0]}?" if close else f"; there are: {', '.join(ALL)}"
            return "macro", f"{macro}: a claim has no number {parts[4]!r}{hint}"
    return "unchecked", f"{macro}: no report of {study} is drawn here"


def _named(mark: Mark, known: Known) -> str:
    """The claim or theorem that a mark names; "" if none."""
    if mark.kind == "reference":
        return mark.name if mark.name in known.by_theorem else ""
    parts = _KEY.fullmatch(mark.name)
    claim = f"{parts[1]}.{parts[2]}" if parts and parts[2] else ""
    return claim if claim in known.register.by_id else ""
