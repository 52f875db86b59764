"""The answer to the reviewers: their points, each with the verdicts that answer it.

Everything is made of verdicts, runs and the author's own words, once, as one description; Typst,
LaTeX and plain text print it.
"""

from __future__ import annotations

import gzip
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from journeylab.config import UserError
from journeylab.plotting.results import Table
from journeylab.records.files import write_atomic
from journeylab.records.verdicts import Registration, Verdict
from journeylab.reports.evidence import Evidence
from journeylab.reports.glance import HEAD, NOTES, Judged, at_a_glance, is_exploratory, outcome
from journeylab.reports.latex import escape, latex_macros, latex_table
from journeylab.reports.meaning import count, listed, name_theorem, outcomes
from journeylab.reports.tables import found, needs_powers, places, printed_table, shown, source
from journeylab.reports.typeset import STAMP, SYMBOLS, headline
from journeylab.typography import plain, short

NUMERIC = ("Effect", "Interval", "Detectable")
EPOCH = 315532800
"""1 January 1980, in seconds: when every file of an archive was written, so that it is the same."""


class Question(NamedTuple):
    """A reviewer's point with what answers it; ``rows`` are ids of the register."""

    id: str
    reviewer: str
    point: str
    rows: tuple[str, ...]
    answer: str | None
    change: str | None
    figures: tuple[str, ...]


def describe_response(
    questions: Sequence[Question],
    studies: Sequence[Evidence],
    *,
    title: str,
    unasked: Sequence[str],
    plan_key: str,
    anonymous: bool,
) -> dict[str, Any]:
    """Everything the templates print, numbers in their printed form.

    Raises UserError for a figure that no study has.
    """
    known = {row.id: row for study in studies for row in study.verdicts.verdicts}
    registered = {name: one for study in studies for name, one in study.registered.items()}
    judged = [row for row in known.values() if row.primary]
    firm = [row for row in judged if not is_exploratory(row, registered)]
    evidence = all(study.verdicts.evidence for study in studies)
    figures = _Figures(studies)
    return {
        "title": title,
        "scale": studies[0].verdicts.scale,
        "stamp": None if evidence else STAMP,
        "headline": headline(firm),
        "covers": _covers(studies),
        "glance": _glance(judged, registered),
        "points": [
            {
                "id": question.id,
                "reviewer": question.reviewer,
                "point": question.point,
                "answer": question.answer,
                "change": question.change,
                "told": _told(question, known, registered, evidence=evidence),
                "rows": _rows([known[name] for name in question.rows if name in known], registered),
                "figures": figures.of(question),
            }
            for question in questions
        ],
        "unasked": list(unasked),
        "checklist": _checklist(studies, judged, registered, anonymous=anonymous),
        "runs": printed_table(_runs_table(studies, anonymous=anonymous)),
        "plan_key": plan_key,
    }


def _covers(studies: Sequence[Evidence]) -> str:
    """What the error probability is of, and what it is not of."""
    judging = [s.verdicts for s in studies if s.verdicts.M and s.verdicts.look]
    exact = "A certificate is exact and has no share of it."
    if not judging:
        return f"No claim about seeds is judged here. {exact}"
    alpha = judging[0].alpha
    told = f"The chance of any wrong verdict in a study is at most {alpha}, whatever is true."
    if len(judging) > 1:
        told += (
            f" That holds for each of the {count(len(judging))} studies that judge claims over "
            "seeds, not for all of them together, for which nothing is corrected: that one of "
            f"them holds a wrong verdict has a chance of at most {short(len(judging) * alpha)}."
        )
    return f"{told} {exact}"


