"""A number in a sentence, held against the numbers of the claims that the sentence mentions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from journeylab.audit.known import CONVENTIONS, Known
from journeylab.audit.numbers import Number
from journeylab.typography import plain

_DOWN = re.compile(
    r"\b(?:drop|fall|fell|decreas|declin|lower|less|below|worse|reduc|lose|loss|lost|shrink|behind|under|smaller|"
    r"minus|negative|differ|deficit|gap|cost)\w*\b",
    re.IGNORECASE,
)
Sort = Literal["different", "equal", "unknown", "unchecked", "set", "other"]
_SEVERAL = 3
"""With this many significant digits, an equal number is no coincidence."""


class Beside(NamedTuple):
    """The claims that a number stands beside, their studies, and all their numbers by key."""

    names: tuple[str, ...]
    claims: tuple[str, ...]
    numbers: dict[str, float | int]

    @classmethod
    def of(cls, known: Known, mentions: Iterable[tuple[int, str]]) -> Beside:
        """The claims of the mentions of a sentence: claims, studies and theorems."""
        names = tuple(dict.fromkeys(name for _, name in mentions))
        claims = tuple(dict.fromkeys(row for name in names for row in known.claims_of(name)))
        numbers = {
            key: value
            for claim in claims
            for key, value in known.of_claim(claim).items()
            if isinstance(value, int | float) and math.isfinite(value)
        }
        return cls(names, claims, numbers)

    def has(self, number: Number, sentence: str) -> bool:
        """Whether one of the numbers has this printed form."""
        return bool(_equal(number, self.numbers, sentence))

    @property
    def studies(self) -> tuple[str, ...]:
        """The studies of the claims."""
        return tuple(dict.fromkeys(claim.partition(".")[0] for claim in self.claims))


def check_number(number: Number, sentence: str, beside: Beside, known: Known) -> tuple[Sort, str]:
    """The sort of a number, and a sentence about it that a finding prints; "" prints nothing.

    The sorts are those of findings, and ``set`` (a setting, a bound, a level of confidence or a
    number in the text of a claim), ``other`` (a number that is no result).
    """
    if number.kind in ("other", "quantity"):
        return "other", ""
    if number.kind == "count":
        return _check_count(number, beside, known)
    if number.bound and _bound_holds(number, beside):
        return "set", ""
    is_short = len(number.value.normalize().as_tuple().digits) < 2
    if is_short and _is_set(number, beside, known):
        return "set", ""
    if key := _equal(number, beside.numbers, sentence):
        return "equal", _by_hand(number, key)
    if _is_set(number, beside, known):
        return "set", ""
    if not beside.claims:
        return _without_claim(number, sentence, known)
    names = ", ".join(beside.names)
    if not beside.numbers:
        stale = _earlier(number, beside.claims, known)
        if stale:
            return (
                "different",
                f"{number.text} beside {names}: {stale}, and there is no current number",
            )
        return "unchecked", ""
    why = (
        _earlier(number, beside.claims, known)
        or _sign(number, beside)
        or _elsewhere(number, beside, known)
    )
    return "different", f"{number.text} beside {names}: {_described(beside)}" + (
        f"; {why}" if why else ""
    )


def _by_hand(number: Number, key: str) -> str:
    return f"{number.text} is {key}, typed by hand"


def _equal(number: Number, numbers: dict[str, float | int], sentence: str) -> str:
    """The key of the number that is printed so; effects first."""
    order = sorted(numbers, key=lambda key: (not key.endswith(".effect"), len(key), key))
    for key in order:
        value = numbers[key]
        if key.rpartition(".")[2] in ("n", "failures", "k", "seeds", "look"):
            continue
        if number.equals(value):
            return key
        down = value < 0 and not number.signed and _DOWN.search(sentence)
        if down and number.equals(value, unsigned=True):
            return key
    return ""


def _is_set(number: Number, beside: Beside, known: Known) -> bool:
    """Whether it is a setting, a bound or a number in the text of the claims, digit by digit.

    Most settings have a 0 or a 1, and measures range from 0 to 1. Beside a claim, 0.0, 1.00 and
    100 % are therefore results unless its own text or region has them.
    """
    value = float(number.value)
    if beside.claims and value in (0, 1) and number.step < 1:
        return any(value in known.stated(claim) for claim in beside.claims)
    said = {each for claim in beside.claims for each in known.said(claim)}
    of_studies = {each for study in beside.studies for each in known.settings.get(study, ())}
    written = said | of_studies | {known.register.alpha, 1 - known.register.alpha}
    if not beside.claims:
        written |= {each for values in known.settings.values() for each in values}
    return any(
        math.isclose(value, each, rel_tol=1e-9) or math.isclose(value, -each) for each in written
    )


def _without_claim(number: Number, sentence: str, known: Known) -> tuple[Sort, str]:
    value = float(number.value)
    digits = len(number.value.normalize().as_tuple().digits)
    if digits >= _SEVERAL:
        numbers = {
            key: each
            for key, each in known.numbers.items()
            if isinstance(each, float) and math.isfinite(each)
        }
        key = _equal(number, numbers, sentence)
        if key:
            return "equal", _by_hand(number, key)
    if value in CONVENTIONS:
        return "set", ""
    return "unknown", f"{number.text}: no claim stands beside it, and no setting has this value"


def _check_count(number: Number, beside: Beside, known: Known) -> tuple[Sort, str]:
    """A number of seeds, cases or failures."""
    if not beside.claims:
        return "other", ""
    noun, value = number.noun, int(number.value)
    ends = {"seed": ("n", "seeds"), "case": ("n",)}.get(noun, ("failures",))
    own = {key: each for key, each in beside.numbers.items() if key.rpartition(".")[2] in ends}
    for study in beside.studies:
        seeds = known.numbers.get(f"{study}.seeds")
        if noun == "seed" and isinstance(seeds, int):
            own[f"{study}.seeds"] = seeds
    if not own:
        return "unchecked", ""
    for key, each in own.items():
        if each == value:
            return "equal", _by_hand(number, key)
    said = {each for claim in beside.claims for each in known.said(claim)}
    if value in said:
        return "set", ""
    listed = ", ".join(f"{key} is {plain(each)}" for key, each in list(own.items())[:3])
    return "different", f"{number.text} {noun}s beside {', '.join(beside.names)}: {listed}"


def _bound_holds(number: Number, beside: Beside) -> bool:
    """Whether an effect, or an end of its interval, lies on the stated side of a bound."""
    ends = ("effect", "low", "high", "mean")
    values = [value for key, value in beside.numbers.items() if key.rpartition(".")[2] in ends]
    bound = float(number.value)
    # a bound far from all numbers is no rounded form of any of them
    near = [v for v in values if abs(v - bound) <= max(abs(bound), abs(v)) * 0.5 or bound == 0]
    return any(v <= bound if number.bound < 0 else v >= bound for v in near)


def _described(beside: Beside) -> str:
    """The effects of the claims, as a message prints them."""
    effects = []
    for claim in beside.claims[:3]:
        effect, low, high = (
            beside.numbers.get(f"{claim}.{end}") for end in ("effect", "low", "high")
        )
        if effect is None:
            continue
        interval = (
            f" ({plain(low)} to {plain(high)})" if low is not None and high is not None else ""
        )
        effects.append(f"{claim}.effect is {plain(effect)}{interval}")
    more = len(beside.claims) - 3
    return ", ".join(effects or ["no number rounds to it"]) + (
        f", and {more} more claims" if more > 0 else ""
    )


def _earlier(number: Number, claims: Iterable[str], known: Known) -> str:
    """The earlier revision in which a number of the claims, or of their studies, was printed so."""
    studies = {claim.partition(".")[0] for claim in claims}
    for revision, numbers in known.earlier.items():
        of_studies = {k: v for k, v in numbers.items() if k.partition(".")[0] in studies}
        own = {k: v for k, v in of_studies.items() if any(k.startswith(f"{c}.") for c in claims)}
        for key, value in (*own.items(), *of_studies.items()):
            if number.equals(value):
                return f"{key} was {plain(value)} in {revision}"
    return ""


def _sign(number: Number, beside: Beside) -> str:
    for key, value in beside.numbers.items():
        if value and number.equals(-value):
            return f"{key} has the other sign"
    return ""


def _elsewhere(number: Number, beside: Beside, known: Known) -> str:
    return next(_others(number, beside, known), "")


def _others(number: Number, beside: Beside, known: Known) -> Iterator[str]:
    for key, value in known.numbers.items():
        own = key.partition(".")[0] in beside.studies
        if own and isinstance(value, float) and math.isfinite(value) and number.equals(value):
            yield f"{key} is {plain(value)}"
