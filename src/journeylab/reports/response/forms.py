"""The response in LaTeX, its archive for a submission system, and the response as plain text."""

import gzip
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from journeylab.plotting.results import Table
from journeylab.records.files import write_atomic
from journeylab.reports.latex import STYLE, escape, latex_macros, latex_table
from journeylab.reports.response.describe import figure_files
from journeylab.reports.summary import JudgedStudy
from journeylab.reports.tables import printed_table
from journeylab.wording.verdicts import count

_INDEXED = re.compile(r"(?<![^\s(‖·/∂])([A-Za-z]|\d+)([_^])(\([^()]*\)|[±−]?[A-Za-z0-9]+)")
"""A letter or number with an index or exponent: R_s, R^k, T_(i,j)."""
EPOCH = 315532800
"""1 January 1980, in seconds: the time of every file in an archive, so that its bytes repeat."""


def write_latex(described: Mapping[str, Any], studies: Sequence[JudgedStudy], folder: Path) -> None:
    """Fill ``folder`` with response.tex and what it inputs: package, numbers, tables, figures."""
    for name in ("tables", "figures"):
        (folder / name).mkdir()
    for name, table in _latex_tables(described):
        text = latex_table(table, f"tab:{name}")
        (folder / "tables" / f"{name}.tex").write_text(text, encoding="ascii")
    for figure, path in figure_files(described, studies).items():
        shutil.copyfile(path, folder / "figures" / figure)
    numbers = {key: value for study in studies for key, value in study.numbers.items()}
    (folder / "numbers.tex").write_text(latex_macros(numbers), encoding="ascii")
    shutil.copyfile(STYLE, folder / STYLE.name)
    (folder / "response.tex").write_text(_rendered(described), encoding="ascii")


def _rendered(values: Mapping[str, Any]) -> str:
    """The LaTeX source with all values escaped."""
    import jinja2

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
    source = files("journeylab.reports") / "templates" / "response.tex.jinja"
    return environment.from_string(source.read_text(encoding="utf-8")).render(_escaped(values))


def _latex_tables(described: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    glance = described["glance"]
    frame = pd.DataFrame(
        [
            [
                row["name"],
                *(
                    ", ".join(f"{entry['count']} {entry['word']}" for entry in cell)
                    for cell in row["cells"]
                ),
                ", ".join(row["studies"]),
            ]
            for row in glance["rows"]
        ],
        columns=[*glance["head"][:-1], "Studies"],
    )
    caption = "The theorems at a glance."
    yield "glance", printed_table(Table(frame, caption=caption, notes=glance["notes"]))
    for study in described["round"]["studies"] if described["round"] else ():
        if study["rows"]:
            frame = pd.DataFrame(
                {
                    "Claim": row["id"] + (f" (then {row['old_id']})" if row["old_id"] else ""),
                    "Then": f"{row['then']['word']}: {row['then']['effect']}",
                    "Now": f"{row['now']['word']}: {row['now']['effect']}",
                    "Why": row["why"],
                }
                for row in study["rows"]
            )
            caption = f"What moved in {study['study']}."
            yield f"moved-{study['study']}", printed_table(Table(frame, caption=caption))
    yield "runs", described["runs"]


def _escaped(value: Any) -> Any:
    """All text in a structure, escaped for LaTeX; ids and file names stay as they are."""
    if isinstance(value, str):
        pieces = _INDEXED.split(value)
        for i in range(1, len(pieces), 4):
            base, mark, index = pieces[i : i + 3]
            script = "subscript" if mark == "_" else "superscript"
            pieces[i : i + 3] = [rf"\textit{{{base}}}\text{script}{{", index, "}"]
            pieces[i + 1] = escape(index.removeprefix("(").removesuffix(")"))
        return "".join(escape(piece) if i % 4 == 0 else piece for i, piece in enumerate(pieces))
    if isinstance(value, Mapping):
        kept = ("id", "study", "name")
        return {key: part if key in kept else _escaped(part) for key, part in value.items()}
    return [_escaped(part) for part in value] if isinstance(value, list | tuple) else value


def write_archive(folder: Path, output: Path) -> None:
    """Pack a folder as a tarball; the same files give the same bytes."""

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


def plain_text(described: Mapping[str, Any], characters: int) -> str:
    """Markdown for the forms of a review system: a part per reviewer, each within ``characters``.

    A part begins with the answers to all points in a line each. Then follow as many whole answers
    as fit, with the rows of all of them if these fit too; those left out are counted.
    """
    reviewers = dict.fromkeys(point["reviewer"] for point in described["points"])
    return "\n\n".join(_part(described, reviewer, characters) for reviewer in reviewers) + "\n"


def _part(described: Mapping[str, Any], reviewer: str, characters: int) -> str:
    points = [point for point in described["points"] if point["reviewer"] == reviewer]
    stamp = f"**{described['stamp']}**\n\n" if described["stamp"] else ""
    moved_on = "".join(f"{line}.\n\n" for line in described["moved_on"])
    part = f"# {reviewer}\n\n{stamp}{moved_on}" + "\n".join(map(_line, points))
    answers = list(map(_answer, points))
    whole = [_with_rows(*each) for each in zip(answers, points, strict=True)]
    for texts in (whole, answers):
        text = "\n\n".join((part, *texts))
        if len(text) <= characters:
            return text
    while answers:
        answers.pop()
        left = f"{count(len(points) - len(answers))} more: see response.pdf".capitalize()
        text = "\n\n".join((part, *answers, f"{left}."))
        if len(text) <= characters:
            return text
    return part[:characters]


def _line(point: Mapping[str, Any]) -> str:
    word = ": ".join(filter(None, (point["word"], point["number"])))
    return f"- **{point['title']}** {word}".rstrip()


def _answer(point: Mapping[str, Any]) -> str:
    quoted = "\n".join(f"> {text}" for text in point["point"].splitlines())
    passage = f" ({point['passage']})" if point["passage"] else ""
    change = f"Changed in the manuscript: {point['change']}{passage}." if point["change"] else ""
    sentences = "" if point["answer"] else " ".join(point["sentences"])
    parts = (f"## {point['title']}", quoted, point["stale"], *point["answer"], change, sentences)
    return "\n\n".join(part for part in parts if part)


def _with_rows(answer: str, point: Mapping[str, Any]) -> str:
    rows = [
        f"- {row['id']} ({row['source']}) {row['word'] or row['unjudged']}: {row['statement']} "
        f"{row['value']}" + (f", claimed {row['region']}" if row["region"] else "") + "."
        for row in point["rows"]
    ]
    return "\n\n".join((answer, "\n".join(rows))) if rows else answer