def _glance(judged: Sequence[Verdict], registered: Mapping[str, Registration]) -> dict[str, Any]:
    """Per theorem: how many judged rows came out how, certificates apart."""
    rows = [
        Judged(
            id=row.id,
            theorem=row.theorem,
            document=row.source == "document",
            exact=row.kind == "exact",
            outcome=outcome(row, registered),
        )
        for row in judged
    ]
    return {
        "head": [*HEAD, ""],
        "rows": [
            {
                "label": theorem.label,
                "name": name_theorem(theorem.label),
                "cells": [
                    [
                        {"word": word, "symbol": SYMBOLS.get(word, ""), "count": number}
                        for word, number in cell
                    ]
                    for cell in theorem.cells
                ],
                "studies": list(theorem.studies),
            }
            for theorem in at_a_glance(rows)
        ],
        "notes": NOTES,
    }


def _told(
    question: Question,
    known: Mapping[str, Verdict],
    registered: Mapping[str, Registration],
    *,
    evidence: bool,
) -> list[str]:
    """What the verdicts say on a point, in sentences."""
    run = {name.partition(".")[0] for name in known}
    # a study that was not run at all has no rows worth telling one by one
    absent = dict.fromkeys(
        name if (study := name.partition(".")[0]) in run else study
        for name in question.rows
        if name not in known
    )
    rows = [known[name] for name in question.rows if name in known]
    firm = [row for row in rows if row.primary and not is_exploratory(row, registered)]
    told = []
    if rows and not evidence:
        told.append("A quick run is no evidence: what follows shows that everything runs.")
    elif firm:
        told += outcomes(firm)
    reasons: dict[str, list[str]] = {}
    for row in rows if evidence else ():
        if is_exploratory(row, registered):
            reasons.setdefault(registered[row.id].remark, []).append(row.id.removeprefix("exp"))
    told += [f"Exploratory, {why}: {listed(names)}." for why, names in reasons.items()]
    if absent:
        told.append(f"Not run here: {listed(absent)}.")
    return told


def _rows(
    verdicts: Sequence[Verdict], registered: Mapping[str, Registration]
) -> list[dict[str, Any]]:
    digits = places([row for row in verdicts if row.kind != "exact"])
    powers = needs_powers(row for row in verdicts if row.kind == "exact")
    return [_row(row, digits, registered, powers=powers) for row in verdicts]


def _row(
    row: Verdict, digits: int, registered: Mapping[str, Registration], *, powers: bool
) -> dict[str, Any]:
    exact = row.kind == "exact"
    printed = shown(row, digits)
    word = outcome(row, registered)
    why = registered[row.id].remark if word == "exploratory" else ""
    parts = len(row.parts)
    measured = f"{row.effect_text}; {row.metric_label}" if not (exact or parts) else row.effect_text
    return {
        "id": row.id,
        "study": row.id.partition(".")[0],
        "source": source(row),
        "statement": row.statement,
        "measured": measured,
        "effect": found(row, powers=powers) if exact else printed["effect"],
        "interval": f"{plain(row.n)} cases" if exact else printed["interval"],
        "detectable": None if row.detectable is None else plain(row.detectable, 2),
        "region": row.region_text,
        "word": row.verdict if word == row.verdict else None,
        "symbol": SYMBOLS.get(word, ""),
        "unjudged": word if row.primary else "secondary",
        "note": "; ".join(filter(None, (row.withheld, *row.notes, why))),
    }


class _Figures:
    """Which figures go with a point; each is shown once."""

    def __init__(self, studies: Sequence[Evidence]) -> None:
        self._drawn = {
            f"{study.study}/{one['name']}": one["caption"]
            for study in studies
            for one in study.content["figures"]
        }
        self._studies = {study.study for study in studies}
        self._shown: set[str] = set()

    def of(self, question: Question) -> list[dict[str, str]]:
        """The figures that a point names, or the effects of the study that answers most of it."""
        for name in question.figures:
            if name.partition("/")[0] in self._studies and name not in self._drawn:
                raise UserError(
                    f"response.yaml: {question.id}: figures: {name!r} is not drawn; there are: "
                    f"{', '.join(self._drawn)}"
                )
        chosen = [name for name in question.figures or self._usual(question) if name in self._drawn]
        new = [name for name in chosen if name not in self._shown]
        self._shown |= set(new)
        return [
            {"study": study, "name": figure, "caption": self._drawn[f"{study}/{figure}"]}
            for study, _, figure in (name.partition("/") for name in new)
        ]

    def _usual(self, question: Question) -> list[str]:
        asked = [name.partition(".")[0] for name in question.rows]
        studies = [study for study in asked if study in self._studies]
        if not studies:
            return []
        most = max(studies, key=studies.count)
        first = [name for name in self._drawn if name.startswith(f"{most}/")][:1]
        return [f"{most}/effects"] if f"{most}/effects" in self._drawn else first


