"""The response to the reviewers, described once; Typst, LaTeX and plain text print it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from journeylab.claims.response import ReviewPoint
from journeylab.config import UserError
from journeylab.records.round import ReviewRound
from journeylab.records.verdicts import Registration
from journeylab.reports.judged import JudgedStudy
from journeylab.reports.response.changes import describe_round
from journeylab.reports.response.reproducibility import reproducibility, runs_table
from journeylab.reports.summary import HEAD, NOTES, count_outcomes
from journeylab.reports.tables import printed_table
from journeylab.reports.typeset import STAMP
from journeylab.wording.numbers import extreme_text, places, printed_numbers
from journeylab.wording.placeholders import fill, print_all
from journeylab.wording.rows import Row
from journeylab.wording.typography import plain, short
from journeylab.wording.verdicts import (
    SYMBOLS,
    TheoremText,
    checks_text,
    count,
    findings,
    headline,
    is_exploratory,
    listed,
    measured_text,
    outcome,
    remarks,
    searched,
    source_letter,
)


class Question(NamedTuple):
    """A reviewer's point, and the ids of the rows of the register that answer it."""

    asked: ReviewPoint
    rows: tuple[str, ...]


def describe_response(
    questions: Sequence[Question],
    studies: Sequence[JudgedStudy],
    *,
    title: str,
    unasked: Sequence[str],
    plan_key: str,
    anonymous: bool,
    review: ReviewRound | None = None,
) -> dict[str, Any]:
    """Everything the templates print, numbers in their printed form.

    ``unasked`` are the ids of the judged claims that answer no point; ``review`` is the reviewed
    version, if the response says what moved since. Raises UserError for a figure that no study has.
    """
    known = {row.id: row for study in studies for row in study.verdicts.verdicts}
    registered = {name: entry for study in studies for name, entry in study.registered.items()}
    theorems = studies[0].theorems
    judged = [row for study in studies for row in study.verdicts.judged]
    firm = [row for row in judged if not is_exploratory(row, registered)]
    evidence = all(study.verdicts.evidence for study in studies)
    figures = _Figures(studies)
    passages = review.passages if review else {}
    numbers = {study.study: print_all(study.verdicts, study.numbers) for study in studies}
    return {
        "title": title,
        "scale": studies[0].verdicts.scale,
        "stamp": None if evidence else STAMP,
        "headline": headline(firm),
        "covers": _covers(studies),
        "checks": checks_text(known.values()),
        "glance": _glance(judged, registered, theorems),
        "points": [
            {
                **asked.model_dump(include={"id", "reviewer", "point", "change"}),
                "answer": asked.answer
                and fill(asked.answer, numbers, f"response.yaml: {asked.id}: answer"),
                "title": asked.title or asked.id,
                "passage": passages[asked.id].text if asked.id in passages else "",
                "sentences": _sentences(rows, known, registered, theorems, evidence=evidence),
                "rows": _rows(
                    [known[name] for name in rows if name in known and not known[name].is_check],
                    registered,
                ),
                "figures": figures.of(asked, rows),
            }
            for asked, rows in questions
        ],
        "round": describe_round(review, studies, anonymous=anonymous) if review else None,
        "unasked": list(unasked),
        "reproducibility": reproducibility(studies, judged, registered, anonymous=anonymous),
        "runs": printed_table(runs_table(studies, anonymous=anonymous)),
        "plan_key": plan_key,
    }


def figure_files(described: Mapping[str, Any], studies: Sequence[JudgedStudy]) -> dict[str, Path]:
    """The printed figures: their names in the response, and their files."""
    folders = {study.study: study.folder / "figures" for study in studies}
    return {
        f"{figure['study']}-{figure['name']}.pdf": folders[figure["study"]]
        / f"{figure['name']}.pdf"
        for point in described["points"]
        for figure in point["figures"]
    }


def _covers(studies: Sequence[JudgedStudy]) -> str:
    """Which verdicts the error probability covers together, and which it does not."""
    judging = [s.verdicts for s in studies if s.verdicts.M and not s.verdicts.unjudged]
    exact = "Certificates are exact and do not enter it."
    if not judging:
        return f"No claim about seeds is judged here. {exact}"
    alpha = judging[0].alpha
    text = (
        "In each study, the probability of any wrong verdict, about population medians in its "
        f"settings, is at most {alpha}."
    )
    if len(judging) > 1:
        text += (
            f" This holds for each of the {count(len(judging))} studies that judge claims over "
            "seeds, without a correction for their number: the probability of a wrong verdict in "
            f"any of them is at most {short(len(judging) * alpha)}."
        )
    return f"{text} {exact}"


