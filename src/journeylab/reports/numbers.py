"""Every number of a study under one key, and how numbers are printed."""

import math
import re
from collections.abc import Mapping

from journeylab.records.verdicts import Estimate, StudyVerdicts

Number = float | int | str | None
"""A number or a word. None is what is not known or not bounded."""

_SUPERSCRIPT = str.maketrans("−0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_COMPARED = re.compile(r"([≤≥<>]) (?=[\d−])")
_EXPONENT = re.compile(r"(?<=\d)e([−+-]?)(\d+)\b")


def study_numbers(verdicts: StudyVerdicts, extra: Mapping[str, Number]) -> dict[str, Number]:
    """Key → number: ``exp7.2.effect`` of a claim, ``exp7.1.3.low`` of its third part, ``exp7.key``.

    Unbounded ends of intervals are the words −∞ and ∞, claims without a verdict “not judged”.
    """
    study = verdicts.study
    found: dict[str, Number] = {
        f"{study}.scale": verdicts.scale,
        f"{study}.seeds": verdicts.seeds,
        f"{study}.alpha": verdicts.alpha,
        f"{study}.M": verdicts.M,
    }
    for verdict in verdicts.verdicts:
        found |= _estimate(verdict.id, verdict, bounded=verdict.kind != "exact")
        found[f"{verdict.id}.tail"] = verdict.tail
        found[f"{verdict.id}.k"] = verdict.k
        found[f"{verdict.id}.minimum_detectable"] = verdict.minimum_detectable
        found[f"{verdict.id}.region"] = verdict.region_text
        found[f"{verdict.id}.source"] = verdict.source
        found[f"{verdict.id}.kind"] = verdict.kind
        for i, part in enumerate(verdict.parts, start=1):
            found |= _estimate(f"{verdict.id}.{i}", part, bounded=True)
    return found | {f"{study}.{key}": value for key, value in extra.items()}


def plain(value: Number | bool, digits: int = 3) -> str:
    """A number as readers write it: 0.123, −4.2 × 10⁻⁷, 12 345, ∞; “n/a” for None."""
    if value is None:
        return "n/a"
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f").replace("-", "−")
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    if "e" in text or not 1e-3 <= abs(value) < 1e5:
        return readable(f"{value:.{digits - 1}e}")
    return f"{float(text):.{decimals(value, digits)}f}".replace("-", "−")


def readable(text: str) -> str:
    """Text with exponents as powers of ten, 1.4e-04 as 1.4 × 10⁻⁴, and no break after ≤."""

    def power(found: re.Match[str]) -> str:
        sign = "−" if found[1] in ("-", "−") else ""
        return (
            f"\u202f×\u202f10{(sign + found[2].lstrip('0').rjust(1, '0')).translate(_SUPERSCRIPT)}"
        )

    return _COMPARED.sub("\\1\u00a0", _EXPONENT.sub(power, text))


def fixed(value: Number, places: int) -> str:
    """A number with a fixed count of decimals, so that a row of them lines up."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.{places}f}".replace("-", "−")
    return plain(value)


def decimals(value: float, digits: int) -> int:
    """How many decimals show ``digits`` significant digits of a non-zero value."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def _estimate(key: str, row: Estimate, *, bounded: bool) -> dict[str, Number]:
    values: dict[str, Number] = {
        "effect": row.effect,
        "mean": row.mean,
        "low": row.low,
        "high": row.high,
        "n": row.n,
        "failures": row.failures,
        "verdict": row.verdict or "not judged",
    }
    if bounded and row.low is None:
        values["low"] = "−∞"
    if bounded and row.high is None:
        values["high"] = "∞"
    if not bounded and row.effect is None and row.n:
        values["effect"] = "∞"
    return {f"{key}.{name}": value for name, value in values.items()}
