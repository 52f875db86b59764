"""The claims index: every claim of every study on one page that needs nothing but a browser."""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal

from jinja2 import Environment, StrictUndefined

from journeylab.records.runs import RunRecord
from journeylab.records.verdicts import WORDS, Verdict
from journeylab.reports.evidence import Evidence
from journeylab.reports.forest import WIDTH, forest
from journeylab.reports.glance import OTHER, outcome
from journeylab.reports.tables import source
from journeylab.reports.typeset import SYMBOLS, printed_rows
from journeylab.typography import plain

Kind = Literal["seeds", "certificate", "secondary"]
KINDS: dict[Kind, str] = {
    "seeds": "judged over seeds",
    "certificate": "certificates",
    "secondary": "secondary",
}


def render(studies: Sequence[Evidence], *, plan_key: str, anonymous: bool) -> str:
    """The page, not yet sealed. Of an anonymous one no commit is told."""
    rows = [row for study in studies for row in _rows(study)]
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
        columns=_columns(rows),
        studies=[_study(study, anonymous=anonymous) for study in studies],
        stamp=not all(study.verdicts.evidence for study in studies),
        kinds=KINDS,
        words=[word for word in (*WORDS, *OTHER, "secondary") if word in {r["told"] for r in rows}],
        symbols=SYMBOLS,
        width=WIDTH,
        exact=_exact,
        plan_key=plan_key,
        style=_template("index.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def count_theorems(rows: Iterable[Mapping[str, Any]]) -> dict[str, Counter[tuple[str, str]]]:
    """How often each theorem's rows of a kind came out how."""
    found: dict[str, Counter[tuple[str, str]]] = {}
    for row in rows:
        found.setdefault(row["theorem"], Counter())[row["kind"], row["told"]] += 1
    return found


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The words that are counted, by kind: decisions always, the others where there are any."""
    return {
        kind: [
            word
            for word in (*WORDS, *OTHER)
            if word in ("supported", "refuted")
            or any((row["kind"], row["told"]) == (kind, word) for row in rows)
        ]
        for kind in ("seeds", "certificate")
    }


def _rows(study: Evidence) -> list[dict[str, Any]]:
    """The claims of a study in the order of its register."""
    printed = {row["id"]: row for rows in printed_rows(study.verdicts).values() for row in rows}
    return [_row(verdict, printed[verdict.id], study) for verdict in study.verdicts.verdicts]


def _row(verdict: Verdict, printed: Mapping[str, Any], study: Evidence) -> dict[str, Any]:
    told = outcome(verdict, study.registered)
    kind: Kind = "certificate" if verdict.kind == "exact" else "seeds"
    if not verdict.primary:
        kind, told = "secondary", "secondary"
    if verdict.kind == "exact":
        effect, interval, parts = printed["found"], "", []
    else:
        effect, interval, parts = printed["effect"], printed["interval"], printed["parts"]
    return {
        "verdict": verdict,
        "id": verdict.id,
        "study": study.study,
        "theorem": verdict.theorem,
        "source": source(verdict),
        "kind": kind,
        "told": told,
        "symbol": SYMBOLS.get(told, ""),
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
        "runs": _keys(study.read[verdict.id]),
        "figures": _figures(study),
    }


def _figures(study: Evidence) -> list[str]:
    return [figure["name"] for figure in study.content["figures"]]


def _keys(runs: Iterable[RunRecord]) -> dict[str, list[tuple[str, str]]]:
    """The keys of the runs of every variant, each with its seeds."""
    found: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        seeds = [seed.seed for seed in run.seeds]
        span = " to ".join(dict.fromkeys((str(seeds[0]), str(seeds[-1])))) if seeds else "once"
        found.setdefault(f"{run.arm}/{run.variant}", []).append((span, run.run_key))
    return found


def _points(verdict: Verdict) -> str:
    """Every seed with its value; of a failed seed, none."""
    return " ".join(f"{point.seed}:{_exact(point.value)}" for point in verdict.points)


def _exact(value: float | None) -> str:
    """A number with all its digits, for machines; empty for none."""
    return "" if value is None else repr(value)


def _study(study: Evidence, *, anonymous: bool) -> dict[str, Any]:
    verdicts = study.verdicts
    judged = [row for row in verdicts.verdicts if row.primary]
    commits = {host.commit for _, host in study.records if host.commit}
    return {
        "id": study.study,
        "title": study.content["title"],
        "revision": verdicts.revision,
        "scale": verdicts.scale,
        "seeds": plain(verdicts.seeds),
        "judged": plain(len(judged)),
        "secondary": plain(len(verdicts.verdicts) - len(judged)),
        "runs": plain(len(study.records)),
        "alpha": plain(verdicts.alpha) if verdicts.M else "",
        "exploratory": verdicts.exploratory,
        "evidence": verdicts.evidence,
        "figures": _figures(study),
        "commits": [] if anonymous else sorted(commits),
    }


def _template(name: str) -> str:
    return (files("journeylab.reports") / "templates" / name).read_text(encoding="utf-8")
