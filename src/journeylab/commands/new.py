"""``journeylab new``: a complete study that runs, whose parts the researcher replaces."""

import re
import shutil
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template
from textwrap import indent
from typing import Annotated, Any

import typer
import yaml

from journeylab.config import UserError, read_yaml
from journeylab.records.files import write_atomic
from journeylab.records.fingerprint import PROJECT_STUDIES as OWN

MODULES = ("__init__", "settings", "data", "models", "measure", "compute", "figures")
CONFIG, CLAIMS, THEOREMS = "config.yaml", "claims", "claims/theorems.yaml"
EXAMPLE = "prop:example"
"""The theorem that the claims of a new study name."""
LONGEST = 40
"""Longest name of a study's folder, so that an import of it fits on a line."""
_STUDIES = re.compile(
    r"^studies:[^\n]*\n(?:(?:[ \t]*\n|#[^\n]*\n)*[ \t]+\S[^\n]*\n)*", re.MULTILINE
)
"""The block of the studies, up to its last line that is indented."""


def new(name: Annotated[str, typer.Argument(help="Folder name, e.g. exp14_name.")]) -> None:
    """Create a new study: modules, tests, claims, and a section of config.yaml."""
    typer.echo("\n".join(f"wrote {path}" for path in scaffold(name, Path.cwd())))


def scaffold(name: str, project: Path) -> list[Path]:
    """Write the study ``name``, e.g. ``exp14_name``, into a project; return the files written.

    Modules, tests and claims are new files, the modules in ``studies/`` if the project has that
    folder, else in ``src/journeylab/studies/``; ``config.yaml`` gains a section and
    ``theorems.yaml`` the theorem of the example, and both are otherwise unchanged. Raises UserError
    for a malformed or existing name, and for a folder that is not a project; then nothing is
    written.
    """
    match = re.fullmatch(r"(exp[1-9][0-9]*)_([a-z0-9]+(?:_[a-z0-9]+)*)", name)
    if not match or len(name) > LONGEST:
        raise UserError(f"study {name!r}: write exp, a number, _ and a short name, e.g. exp14_name")
    study = match[1]
    package = OWN if (project / OWN).is_dir() else "journeylab.studies"
    folder = project / (OWN if package == OWN else "src/journeylab/studies")
    modules, tests = folder / name, project / "tests/studies" / study
    claims = project / CLAIMS / f"{study}.yaml"
    _check_free(study, project, modules, tests, claims)
    names = study_names(name, package)
    texts = study_files(names, modules)
    texts[tests / f"test_{study}.py"] = filled("study", "test.py", names)
    theorems = project / THEOREMS
    if theorems.exists():
        texts[theorems] = _with_example(theorems, study)
    texts[claims] = filled("study", "claims.yaml", names)
    # last: a study that is left half written is in no configuration
    config = project / CONFIG
    texts[config] = _extended(config, study, filled("study", CONFIG, names))
    try:
        for path, text in texts.items():
            with write_atomic(path) as partial:
                partial.write_text(text, encoding="utf-8")
    except OSError:  # such as a full disk: the same command works when there is room
        for made in (modules, tests):
            shutil.rmtree(made, ignore_errors=True)
        claims.unlink(missing_ok=True)
        raise
    return [*texts]


def _check_free(study: str, project: Path, modules: Path, tests: Path, claims: Path) -> None:
    for folder in (modules.parent, claims.parent):
        if not folder.is_dir():
            raise UserError(f"{project}: no {folder.relative_to(project)}; run in the project")
    if study in _studies(read_yaml(project / CONFIG)):
        raise UserError(f"{project / CONFIG}: studies.{study}: exists; choose another number")
    for taken in (*modules.parent.glob(f"{study}_*"), *modules.parent.glob(study), tests, claims):
        if taken.exists():
            raise UserError(f"{taken}: exists; choose another number than {study}")


def study_names(folder: str, package: str) -> dict[str, str]:
    """What the templates of a study name: its id, folder, package and title."""
    study, _, title = folder.partition("_")
    title = title.replace("_", " ").capitalize()
    return {"study": study, "folder": folder, "package": package, "title": title}


def study_files(names: Mapping[str, str], modules: Path) -> dict[Path, str]:
    """The text of every module of a study, by path."""
    texts = {modules / f"{part}.py": filled("study", f"{part}.py", names) for part in MODULES}
    for file in ("names.yaml", "report.typ"):
        texts[modules / file] = filled("study", file, names)
    return texts


def filled(kind: str, file: str, names: Mapping[str, str]) -> str:
    """A template of a study or a project, with names in place of ``$name``."""
    template = files("journeylab.commands") / "templates" / kind / f"{file}.template"
    return Template(template.read_text(encoding="utf-8")).substitute(names)


def _extended(path: Path, study: str, section: str) -> str:
    """The text of the file with ``section`` added after the last study."""
    text = path.read_text(encoding="utf-8")
    block = _STUDIES.search(text := text.rstrip("\n") + "\n")
    end = block.end() if block else len(text)
    first = re.search(r"^studies:.*\n(?:\s*(?:#.*)?\n)*( +)", text, re.MULTILINE)
    added = indent(section, first[1] if first else "  ")
    extended = f"{text[:end]}\n{added}{text[end:]}"
    expected = _studies(yaml.safe_load(text)) | yaml.safe_load(section)
    try:
        studies = _studies(yaml.safe_load(extended))
    except yaml.YAMLError:
        studies = {}
    if studies != expected:
        raise UserError(f"{path}: write studies: as an indented block, so that {study} fits in")
    return extended


def _with_example(path: Path, study: str) -> str:
    """The text of the file with the theorem that the claims of a new study name."""
    text = path.read_text(encoding="utf-8")
    known = yaml.safe_load(text)
    if EXAMPLE in [theorem["label"] for theorem in known["theorems"]]:
        return text
    document = f"  example: {{title: example that journeylab new writes, studies: [{study}]}}\n"
    before, heading, after = text.rstrip("\n").partition("\ntheorems:")
    extended = (
        f"{before.rstrip()}\n{document}{heading}{after}\n"
        f'  - label: "{EXAMPLE}"\n'
        "    document: example\n"
        "    name: Hidden layer (Proposition)\n"
        "    says: A hidden layer learns from few points to separate what no line can separate.\n"
    )
    try:
        labels = [theorem["label"] for theorem in yaml.safe_load(extended)["theorems"]]
    except (yaml.YAMLError, KeyError, TypeError):
        labels = []
    if EXAMPLE not in labels:
        raise UserError(f"{path}: write documents: and then theorems: as indented blocks")
    return extended


def _studies(content: Mapping[str, Any]) -> dict[str, Any]:
    studies = content.get("studies")
    return dict(studies) if isinstance(studies, Mapping) else {}
