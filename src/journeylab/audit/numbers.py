"""Numbers in text: their value, the step of their last digit, and what their surroundings say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal, NamedTuple

from journeylab.audit.script import OBJECT, UNIT

_RAISED = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹−", "-+0123456789-")


def _power(mark: str) -> str:
    """A power of ten; `mark` ends the names of its groups."""
    return (
        rf"10(?:\s*\^\s*(?:\{{\s*(?P<power{mark}>[-−+]?\s*\d+)\s*\}}|(?P<digit{mark}>\d))"
        rf"|(?P<raised{mark}>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))"
    )


_NUMBER = re.compile(
    rf"""(?<![\w.^\\])(?:
      (?P<alone>{_power("_alone")})
      | (?:(?P<whole>\d{{1,3}}(?:[,\u202f\u00a0]\d{{3}})+(?![\d,])|\d+)
           (?P<fraction>\.\d+|(?<=\b0),\d{{1,2}}(?!\d))?
         |(?P<bare>\.\d+))
        (?:\s*[×·]\s*{_power("")}|[eEdD](?P<exponent>[-−+]?\d+))?
    )(?![\w^])(?!\.\d)""",
    re.VERBOSE,
)
_POWERS = ("power", "digit", "raised", "exponent", "power_alone", "digit_alone", "raised_alone")
_PERCENT = re.compile(r"[\s\u202f\u00a0-]*(?:%|percent(?:age)?\b|per cent\b)")
_TO_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen
fourteen fifteen sixteen seventeen eighteen nineteen twenty"""
WORDS = {word: n for n, word in enumerate(_TO_TWENTY.split())}
WORDS |= {"thirty": 30, "forty": 40, "fifty": 50, "hundred": 100}
"""Numbers that are read as words, before “seeds”, “cases” or “failures” only."""
_WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"[\s\u00a0]+(?:(?:random|new|further|independent|training|paired|of the)[\s\u00a0]+)?"
    r"(?P<noun>seeds?|cases?|failures?|failed)\b"
)
_NUMBERED = re.compile(
    r"\b(?:sections?|secs?\.?|§|figures?|figs?\.?|tables?|tabs?\.?|equations?|eqs?\.?|theorems?|lemmas?|"
    r"propositions?|chapters?|appendix|pages?|pp?\.|steps?|algorithms?|lines?|versions?|python|pytorch|"
    r"release|revision|arxiv|doi|no\.|item|row|seed|claims?|look|tier|exp)[\s\u00a0(:≥=]*$",
    re.IGNORECASE,
)
_UNITS = re.compile(
    rf"[\s\u00a0\u202f-]*(?:{UNIT}|(?:mm|cm|m|km|pt|em|ex|px|dpi|ns|µs|μs|us|ms|s|sec|seconds?|min|"
    r"minutes?|h|hours?|days?|weeks?|[kKMGT]i?B|bytes?|bits?|k?Hz|MHz|GHz|W|kW|"
    r"CPU[- ](?:seconds?|minutes?|hours?)|FLOPs?|parameters|characters)\b)"
)
_LEVEL = re.compile(
    r"[\s\u00a0-]*(?:%\s*)?(?:confidence|credible|level|significance|CI\b)", re.IGNORECASE
)
_BOUND = re.compile(
    r"(?P<below><|≤|\b(?:below|under|at most|less than|lower than|smaller than|up to|within|"
    r"no more than))"
    r"|(?P<above>>|≥|\b(?:above|over|at least|more than|greater than|larger than|exceeds?))",
)
_ROUGHLY = re.compile(
    r"(?:≈|∼|~|\b(?:about|around|roughly|approximately|nearly|almost|some))[\s\u00a0$]*$"
)


class Number(NamedTuple):
    """A number in a sentence.

    ``step`` is one unit of its last digit. A percentage has the value of its share. ``kind`` is
    ``result`` if it is written as a measured value (a fraction, an exponent or a percentage),
    ``count`` before “seeds” or “cases”, ``quantity`` with a unit, and else ``other``: a whole
    number, a level of confidence, a section, a version. ``bound`` is -1 after “below” and 1 after
    “above”. ``signed`` is whether a sign is written.
    """

    value: Decimal
    step: Decimal
    text: str
    start: int
    end: int
    kind: Literal["result", "count", "quantity", "other"]
    noun: str = ""
    signed: bool = False
    bound: int = 0
    roughly: bool = False

    def equals(self, known: float | int, *, unsigned: bool = False) -> bool:
        """Whether a known number has this printed form, rounded to the digits that are written."""
        exact = Decimal(repr(known))
        if unsigned:
            exact = abs(exact)
        slack = min(self.step, abs(self.value) / 2) if self.roughly else self.step / 2
        return abs(exact - self.value) <= slack * Decimal("1.000001")


