"""``journeylab round``: what an editor gets with a revision, in one archive."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeylab.commands.results import ROOT
from journeylab.config import UserError

if TYPE_CHECKING:
    from journeylab.audit import Known
    from journeylab.workflow.round import Reviewed

PAPER, BUILT = Path("paper"), Path("build/paper")
RESPONSE = ("response.pdf", "response.md")
TOOLS = {"latexdiff": "latexdiff", "latexmk": "latexmk texlive-latex-recommended"}


def round_(
    since: Annotated[str, typer.Argument(metavar="FROM", help="Tag of the submission.")],
    root: Annotated[Path, ROOT] = Path(),
    output: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("build/round"),
    check: Annotated[
        bool, typer.Option("--check", help="Only check the tag and that all tools are there.")
    ] = False,
) -> None:
    """Pack response, manuscript, its differences and the list of changes for the editor."""
    from journeylab.commands.paper import check_output
    from journeylab.records.files import write_folder
    from journeylab.reports.response import write_archive
    from journeylab.workflow.round import check_name, find_reviewed

    for tool, packages in TOOLS.items():
        if shutil.which(tool) is None:
            raise UserError(f"{tool} is missing; on Debian: apt-get install {packages}")
    reviewed = find_reviewed(Path(), since)
    if check:
        check_name(since)
        return
    described = _described(root, reviewed)
    if not (BUILT / "paper.tex").exists():
        raise UserError(f"{BUILT}/paper.tex is missing; `make round FROM={since}` makes it")
    name = re.sub(r"[^A-Za-z0-9._-]", "-", since)
    work = output / name
    check_output(work, "after", Path.cwd(), PAPER, BUILT)
    shutil.rmtree(work, ignore_errors=True)
    before, after = work / "before", work / "after"
    shutil.copytree(BUILT, after, ignore=_made_by_latex)
    _unpack(reviewed, before)
    for path in after.rglob("*"):  # results are inputs of both, so that only the text differs
        copy = before / path.relative_to(after)
        if path.is_file() and not (PAPER / path.relative_to(after)).exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    _write_differences(before, after, _values(reviewed, root))
    epoch = _time_of_commit()
    for document in ("paper", "paper-diff"):
        _typeset(after, document, epoch)
    with write_folder(work / "archive") as folder:
        for source, target in (
            *((root / "reports" / name, name) for name in RESPONSE),
            (after / "paper.pdf", "paper.pdf"),
            (after / "paper-diff.pdf", "paper-diff.pdf"),
        ):
            shutil.copyfile(source, folder / target)
        text = "\n".join(changes(described)) + "\n"
        (folder / "changes.md").write_text(text, encoding="utf-8")
    write_archive(work / "archive", output / f"{name}.tar.gz")
    for line in _closing(described, output / f"{name}.tar.gz"):
        typer.echo(line)


def changes(described: Mapping[str, Any]) -> Iterator[str]:
    """The list of changes as Markdown: what moved, and where the manuscript was changed."""
    review = described["round"]
    yield f"# Changes since {review['since']}"
    yield ""
    yield f"Compared with {review['reviewed']}. {review['summary']}"
    points = [point for point in described["points"] if point["change"]]
    if points:
        yield "\n## In the manuscript\n"
    for point in points:
        passage = f" ({point['passage']})" if point["passage"] else ""
        yield f"- {point['reviewer']}, {point['id']}: {point['change']}{passage}"
    for study in review["studies"]:
        yield f"\n## {study['study']}\n"
        for row in study["rows"]:
            old = f" (then {row['old_id']})" if row["old_id"] else ""
            then, now = (f"{row[when]['word']}, {row[when]['effect']}" for when in ("then", "now"))
            yield f"- {row['id']}{old}: {then} → {now}. Why: {row['why']}. {row['statement']}"
        yield from (f"- {line}" for line in study["lines"])
    if review["unmoved"]:
        yield f"\nNothing moved in {', '.join(review['unmoved'])}."


def _closing(described: Mapping[str, Any], archive: Path) -> Iterator[str]:
    review = described["round"]
    yield f"since {review['reviewed']}: {review['summary']}"
    yield from (f"response.yaml: {problem}" for problem in review["problems"])
    yield f"{archive}: response.pdf, response.md, paper.pdf, paper-diff.pdf, changes.md"


def _described(root: Path, reviewed: Reviewed) -> Mapping[str, Any]:
    """The content of the response, which must be of this round, with its PDF and its text."""
    from journeylab.records.files import read_json, verify_files

    reports, since = root / "reports", reviewed.name
    path = reports / "response.json"
    content = read_json(path) if path.exists() else {"response": {}}
    described: Mapping[str, Any] = content["response"]
    review = described.get("round")
    # an anonymous response names no commit
    if not review or review["since"] != since or review.get("commit") not in ("", reviewed.commit):
        raise UserError(
            f"{path}: says nothing about {since}, commit {reviewed.commit[:10]}; "
            f"`make round FROM={since}` makes it, or "
            f"`snakemake --cores 1 {reports / 'response.pdf'} --config since={since}`"
        )
    verify_files(reports, {name: content["files"].get(name, "") for name in RESPONSE})
    return described


def _made_by_latex(folder: str, names: list[str]) -> set[str]:
    """Of the files of a folder, paper.aux, paper.pdf and the like that are not the author's own."""
    own = PAPER / Path(folder).relative_to(BUILT)
    return {name for name in names if name.startswith("paper.") and not (own / name).exists()}