def _glance(
    judged: Sequence[Row],
    registered: Mapping[str, Registration],
    theorems: Mapping[str, TheoremText],
) -> dict[str, Any]:
    """Per theorem: the counts of outcomes of its judged rows, certificates apart."""
    rows = [(row, outcome(row, registered)) for row in judged]
    return {
        "head": [*HEAD, ""],
        "rows": [
            {
                "label": theorem.label,
                "name": theorem.name,
                "cells": [
                    [
                        {"word": word, "symbol": SYMBOLS.get(word, ""), "count": number}
                        for word, number in cell
                    ]
                    for cell in theorem.cells
                ],
                "studies": list(theorem.studies),
            }
            for theorem in count_outcomes(rows, theorems)
        ],
        "notes": NOTES,
    }


def _sentences(
    answering: Sequence[str],
    known: Mapping[str, Row],
    registered: Mapping[str, Registration],
    theorems: Mapping[str, TheoremText],
    *,
    evidence: bool,
) -> list[str]:
    """The verdicts on a point, in sentences."""
    run = {name.partition(".")[0] for name in known}
    # of a study that was not run at all, the study is named instead of its rows
    absent = dict.fromkeys(
        name if (study := name.partition(".")[0]) in run else study
        for name in answering
        if name not in known
    )
    rows = [known[name] for name in answering if name in known]
    judged = [row for row in rows if row.primary and not row.is_check]
    firm = [row for row in judged if not is_exploratory(row, registered)]
    sentences = []
    if rows and not evidence:
        sentences.append("A quick run is no evidence; its rows show only that everything runs.")
    elif firm:
        sentences += findings(firm, theorems, registered, ids=True)
    reasons: dict[str, list[str]] = {}
    for row in [row for row in rows if not row.is_check] if evidence else ():
        if is_exploratory(row, registered):
            reasons.setdefault(registered[row.id].remark, []).append(row.id.removeprefix("exp"))
    sentences += [f"Exploratory, {why}: {listed(names)}." for why, names in reasons.items()]
    if evidence and (checks := checks_text(rows)):
        sentences.append(checks)
    if absent:
        sentences.append(f"Without current results here, and not counted: {listed(absent)}.")
    return sentences


def _rows(verdicts: Sequence[Row], registered: Mapping[str, Registration]) -> list[dict[str, Any]]:
    digits = places([row for row in verdicts if row.kind != "exact"])
    return [_row(row, digits, registered) for row in verdicts]


def _row(row: Row, digits: int, registered: Mapping[str, Registration]) -> dict[str, Any]:
    exact = row.kind == "exact"
    cases = f"{plain(row.n)} case{'s' * (row.n != 1)}"
    printed = printed_numbers(row, digits)
    word = outcome(row, registered)
    why = [registered[row.id].remark] if word == "exploratory" else []
    return {
        "id": row.id,
        "study": row.id.partition(".")[0],
        "source": source_letter(row),
        "statement": row.statement,
        "measured": f"{measured_text(row)}, {cases}" if exact else measured_text(row),
        "effect": extreme_text(row) if exact else printed["effect"],
        "interval": "" if exact else printed["interval"],
        "detectable": None if row.detectable is None else plain(row.detectable, 2),
        "region": row.region_text,
        "word": word if row.verdict and word == row.word else None,
        "symbol": SYMBOLS.get(word, ""),
        "unjudged": word if row.primary else "secondary",
        "note": "; ".join(
            (*(["tried: " + tried] if (tried := searched(row)) else []), *remarks(row), *why)
        ),
    }


class _Figures:
    """The figures of every point; each figure is printed once."""

    def __init__(self, studies: Sequence[JudgedStudy]) -> None:
        self._drawn = {
            f"{study.study}/{figure['name']}": figure["caption"]
            for study in studies
            for figure in study.content["figures"]
        }
        self._studies = {study.study for study in studies}
        self._shown: set[str] = set()

    def of(self, asked: ReviewPoint, rows: Sequence[str]) -> list[dict[str, str]]:
        """The figures that a point names, or the first of the study that answers most of it."""
        for name in asked.figures:
            if name.partition("/")[0] in self._studies and name not in self._drawn:
                raise UserError(
                    f"response.yaml: {asked.id}: figures: {name!r} is not drawn; there are: "
                    f"{', '.join(self._drawn)}"
                )
        chosen = [name for name in asked.figures or self._usual(rows) if name in self._drawn]
        new = [name for name in chosen if name not in self._shown]
        self._shown |= set(new)
        return [
            {"study": study, "name": figure, "caption": self._drawn[f"{study}/{figure}"]}
            for study, _, figure in (name.partition("/") for name in new)
        ]

    def _usual(self, rows: Sequence[str]) -> list[str]:
        studies = [study for name in rows if (study := name.partition(".")[0]) in self._studies]
        if not studies:
            return []
        most = max(studies, key=studies.count)
        return [name for name in self._drawn if name.startswith(f"{most}/")][:1]