def find_numbers(text: str) -> Iterator[Number]:
    """The numbers of a text from left to right, dates and parts of names left out."""
    for match in _NUMBER.finditer(text):
        if _is_part(text, match):
            continue
        yield _number(text, match)
    for match in _WORD.finditer(text):
        counted = _COUNTED.match(text, match.end())
        if counted:
            value = Decimal(WORDS[match[0].lower()])
            noun = counted["noun"].rstrip("s")
            yield Number(value, Decimal(1), match[0], *match.span(), "count", noun)


def _is_part(text: str, match: re.Match[str]) -> bool:
    """Whether digits are part of a name, an index, a date or a larger expression."""
    before, after = text[: match.start()], text[match.end() :]
    if len(_written_power(match).lstrip("-+0")) > 3:
        return True  # 12e3456789, an identifier
    if before[-1:] in ("-", "−") and re.search(r"[A-Za-z_][-−]$", before):
        return True  # GPT-2
    if re.search(r"[\^_]\{?\s*[-−+]?\s*$", before) or after[:1] == "_":
        return True
    date = r"\d{4}-\d\d-\d\d"
    nearby = text[max(0, match.start() - 10) : match.end() + 10]
    if any(match[0] in written[0] for written in re.finditer(date, nearby)):
        return True
    return bool(re.match(r"-[A-Za-z]", after)) or bool(re.search(r"[/:@#]$", before))


def _written_power(match: re.Match[str]) -> str:
    power = next((match[name] for name in _POWERS if match[name]), "0")
    return re.sub(r"\s", "", power.translate(_RAISED))


def _number(text: str, match: re.Match[str]) -> Number:
    whole = re.sub(r"\D", "", match["whole"] or "") or "0"
    fraction = (match["fraction"] or match["bare"] or "").replace(",", ".")
    scale = Decimal(1).scaleb(int(_written_power(match)))
    mantissa = Decimal(1) if match["alone"] else Decimal(whole + fraction)
    step = Decimal(1).scaleb(-max(0, len(fraction) - 1)) * scale
    before, end = text[: match.start()], match.end()
    signed, negative, opening = _sign(before)
    value = -mantissa * scale if negative else mantissa * scale
    kind: Literal["result", "count", "quantity", "other"] = "other"
    noun = ""
    percent = _PERCENT.match(text, end)
    is_written_as_result = bool(fraction) or scale != 1 or percent is not None
    if percent:
        value, step, end = value / 100, step / 100, percent.end()
    if counted := _COUNTED.match(text, end):
        kind, noun = "count", counted["noun"].rstrip("s")
    elif _LEVEL.match(text, end) or _NUMBERED.search(before):
        kind = "other"
    elif _UNITS.match(text, end) and not percent:
        kind = "quantity"
    elif is_written_as_result:
        kind = "result"
    bounds = list(_BOUND.finditer(before[-24:]))
    last = bounds[-1] if bounds else None
    near = last is not None and not re.search(rf"[.,;]|\d|{OBJECT}", before[-24:][last.end() :])
    return Number(
        value=value,
        step=step,
        text=text[opening:end].strip(),
        start=opening,
        end=end,
        kind=kind,
        noun=noun,
        signed=signed,
        bound=0 if last is None or not near else -1 if last["below"] else 1,
        roughly=bool(_ROUGHLY.search(text[:opening])),
    )


def _sign(before: str) -> tuple[bool, bool, int]:
    """Whether a sign stands before a number, whether it is a minus, and where the number starts.

    A dash between two numbers is a range, and ± is no sign.
    """
    sign = re.search(r"([-−–+])[\s\u202f$]*$", before)
    if not sign:
        return False, False, len(before)
    earlier = before[: sign.start()].rstrip(" \u202f\u00a0$")
    if re.search(rf"[\d%+)}}{OBJECT}]$", earlier):
        return False, False, len(before)
    return True, sign[1] != "+", sign.start()
