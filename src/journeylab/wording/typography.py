"""The printed form of every number; always made from the number, never from another text."""

import math

from journeylab.config import UserError

Number = float | int | str | None
"""A number or a text; None stands for an unknown value or an unbounded end."""

_SUPERSCRIPT = str.maketrans("−0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(value: Number | bool, digits: int = 3) -> str:
    """A number with ``digits`` significant digits: 0.123, −4.2 × 10⁻⁷, 12 345, ∞ or “n/a”."""
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


def short(value: float, digits: int = 3) -> str:
    """A number with at most ``digits`` significant digits, no trailing zeros: 0.02, 1 × 10⁻⁵."""
    return _power(f"{value + 0.0:.{digits}g}") if math.isfinite(value) else plain(value)


def fixed(value: Number, places: int) -> str:
    """A number with a fixed count of decimals, so that a column lines up."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{round(value, places) + 0.0:.{places}f}".replace("-", "−")
    return plain(value)


def in_form(value: Number, form: str) -> str:
    """A number in a form of report prose; a text as it is.

    A digit is the count of decimals, ``~`` and a digit that of significant digits; ``d`` is a whole
    number, ``e`` a power of ten, ``s`` :func:`short`, ``%`` the same in percent.
    """
    if not isinstance(value, int | float):
        return plain(value)
    if form.isdigit():
        return fixed(float(value), int(form))
    if form.startswith("~") and form[1:].isdigit():
        return plain(value, int(form[1:]))
    match form:
        case "d":
            return plain(round(value))
        case "e":
            return scientific(value)
        case "s":
            return short(value)
        case "%":
            return short(100.0 * value)
    raise UserError(
        f"report.typ: form {form!r} of a number is unknown; accepted: 2, ~2, d, e, s, %"
    )


def decimals(value: float, digits: int) -> int:
    """The count of decimals that shows ``digits`` significant digits of a nonzero value."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def clock(seconds: float) -> str:
    """A duration to the second: 2:31, or 1:02:31."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def roughly(seconds: float) -> str:
    """A rounded duration: 40 s, 12 min, 3 h 20 min."""
    if seconds < 90:
        return f"{max(round(seconds, -1), 10):.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(round(minutes, -1), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def _power(text: str) -> str:
    mantissa, exponent, power = text.replace("-", "−").partition("e")
    if not exponent:
        return mantissa
    sign = "−" if power.startswith("−") else ""
    raised = (sign + power.lstrip("+−0").rjust(1, "0")).translate(_SUPERSCRIPT)
    return f"{mantissa}\u202f×\u202f10{raised}"