def _checklist(
    studies: Sequence[Evidence],
    judged: Sequence[Verdict],
    registered: Mapping[str, Registration],
    *,
    anonymous: bool,
) -> list[dict[str, str]]:
    """What the checklists of conferences ask, answered from the records."""
    records = [record for study in studies for record in study.records]
    runs = [run for run, _ in records]
    seeds = sum(len(run.seeds) for run in runs)
    failed = sum(seed.status == "failed" for run in runs for seed in run.seeds)
    minutes = sum(host.cost.cpu_seconds for _, host in records) / 60
    told: dict[str, int] = {}
    for row in judged:
        if row.id in registered:
            told[registered[row.id].text] = told.get(registered[row.id].text, 0) + 1
    engines = sorted({f"{run.engine} on {run.device}, threads: {run.threads}" for run in runs})
    external = sorted(
        {
            str(file["sha256"])
            for run in runs
            if (file := dict(run.settings.get("data") or {}).get("file"))
        }
    )
    data = "Generated from the seeds; every table carries its SHA-256."
    if external:
        data += f" Files that are not ours, by SHA-256: {', '.join(external)}."
    versions = sorted({f"{name} {number}" for run in runs for name, number in run.versions.items()})
    where = "The commits are left out for review." if anonymous else "Commits stand below."
    answers = {
        "Were the claims fixed before the runs?": "; ".join(
            f"{number} of {len(judged)} judged claims: {how}" for how, number in told.items()
        )
        + ".",
        "How are they judged?": (
            "By the median over seeds of paired differences and a distribution-free interval "
            "between two of the ordered differences; a failed seed counts against both sides. "
            "Certificates by their worst case."
        ),
        "Which seeds?": "; ".join(
            f"{study.study}: {_seeds(study)}" for study in studies if _seeds(study)
        )
        + ".",
        "How much was computed?": (
            f"{plain(len(runs))} runs, {plain(seeds)} seeds of runs, {plain(failed)} failed; "
            f"{plain(round(minutes))} CPU-minutes."
        ),
        "On what?": f"{'; '.join(sorted({cpu for run in runs for cpu in run.cpu}))}; "
        f"{'; '.join(engines)}.",
        "With which data?": data,
        "With which code?": f"{', '.join(versions)}. {where}",
        "How is it repeated?": (
            "“make all” in the repository trains, measures, judges and typesets everything; "
            "“make verify” compares the verdicts with the reference."
        ),
    }
    return [{"asked": asked, "answered": answered} for asked, answered in answers.items()]


def _seeds(study: Evidence) -> str:
    """The seeds of a study, as first to last; empty where nothing has seeds."""
    seeds = sorted({seed.seed for run, _ in study.records for seed in run.seeds})
    return f"{seeds[0]} to {seeds[-1]}" if seeds else ""


def _runs_table(studies: Sequence[Evidence], *, anonymous: bool) -> Table:
    rows = []
    for study in studies:
        runs = [run for run, _ in study.records]
        hosts = [host for _, host in study.records]
        commits = sorted({(host.commit or "none")[:10] + "*" * bool(host.dirty) for host in hosts})
        row = {
            "Study": study.study,
            "Revision": plain(study.verdicts.revision),
            "M": plain(study.verdicts.M),
            "Runs": plain(len(runs)),
            "Failed": plain(sum(s.status == "failed" for run in runs for s in run.seeds)),
            "CPU-min": plain(round(sum(host.cost.cpu_seconds for host in hosts) / 60, 1)),
            "Register": study.register,
        }
        rows.append(row if anonymous else row | {"Commit": ", ".join(commits)})
    notes = "" if anonymous else "An asterisk: with uncommitted changes."
    frame = pd.DataFrame(rows)
    numeric = ("Revision", "M", "Runs", "Failed", "CPU-min")
    return Table("runs", "Runs and registers of the studies.", frame, notes, numeric)


