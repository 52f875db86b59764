"""Numbers in authored text: ``{exp7.3.effect}`` stands for a number of a study's report.

``{|exp7.3.effect|}`` is its absolute value, ``{exp1.3.solved}`` the “12 of 12” of a claim about
most seeds. Effects, means and ends of intervals are rounded as on the first page of the report,
other numbers to three digits.
"""

import difflib
import re
from collections.abc import Mapping

from journeylab.config import UserError
from journeylab.wording.numbers import extreme_text, first_digits, printed_numbers, solved_text
from journeylab.wording.rows import StudyRows
from journeylab.wording.typography import Number, fixed, plain

PLACEHOLDER = re.compile(r"\{(?P<bar>\|?)(?P<key>exp\d+\.[\w.-]+)(?P=bar)\}")
UNJUDGED = "not judged yet"


def print_all(study: StudyRows, numbers: Mapping[str, Number]) -> dict[str, str]:
    """Every number of a study's ``numbers.json`` in print, by key."""
    printed = {key: plain(value) for key, value in numbers.items()}
    over_seeds = [row for row in study.verdicts if row.kind != "exact"]
    printed |= {f"{row.id}.seeds": plain(row.n) for row in over_seeds}
    printed |= {f"{row.id}.solved": solved_text(row) for row in over_seeds if row.solves}
    exact = [row for row in study.verdicts if row.kind == "exact"]
    printed |= {f"{row.id}.effect": extreme_text(row) for row in exact}
    for row in over_seeds:
        digits = first_digits(row)
        parts = {f"{row.id}.{i}": part for i, part in enumerate(row.parts, start=1)}
        for key, estimate in ({row.id: row} | parts).items():
            for name, text in printed_numbers(estimate, digits).items():
                if f"{key}.{name}" in printed:
                    printed[f"{key}.{name}"] = text
            for end in ("low", "high"):
                if isinstance(value := numbers.get(f"{key}.{end}"), float):
                    printed[f"{key}.{end}"] = fixed(value, digits)
    return printed


def fill(text: str, printed: Mapping[str, Mapping[str, str]], where: str) -> str:
    """The text with its numbers; ``printed`` holds those of every study, by key.

    “Not judged yet” stands for numbers of a study without results, and for a missing verdict.
    Raises UserError with `where`, the key, and what is near, for a number that the study does not
    have.
    """

    def number(found: re.Match[str]) -> str:
        key = found["key"]
        study = key.partition(".")[0]
        if study not in printed:
            return UNJUDGED
        if key not in printed[study]:
            near = ", ".join(difflib.get_close_matches(key, printed[study], n=3)) or "none"
            raise UserError(f"{where}: {found[0]}: {study} has no such number; near: {near}")
        shown = printed[study][key]
        if key.endswith(".verdict") and shown == "not judged":
            return UNJUDGED
        return shown.removeprefix("−") if found["bar"] else shown

    return PLACEHOLDER.sub(number, text)