def _unpack(reviewed: Reviewed, folder: Path) -> None:
    """Write the manuscript of the reviewed version. Raises UserError if it has none."""
    done = subprocess.run(
        ["git", "archive", "--format=tar", reviewed.commit, PAPER.as_posix()],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise UserError(f"{reviewed.name}: has no folder {PAPER}/, so there is nothing to compare")
    # a link out of the folder is left out
    with tarfile.open(fileobj=io.BytesIO(done.stdout), errorlevel=0) as packed:
        packed.extractall(folder.parent, filter="data")
    (folder.parent / PAPER).rename(folder)
    if not (folder / "paper.tex").exists():
        raise UserError(f"{reviewed.name}: has no {PAPER}/paper.tex to compare with")


def _values(reviewed: Reviewed, root: Path) -> dict[str, tuple[str, str]]:
    """The keys whose printed value moved: as LaTeX, then and now."""
    from journeylab.audit import read_known
    from journeylab.claims.register import read_register
    from journeylab.workflow.round import ReviewedVersion

    known: Known = read_known(Path(), root)
    version = ReviewedVersion(Path(), reviewed.commit, read_register(Path("claims")))
    moved: dict[str, tuple[str, str]] = {}
    for study in known.drawn:
        then = version.outcomes(study)
        for claim, row in (then or {}).items():
            old = {
                "effect": row.effect,
                "low": row.low,
                "high": row.high,
                "verdict": row.verdict or "not judged",
                "n": row.seeds,
            }
            for name, before in old.items():
                now = known.numbers.get(f"{claim}.{name}")
                if before is not None and now is not None:
                    moved |= dict(_moved(f"{claim}.{name}", before, now))
    return moved


def _moved(
    key: str, before: float | str, now: float | str
) -> Iterator[tuple[str, tuple[str, str]]]:
    from journeylab.reports.latex import escape
    from journeylab.typography import plain

    printed = plain(before), plain(now)
    if printed[0] != printed[1]:
        yield f"result {key}", (escape(printed[0]), escape(printed[1]))
    if isinstance(before, int | float) and isinstance(now, int | float) and before != now:
        yield f"rawresult {key}", (repr(before), repr(now))


def _write_differences(before: Path, after: Path, values: Mapping[str, tuple[str, str]]) -> None:
    """Write paper-diff.tex: the new text with what was deleted and added, numbers included.

    A macro has the same name in both versions, so one whose value moved is replaced by its values.
    """
    from journeylab.audit.script import read_text

    for folder, which in ((before, 0), (after, 1)):
        for path in folder.rglob("*.tex"):
            if path.name == "numbers.tex":
                continue
            text = read_text(path)
            shown = text
            for macro, printed in values.items():
                name, _, key = macro.partition(" ")
                shown = shown.replace(rf"\{name}{{{key}}}", printed[which])
            compared = path.with_name(f"compared-{path.name}") if path.name == "paper.tex" else path
            compared.write_text(shown, encoding="utf-8")
    done = subprocess.run(
        [
            *("latexdiff", "--flatten", "--type=CFONT", "--encoding=utf8"),
            *(str(folder / "compared-paper.tex") for folder in (before, after)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not done.stdout:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise UserError(f"latexdiff cannot compare the manuscripts: {reason}")
    (after / "paper-diff.tex").write_text(done.stdout, encoding="utf-8")


def _time_of_commit() -> str:
    from journeylab.records.git import ask_git

    return (ask_git(Path(), "show", "-s", "--format=%ct", "HEAD") or "315532800").strip()


def _typeset(folder: Path, document: str, epoch: str) -> None:
    """Run LaTeX so that equal sources give equal bytes. Raises UserError with LaTeX's message."""
    done = subprocess.run(
        ["latexmk", "-pdf", "-gg", "-interaction=nonstopmode", "-halt-on-error", f"{document}.tex"],
        cwd=folder,
        env=os.environ | {"SOURCE_DATE_EPOCH": epoch, "FORCE_SOURCE_DATE": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        log = folder / f"{document}.log"
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else done.stdout
        problem = re.search(r"^! (.*)$|^(.*:\d+: .*)$", text, re.MULTILINE)
        raise UserError(
            f"{folder / document}.tex: LaTeX stops: {problem[0] if problem else 'see its log'}; "
            f"the log is {log}"
        )
