"""The response to the reviewers, described once; Typst, LaTeX and plain text print it."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from journeylab.claims.response import ReviewPoint
from journeylab.claims.round import ReviewRound
from journeylab.config import UserError
from journeylab.reports.answers import STALE, differing
from journeylab.reports.forest import WIDTH, strip
from journeylab.reports.numbers import fill, print_all
from journeylab.reports.response.changes import describe_round
from journeylab.reports.response.reproducibility import reproducibility, runs_table
from journeylab.reports.summary import HEAD, NOTES, JudgedStudy, count_outcomes
from journeylab.reports.tables import printed_table
from journeylab.reports.typeset import STAMP
from journeylab.wording.numbers import value_text
from journeylab.wording.rows import Row
from journeylab.wording.typography import plain, short
from journeylab.wording.verdicts import (
    SYMBOLS,
    checks_text,
    count,
    findings,
    grouped,
    headline,
    listed,
    scope_text,
    searched,
    source_letter,
)

_TERMS = files("journeylab.reports") / "templates" / "response-terms.json"
"""What the words of the response mean; its first page has the first two."""


Question = tuple[ReviewPoint, Sequence[str]]
"""A reviewer's point, and the ids of the rows of the register that answer it."""


def describe_response(
    questions: Sequence[Question],
    studies: Sequence[JudgedStudy],
    *,
    title: str,
    about: str | None,
    unasked: Sequence[str],
    plan_key: str,
    anonymous: bool,
    review: ReviewRound | None = None,
    moved_on: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything the templates print, numbers in their printed form.

    ``unasked`` are the ids of the judged claims that answer no point; ``review`` is the reviewed
    version, if the response says what moved since; ``moved_on`` says where studies are drawn whose
    code is newer than their evidence. Raises UserError for a figure that no study has.
    """
    known = {row.id: row for study in studies for row in study.verdicts.verdicts}
    judged = [row for study in studies for row in study.verdicts.judged]
    firm = [row for row in judged if not row.is_exploratory]
    evidence = all(study.verdicts.evidence for study in studies)
    passages = review.passages if review else {}
    numbers = {study.study: print_all(study.verdicts, study.numbers) for study in studies}
    return {
        "title": title,
        "about": about or "",
        "moved_on": list(moved_on),
        "scale": studies[0].verdicts.scale,
        "stamp": None if evidence else STAMP,
        "points": [
            {
                **asked.model_dump(include={"id", "reviewer", "point", "change"}),
                "title": asked.title or asked.id,
                "passage": passages[asked.id].text if asked.id in passages else "",
                **_authored(asked, known if evidence else {}, numbers),
                "sentences": _sentences(rows, known, evidence=evidence),
                "rows": _rows([known[name] for name in rows if name in known]),
                "figures": _figures(asked, studies),
            }
            for asked, rows in questions
        ],
        "width": WIDTH,
        "round": describe_round(review, studies, anonymous=anonymous) if review else None,
        "unasked": list(unasked),
        "headline": headline(firm),
        "covers": _covers(studies),
        "checks": checks_text(known.values()),
        "glance": _glance(judged),
        "reproducibility": reproducibility(studies, judged, anonymous=anonymous),
        "runs": printed_table(runs_table(studies, anonymous=anonymous)),
        "terms": json.loads(_TERMS.read_text(encoding="utf-8")),
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


def _glance(judged: Sequence[Row]) -> dict[str, Any]:
    """Per theorem: the counts of outcomes of its judged rows, certificates apart."""
    return {
        "head": [*HEAD, ""],
        "rows": [
            theorem._asdict()
            | {
                "cells": [
                    [
                        {"word": word, "symbol": SYMBOLS.get(word, ""), "count": number}
                        for word, number in cell
                    ]
                    for cell in theorem.cells
                ],
            }
            for theorem in count_outcomes(judged)
        ],
        "notes": NOTES,
    }


def _authored(
    asked: ReviewPoint,
    known: Mapping[str, Row],
    numbers: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """Word, number and paragraphs of an answer; if a verdict that they rest on changed, which."""
    where = f"response.yaml: {asked.id}"
    number = fill(asked.number or "", numbers, f"{where}: number")
    answer = fill(asked.answer or "", numbers, f"{where}: answer")
    now = {name: row.outcome for name, row in known.items()}
    if changed := differing(asked.written_for, now):
        stale = STALE.format(listed(changed))
        return {"word": "Changed", "number": "", "answer": [], "stale": stale}
    word = asked.word or ("Open" if asked.is_open else "")
    paragraphs = [text for text in answer.split("\n") if text]
    return {"word": word, "number": number, "answer": paragraphs, "stale": ""}


def _sentences(answering: Sequence[str], known: Mapping[str, Row], *, evidence: bool) -> list[str]:
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
    firm = [row for row in judged if not row.is_exploratory]
    sentences = []
    if rows and not evidence:
        sentences.append("A quick run is no evidence; its rows show only that everything runs.")
    elif firm:
        sentences += findings(firm, ids=True)
    reasons = grouped(
        (row.registration.remark, row.id.removeprefix("exp"))
        for row in rows
        if evidence and not row.is_check and row.registration and row.is_exploratory
    )
    sentences += [f"Exploratory, {why}: {listed(names)}." for why, names in reasons.items()]
    if evidence and (checks := checks_text(rows)):
        sentences.append(checks)
    if absent:
        sentences.append(f"Without current results here, and not counted: {listed(absent)}.")
    return sentences


def _rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows of a point in print; checks of code only where there is nothing else."""
    found = [row for row in rows if not row.is_check]
    return [_row(row) for row in found or rows]


def _row(row: Row) -> dict[str, Any]:
    word = row.outcome
    notes = [
        *(["tried: " + tried] if (tried := searched(row)) else []),
        *([scope_text(row)] if row.scope else []),
        *([row.withheld] if row.withheld else []),
        # the first note of a claim over seeds says how its looks ended
        *row.notes[bool(row.state and row.state != "withheld") :],
        *([row.registration.remark] if row.registration and word == "exploratory" else []),
    ]
    return {
        "id": row.id,
        "source": source_letter(row),
        "statement": f"{row.statement.removesuffix('.')}.",
        "lanes": [lane._asdict() for lane in strip(row)],
        "value": _value(row),
        "region": row.region_text,
        "word": word if row.verdict and word == row.word else None,
        "symbol": SYMBOLS.get(word, ""),
        "unjudged": word if row.primary else "secondary",
        "note": "; ".join(notes),
    }


def _value(row: Row) -> str:
    """The number and its sample."""
    if row.kind == "exact":
        return f"{value_text(row)}, {plain(row.n)} case{'s' * (row.n != 1)}"
    if row.solves:
        return value_text(row)
    more = f", detectable {plain(row.detectable, 2)}" if row.word == "inconclusive" else ""
    return f"{value_text(row)}, {row.n} seeds{more}"


def _figures(asked: ReviewPoint, studies: Sequence[JudgedStudy]) -> list[dict[str, str]]:
    """The figures that a point names, of the studies with results."""
    drawn = {
        f"{study.study}/{figure['name']}": figure["caption"]
        for study in studies
        for figure in study.content["figures"]
    }
    known = {study.study for study in studies}
    figures = []
    for name in asked.figures:
        study, _, figure = name.partition("/")
        if study in known:
            if name not in drawn:
                where = f"response.yaml: {asked.id}: figures: {name!r}"
                raise UserError(f"{where} is not drawn; there are: {', '.join(drawn)}")
            figures.append({"study": study, "name": figure, "caption": drawn[name]})
    return figures