# ---- LaTeX ---------------------------------------------------------------------------------------


def write_latex(described: Mapping[str, Any], studies: Sequence[Evidence], folder: Path) -> None:
    """Fill ``folder`` with response.tex and what it inputs: numbers, tables and figures."""
    import jinja2

    for name in ("tables", "figures"):
        (folder / name).mkdir()
    for name, table in _latex_tables(described):
        text = latex_table(table, f"tab:{name}")
        (folder / "tables" / f"{name}.tex").write_text(text, encoding="ascii")
    for figure, path in figure_files(described, studies).items():
        shutil.copyfile(path, folder / "figures" / figure)
    numbers = {key: value for study in studies for key, value in study.numbers.items()}
    (folder / "numbers.tex").write_text(latex_macros(numbers), encoding="ascii")
    environment = jinja2.Environment(
        variable_start_string="<<",
        variable_end_string=">>",
        block_start_string="<%",
        block_end_string="%>",
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,
    )
    template = files("journeylab.reports") / "templates" / "response.tex.jinja"
    text = environment.from_string(template.read_text(encoding="utf-8")).render(
        _escaped(
            {
                **{key: described[key] for key in ("title", "stamp", "headline", "covers")},
                "checklist": described["checklist"],
                "unasked": ", ".join(described["unasked"]),
                "points": [
                    {
                        **{key: point[key] for key in ("id", "reviewer", "point", "answer")},
                        "change": point["change"],
                        "told": " ".join(point["told"]),
                        "figures": point["figures"],
                        "table": f"point-{point['id']}" if point["rows"] else None,
                    }
                    for point in described["points"]
                ],
            }
        )
    )
    (folder / "response.tex").write_text(text, encoding="ascii")


def figure_files(described: Mapping[str, Any], studies: Sequence[Evidence]) -> dict[str, Path]:
    """The figures that are shown: their names in the response, and where they were drawn."""
    folders = {study.study: study.folder for study in studies}
    return {
        f"{one['study']}-{one['name']}.pdf": folders[one["study"]]
        / "figures"
        / f"{one['name']}.pdf"
        for point in described["points"]
        for one in point["figures"]
    }


def _latex_tables(described: Mapping[str, Any]) -> Iterator[tuple[str, Table]]:
    glance = described["glance"]
    frame = pd.DataFrame(
        [
            [
                row["label"],
                *(
                    ", ".join(f"{one['count']} {one['word']}" for one in cell)
                    for cell in row["cells"]
                ),
                ", ".join(row["studies"]),
            ]
            for row in glance["rows"]
        ],
        columns=[*glance["head"][:-1], "Studies"],
    )
    yield "glance", Table("glance", "The theorems at a glance.", frame, glance["notes"], ())
    for point in described["points"]:
        if point["rows"]:
            frame = pd.DataFrame(
                {
                    "Claim": f"{row['id']} {row['source']}",
                    "Measured": row["measured"],
                    "Effect": row["effect"],
                    "Interval": row["interval"],
                    "Detectable": row["detectable"] or "",
                    "Claimed": row["region"],
                    "Verdict": row["word"] or row["unjudged"],
                }
                for row in point["rows"]
            )
            if not frame["Detectable"].any():
                frame = frame.drop(columns="Detectable")
            numeric = tuple(head for head in NUMERIC if head in frame)
            name = f"point-{point['id']}"
            yield name, Table(name, f"What answers {point['id']}.", frame, "", numeric)
    runs = described["runs"]
    heads = [column["head"] for column in runs["columns"]]
    numeric = tuple(column["head"] for column in runs["columns"] if column["numeric"])
    frame = pd.DataFrame(runs["rows"], columns=heads)
    yield "runs", Table("runs", runs["caption"], frame, runs["notes"], numeric)


