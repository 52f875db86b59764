"""The claims index: every claim of every study in one self-contained HTML page."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from journeylab.reports.first_page import front_row, notes
from journeylab.reports.summary import JudgedStudy
from journeylab.wording.rows import Row
from journeylab.wording.typography import plain
from journeylab.wording.verdicts import (
    OUTCOMES,
    capital,
    grouped,
    measured_text,
    searched,
    seed_numbers,
)


def render(studies: Sequence[JudgedStudy], *, plan_key: str, moved_on: Sequence[str] = ()) -> str:
    """The page, not yet sealed. It names no machine.

    It names a commit only for studies whose code has `moved_on` from their evidence, a line each.
    """
    script = _template("index.js")
    listed = [_study(study) for study in studies]
    tables = (study[name] for study in listed for name in ("judged", "checks", "secondary"))
    groups = [group for table in tables for group in table]
    outcomes = {row["outcome"] for group in groups for row in group["rows"]}
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(_template("index.html.jinja")).render(
        studies=listed,
        stamp=not all(study.verdicts.evidence for study in studies),
        theorems={group["label"]: group["name"] for group in groups},
        choices=[(study["id"], f"{study['id']}: {study['title']}") for study in listed],
        words=[(word, word) for word in (*OUTCOMES, "holds", "fails") if word in outcomes],
        plan_key=plan_key,
        moved_on=moved_on,
        style=_template("index.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _study(study: JudgedStudy) -> dict[str, Any]:
    verdicts = study.verdicts
    return {
        "id": study.study,
        "title": study.content["title"],
        "question": study.content.get("question", ""),
        "answer": study.answer,
        "revision": verdicts.revision,
        "scale": verdicts.scale,
        "seeds": seed_numbers(verdicts),
        "runs": plain(len(study.records)),
        "alpha": plain(verdicts.alpha) if verdicts.M else "",
        "exploratory": verdicts.exploratory,
        "sections": [name for name, rows in verdicts.sections.items() if rows],
        "judged": _groups(verdicts.judged),
        "checks": _groups(verdicts.checks),
        "secondary": _groups([row for row in verdicts.verdicts if not row.primary]),
    }


def _groups(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows of each theorem, as on the first page of the report."""
    return [
        rows[0].about._asdict() | {"label": label, "rows": list(map(_row, rows))}
        for label, rows in grouped((row.theorem, row) for row in rows).items()
    ]


def _row(row: Row) -> dict[str, Any]:
    measured = measured_text(row)
    remarks = [*([measured] if measured != row.statement else []), *notes(row)]
    unit = "case" if row.kind == "exact" else "seed"
    tried = searched(row)
    counted = (
        "" if row.solves else f"{plain(row.n)} {unit}{'s' * (row.n != 1)}",
        f"{row.failures} failed" if row.failures else "",
        f"tried: {tried}" if tried else "",
    )
    exact = (row.effect, row.low, row.high, row.n, row.failures, row.verdict)
    return front_row(row) | {
        "verdict": row,
        "outcome": row.outcome if row.primary else "secondary",
        "remarks": " ".join(f"{capital(text)}." for text in remarks),
        "counted": ", ".join(filter(None, counted)),
        # all digits, for programs
        "exact": ",".join("" if value is None else str(value) for value in exact),
    }


def _template(name: str) -> str:
    return (files("journeylab.reports") / "templates" / name).read_text(encoding="utf-8")
