"""Effects, intervals and extreme values of verdicts in print."""

from collections.abc import Iterable

from journeylab.records.verdicts import Estimate
from journeylab.wording.rows import Row
from journeylab.wording.typography import decimals, fixed, plain


def places(rows: Iterable[Row]) -> int:
    """The decimals of all effects and intervals of a table: three digits of its narrowest row."""
    widths = [_width(row) for verdict in rows for row in (verdict, *verdict.parts, *verdict.scope)]
    return min(4, max((decimals(width, 3) for width in widths if width), default=3))


def first_digits(row: Row) -> int:
    """The decimals of a claim on a report's first page and in authored text."""
    return min(3, places([row]))


def _width(row: Estimate) -> float:
    ends = [x for x in (row.low, row.effect, row.high) if x is not None]
    return max(ends) - min(ends) if ends else 0.0


def printed_numbers(row: Estimate, digits: int) -> dict[str, str]:
    """Effect, mean and interval in print, with ``digits`` decimals; unbounded ends are infinities.

    Nonzero values that would print as 0 use scientific notation; below 1e-12 of the row's largest
    they count as 0. A claim whose parts have no worst or best one has no numbers of its own.
    """
    if isinstance(row, Row) and row.scope:
        return {"effect": "by point", "mean": "by point", "interval": ""}
    if isinstance(row, Row) and row.parts and row.effect is None:
        return {"effect": "by part", "mean": "by part", "interval": ""}
    rounding = 1e-12 * max(abs(x) for x in (row.effect, row.low, row.high, 0.0) if x is not None)

    def text(value: float | None, unbounded: str = "n/a") -> str:
        if value is None:
            return unbounded
        lost = abs(value) > rounding and float(f"{value:.{digits}f}") == 0
        return plain(value, 2) if lost else fixed(value, digits)

    return {
        "effect": text(row.effect),
        "mean": text(row.mean),
        "interval": f"[{text(row.low, '−∞')}, {text(row.high, '∞')}]",
    }


def solved_text(row: Row) -> str:
    """How many seeds have solved, of a claim about most seeds: “11 of 12”."""
    return "n/a" if row.effect is None else f"{round(row.effect * row.n)} of {row.n}"


def value_text(row: Row) -> str:
    """The number of a claim in one line: a worst case, a count of seeds, or effect and interval."""
    if row.kind == "exact":
        return extreme_text(row)
    if row.solves:
        return f"{solved_text(row)} seeds"
    numbers = printed_numbers(row, first_digits(row))
    return f"{numbers['effect']} {numbers['interval']}".strip()


def extreme_text(verdict: Row) -> str:
    """The extreme value of an exact claim: a count as a whole number, others with three digits."""
    extreme = verdict.extreme
    if extreme is not None and extreme.is_integer() and abs(extreme) < 1e5:
        return plain(int(extreme))
    return plain(extreme)