def _escaped(value: Any) -> Any:
    """All text in a structure, safe for LaTeX; names of files are safe as they are."""
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, Mapping):
        kept = ("study", "name", "table")
        return {key: one if key in kept else _escaped(one) for key, one in value.items()}
    return [_escaped(one) for one in value] if isinstance(value, list | tuple) else value


def write_archive(folder: Path, output: Path) -> None:
    """A tarball of a folder, the same bytes for the same files, whoever packs it."""

    def plain_entry(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime, entry.mode = EPOCH, 0o644 if entry.isfile() else 0o755
        return entry

    with (
        write_atomic(output) as partial,
        partial.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != "manifest.json":
                name = path.relative_to(folder).as_posix()
                archive.add(path, arcname=name, filter=plain_entry)


# ---- plain text ----------------------------------------------------------------------------------


def plain_text(described: Mapping[str, Any], characters: int) -> str:
    """Markdown for the forms of a review system: a part per reviewer, each within ``characters``.

    A part tells as much of each point as fits: all sentences and numbers, or the numbers, or the
    verdicts alone. Points that do not even fit so are counted at its end.
    """
    reviewers = dict.fromkeys(point["reviewer"] for point in described["points"])
    return "\n\n".join(_part(described, reviewer, characters) for reviewer in reviewers) + "\n"


def _part(described: Mapping[str, Any], reviewer: str, characters: int) -> str:
    points = [point for point in described["points"] if point["reviewer"] == reviewer]
    stamp = f"**{described['stamp']}**\n\n" if described["stamp"] else ""
    head = f"# {reviewer}\n\n{stamp}{described['covers']}"
    part = ""
    for write in (_whole, _numbers, _words):
        part = "\n\n".join((head, *map(write, points)))
        if len(part) <= characters:
            return part
    shown = list(map(_words, points))
    while shown:
        shown.pop()
        left = f"{count(len(points) - len(shown))} more: see response.pdf".capitalize()
        part = "\n\n".join((head, *shown, f"{left}."))
        if len(part) <= characters:
            return part
    return part[:characters]


def _whole(point: Mapping[str, Any]) -> str:
    return _pointed(point, lambda row: f"{_line(row)} {row['statement']}", " ".join(point["told"]))


def _numbers(point: Mapping[str, Any]) -> str:
    return _pointed(point, _line, point["told"][0] if point["told"] else "")


def _words(point: Mapping[str, Any]) -> str:
    """A point in a line: how the rows came out, by their ids."""
    by_word: dict[str, list[str]] = {}
    for row in point["rows"]:
        name = row["id"].removeprefix("exp")
        by_word.setdefault(row["word"] or row["unjudged"], []).append(name)
    listed_words = "; ".join(f"{word}: {', '.join(names)}" for word, names in by_word.items())
    return f"**{point['id']}** {point['answer'] or ''} {listed_words}".strip()


def _pointed(point: Mapping[str, Any], line: Callable[[Mapping[str, Any]], str], told: str) -> str:
    quoted = "\n".join(f"> {text}" for text in point["point"].splitlines())
    change = f"Changed in the manuscript: {point['change']}." if point["change"] else ""
    rows = "\n".join(f"- {line(row)}" for row in point["rows"])
    parts = (f"## {point['id']}", quoted, point["answer"], change, told, rows)
    return "\n\n".join(part for part in parts if part)


def _line(row: Mapping[str, Any]) -> str:
    claimed = f", claimed {row['region']}" if row["region"] else ""
    numbers = f"{row['effect']} {row['interval']}{claimed}"
    return f"{row['id']} ({row['source']}) {row['word'] or row['unjudged']}: {numbers}."
