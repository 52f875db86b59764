"""How numbers are printed, everywhere and once: from the number, never from another text."""

import math

Number = float | int | str | None
"""A number or a word. None is what is not known or not bounded."""

_SUPERSCRIPT = str.maketrans("−0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(value: Number | bool, digits: int = 3) -> str:
    """A number as readers write it: 0.123, −4.2 × 10⁻⁷, 12 345, ∞; “n/a” for None."""
    if value is None:
        return "n/a"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f").replace("-", "−")
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    if not 1e-3 <= abs(float(f"{value:.{digits}g}")) < 1e5:
        return scientific(value, digits - 1)
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:.{decimals(value, digits)}f}".replace("-", "−")


def scientific(value: float, places: int = 1) -> str:
    """A number as a power of ten with ``places`` decimals: 1.4 × 10⁻⁴."""
    if value == 0 or not math.isfinite(value):
        return plain(value)
    return _power(f"{value:.{places}e}")


def short(value: float) -> str:
    """A number with at most three significant digits, and no zeros behind: 0.02, 1 × 10⁻⁴."""
    return _power(f"{value + 0.0:.3g}") if math.isfinite(value) else plain(value)


def fixed(value: Number, places: int) -> str:
    """A number with a fixed count of decimals, so that a row of them lines up."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{round(value, places) + 0.0:.{places}f}".replace("-", "−")
    return plain(value)


def decimals(value: float, digits: int) -> int:
    """How many decimals show ``digits`` significant digits of a non-zero value."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def _power(text: str) -> str:
    mantissa, exponent, power = text.replace("-", "−").partition("e")
    if not exponent:
        return mantissa
    sign = "−" if power.startswith("−") else ""
    raised = (sign + power.lstrip("+−0").rjust(1, "0")).translate(_SUPERSCRIPT)
    return f"{mantissa}\u202f×\u202f10{raised}"
