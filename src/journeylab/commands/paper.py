"""``journeylab paper``: a manuscript and the results that it cites, in one folder for LaTeX."""

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from journeylab.catalogue import CODE, load, study_folder
from journeylab.commands.results import CONFIG, OUTPUT, ROOT_OVERRIDE, read_text
from journeylab.config import UserError
from journeylab.records.files import MANIFEST, read_json, verify_files
from journeylab.records.git import ask_git
from journeylab.records.repair import remake
from journeylab.records.runs import git_state
from journeylab.reports.latex import COMMANDS, STYLE, escape
from journeylab.reports.typeset import STAMP

STUDY = re.compile(r"^\s*\\study\{(exp[0-9]+)\}", re.MULTILINE)
KEPT = ("numbers.tex", "tables/*.tex", "figures/*.pdf")
SOURCES = "sources.tex"
_LOGGED = re.compile(
    r"^journeylab (?:table (?P<table>\S+)|end)$"
    r"|^Overfull \\[hv]box \((?P<over>[\d.]+)pt too (?P<side>wide|high)"
    r"|^LaTeX Warning: Float too large for page by (?P<large>[\d.]+)pt"
    r"|^LaTeX Warning: Reference `(?P<reference>tab:exp[^']+)'",
    re.MULTILINE,
)


def paper(
    manuscript: Annotated[Path, typer.Option(help="Folder of the manuscript.")] = Path("paper"),
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    root: Annotated[Path | None, ROOT_OVERRIDE] = None,
    output: Annotated[Path, OUTPUT] = Path("build/paper"),
    log: Annotated[Path | None, typer.Option(help="Only check this log of LaTeX.")] = None,
) -> None:
    """Collect the manuscript and the results it cites in one folder, for LaTeX."""
    if log:
        check_log(log)
        return
    settings = load(config)
    reports = (root or Path(settings.root)) / "reports"
    assemble(manuscript, reports, output, anonymous=settings.anonymous, project=Path.cwd())


def assemble(paper: Path, reports: Path, output: Path, *, anonymous: bool, project: Path) -> None:
    r"""Copy the manuscript and the results of every ``\study{…}`` to ``output``.

    The results, numbers, tables and figures, are verified first. ``sources.tex`` gives
    ``journeylab.sty`` a link to the script of each study's figures, unless the paper is anonymous,
    and a stamp for quick runs. An earlier ``output`` is replaced when all is there. Raises
    UserError for a manuscript without a study, for a study whose results are missing or damaged,
    and for an ``output`` that holds other files.
    """
    _check_output(output, paper)
    written = [read_text(path) for path in sorted(paper.glob("*.tex"))]
    studies = sorted({study for text in written for study in STUDY.findall(text)})
    if not studies:
        raise UserError(rf"{paper}: no .tex file names a study; write, for example, \study{{exp5}}")
    for study in studies:
        manifest = reports / study / MANIFEST
        if not manifest.exists():
            raise UserError(f"{manifest} is missing; `{remake(manifest)}` makes it")
        verify_files(manifest.parent, read_json(manifest)["files"])
    scales = {read_json(reports / study / "numbers.json")[f"{study}.scale"] for study in studies}
    lines = [COMMANDS]
    if "quick" in scales:
        lines.append(rf"\def\journeylab@stamp{{{escape(STAMP)}}}")
    if anonymous:
        lines.append(r"\anonymoustrue")
    else:
        lines += [_source(study, project, output) for study in studies]
    target = output.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as temporary:
        made = Path(temporary) / "made"
        shutil.copytree(paper, made)
        if not (made / STYLE.name).exists():
            shutil.copyfile(STYLE, made / STYLE.name)
        for study in studies:
            for path in (path for kept in KEPT for path in (reports / study).glob(kept)):
                copy = made / path.relative_to(reports)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
        (made / SOURCES).write_text("\n".join([*lines, ""]), encoding="ascii")
        if target.exists():
            target.rename(Path(temporary) / "before")
        made.rename(target)


def check_log(log: Path) -> None:
    """Raise UserError for a table that does not fit by over 1 pt, or a reference to none."""
    table = None
    for found in _LOGGED.finditer(log.read_text(encoding="utf-8", errors="replace")):
        size, side = found["over"] or found["large"], found["side"] or "high"
        if reference := found["reference"]:
            study, _, name = reference.removeprefix("tab:").partition("-")
            raise UserError(
                rf"{log}: {reference} is undefined; \resulttable{{{study}/{name}}} prints it"
            )
        if size is None:
            table = found["table"]
        elif table and float(size) > 1:
            raise UserError(
                rf"{log}: {table} is {size} pt too {side}; put its \resulttable outside boxes and "
                "narrow columns, or shorten its words in names.yaml"
            )


def _check_output(output: Path, paper: Path) -> None:
    """Raise UserError for an output folder that may not be replaced.

    It may be if it is empty or an earlier output, which holds SOURCES, and if it neither holds the
    manuscript or the working directory nor lies in the manuscript.
    """
    for folder in (paper, Path.cwd()):
        if folder.resolve().is_relative_to(output.resolve()):
            raise UserError(
                f"{output}: is or contains {folder}, which would be lost; write another folder"
            )
    if output.exists() and not (output / SOURCES).exists():
        if not output.is_dir():
            raise UserError(f"{output}: is a file; write a folder")
        if any(output.iterdir()):
            raise UserError(
                f"{output}: holds files that this command did not write (no {SOURCES}); write "
                "another folder, or remove it"
            )
    if output.resolve().is_relative_to(paper.resolve()):
        raise UserError(f"{output}: lies in {paper}; write a folder outside, such as build/paper")


def _source(study: str, project: Path, output: Path) -> str:
    """A link to the script that draws a study's figures, on the web or in this checkout."""
    script = (study_folder(study) / "figures.py").relative_to(CODE)
    git = git_state(project)
    text = escape(f"{script.parent.name}/{script.name}")
    for end in ("/", r"\_"):
        text = text.replace(end, rf"{end}\allowbreak ")
    if git.commit:
        text += f" at {git.commit[:7]}{'*' * bool(git.dirty)}"
    if git.commit and (
        page := web_page((ask_git(project, "remote", "get-url", "origin") or "").strip())
    ):
        link = f"{page}/blob/{git.commit}/{script.as_posix()}"
    else:
        link = f"run:{os.path.relpath(project / script, output)}"
    return rf"\@namedef{{journeylab@source@{study}}}{{\href{{{link}}}{{{text}}}}}"


def web_page(remote: str) -> str | None:
    """The web page of a repository by its remote address, without credentials.

    None for a path, and for an address with characters that LaTeX would read otherwise.
    """
    if match := re.fullmatch(r"(?:ssh://)?[\w.-]+@([\w.-]+)[:/](.+)", remote):
        host, path = match.groups()
    else:
        parts = urlsplit(remote)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return None
        host, path = parts.hostname, parts.path
    page = f"{host}/{path.strip('/').removesuffix('.git')}"
    return f"https://{page}" if re.fullmatch(r"[\w./-]+", page, re.ASCII) else None
