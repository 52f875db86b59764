"""The claims index: every claim of every study in one self-contained HTML page."""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal

from jinja2 import Environment, StrictUndefined

from journeylab.records.runs import RunRecord
from journeylab.reports.forest import WIDTH, forest
from journeylab.reports.judged import JudgedStudy
from journeylab.reports.typeset import printed_rows
from journeylab.wording.effects import run_text
from journeylab.wording.rows import Row
from journeylab.wording.typography import plain
from journeylab.wording.verdicts import (
    OUTCOMES,
    SYMBOLS,
    outcome,
    searched,
    seed_numbers,
    sentence,
    source_letter,
    theorem_text,
)

Kind = Literal["seeds", "certificate", "check", "secondary"]
KINDS: dict[Kind, str] = {
    "seeds": "judged over seeds",
    "certificate": "certificates",
    "check": "checks of code",
    "secondary": "secondary",
}


def render(studies: Sequence[JudgedStudy], *, plan_key: str, anonymous: bool) -> str:
    """The page, not yet sealed; an anonymous page names no commit."""
    rows = [row for study in studies for row in _rows(study)]
    first = {row["theorem"]: row for row in rows}
    script = _template("index.js")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["pairs"] = lambda values: [(value, value) for value in values]
    return environment.from_string(_template("index.html.jinja")).render(
        rows=rows,
        theorems=count_theorems(rows),
        texts={label: row["theorem_text"] for label, row in first.items()},
        columns=_columns(rows),
        studies=[_study(study, anonymous=anonymous) for study in studies],
        stamp=not all(study.verdicts.evidence for study in studies),
        theorem_names=[(label, row["theorem_text"].name) for label, row in first.items()],
        kinds=KINDS,
        words=[
            word
            for word in (*OUTCOMES, "holds", "fails", "secondary")
            if word in {row["outcome"] for row in rows}
        ],
        symbols=SYMBOLS,
        width=WIDTH,
        exact=_exact,
        plan_key=plan_key,
        style=_template("index.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def count_theorems(rows: Iterable[Mapping[str, Any]]) -> dict[str, Counter[tuple[str, str]]]:
    """The counts of each theorem's rows, by kind and outcome."""
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for row in rows:
        counts.setdefault(row["theorem"], Counter())[row["kind"], row["outcome"]] += 1
    return counts


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The outcomes in the table of theorems, by kind: decisions, and others that occur."""
    return {
        kind: [
            word
            for word in OUTCOMES
            if word in ("supported", "refuted")
            or any((row["kind"], row["outcome"]) == (kind, word) for row in rows)
        ]
        for kind in ("seeds", "certificate")
    }


def _rows(study: JudgedStudy) -> list[dict[str, Any]]:
    """The claims of a study in the order of its register."""
    printed = {row["id"]: row for rows in printed_rows(study.verdicts).values() for row in rows}
    return [_row(verdict, printed[verdict.id], study) for verdict in study.verdicts.verdicts]


def _row(verdict: Row, printed: Mapping[str, Any], study: JudgedStudy) -> dict[str, Any]:
    word = outcome(verdict, study.registered)
    kind: Kind = "certificate" if verdict.kind == "exact" else "seeds"
    if verdict.is_check:
        kind = "check"
    elif not verdict.primary:
        kind, word = "secondary", "secondary"
    if verdict.kind == "exact":
        effect, interval, parts = printed["value"], "", []
    else:
        effect, interval, parts = printed["effect"], printed["interval"], printed["parts"]
    return {
        "verdict": verdict,
        "id": verdict.id,
        "study": study.study,
        "theorem": verdict.theorem,
        "theorem_text": theorem_text(verdict.theorem, study.theorems),
        "source": source_letter(verdict),
        "kind": kind,
        "outcome": word,
        "sentence": sentence(verdict),
        "searched": searched(verdict),
        "symbol": SYMBOLS.get(word, ""),
        "effect": effect,
        "interval": interval,
        "parts": list(zip(parts, verdict.parts, strict=True)),
        "printed": printed,
        "n": plain(verdict.n),
        "unit": "cases" if verdict.kind == "exact" else "seeds",
        "detectable": plain(verdict.detectable, 2),
        "revision": study.verdicts.revision,
        "registration": study.registered[verdict.id],
        "forest": forest(verdict),
        "points": _points(verdict),
        "runs": _keys(study.read[verdict.id], study.content),
        "figures": _figures(study),
    }


def _figures(study: JudgedStudy) -> list[str]:
    return [figure["name"] for figure in study.content["figures"]]


def _keys(
    runs: Iterable[RunRecord], content: Mapping[str, Any]
) -> dict[str, list[tuple[str, str]]]:
    """The keys of the runs of every variant in print, each with its seeds."""
    labels, arms = content.get("labels", {}), content.get("arms", {})
    keys: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        seeds = [seed.seed for seed in run.seeds]
        span = " to ".join(dict.fromkeys((str(seeds[0]), str(seeds[-1])))) if seeds else "once"
        name = run_text(run.arm, run.variant, labels, arms)
        keys.setdefault(name, []).append((span, run.run_key))
    return keys


def _points(verdict: Row) -> str:
    """Every seed with its value; the value of a failed seed is empty."""
    return " ".join(f"{point.seed}:{_exact(point.value)}" for point in verdict.points)


def _exact(value: float | None) -> str:
    """A number with all its digits, for programs; empty for None."""
    return "" if value is None else repr(value)


def _study(study: JudgedStudy, *, anonymous: bool) -> dict[str, Any]:
    verdicts = study.verdicts
    judged, secondary = verdicts.judged, [row for row in verdicts.verdicts if not row.primary]
    commits = {host.commit for _, host in study.records if host.commit}
    return {
        "id": study.study,
        "title": study.content["title"],
        "revision": verdicts.revision,
        "scale": verdicts.scale,
        "seeds": seed_numbers(verdicts),
        "judged": plain(len(judged)),
        "checks": plain(len(verdicts.checks)),
        "secondary": plain(len(secondary)),
        "runs": plain(len(study.records)),
        "alpha": plain(verdicts.alpha) if verdicts.M else "",
        "exploratory": verdicts.exploratory,
        "evidence": verdicts.evidence,
        "figures": _figures(study),
        "commits": [] if anonymous else sorted(commits),
    }


def _template(name: str) -> str:
    return (files("journeylab.reports") / "templates" / name).read_text(encoding="utf-8")
