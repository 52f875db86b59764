"""Write the pages: guide, gallery and API, as HTML that links to nothing outside its folder.

Run by `make docs`. The guide's Markdown is handed to pdoc as the docstrings of modules that exist
nowhere else, so that all pages have one form, one menu and one search.
"""

import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

from pdoc import doc, extract, render

PROJECT = Path(__file__).parents[1]
API = ("journeylab.operators", "journeylab.models", "journeylab.claims")
PAGES = {
    "guide": "README.md",
    "guide.tutorial": "docs/tutorial.md",
    "guide.config": "config/README.md",
    "guide.claims": "docs/claims.md",
    "guide.judge": "docs/judge.md",
    "guide.glossary": "docs/glossary.md",
    "guide.models": "docs/models.md",
    "guide.clusters": "docs/clusters.md",
    "guide.design": "docs/design.md",
    "guide.speed": "docs/speed.md",
    "guide.contributing": "CONTRIBUTING.md",
}
GALLERY = Path("docs/gallery")
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\(([^)\s]+)\)")


def main(output: Path) -> None:
    """Fill a folder, which is emptied first."""
    modules = {name: doc.Module.from_name(name) for name in extract.walk_specs(API)}
    places = {path: address(name) for name, path in PAGES.items()}
    for name, module in modules.items():
        if module.source_file:
            places[module.source_file.relative_to(PROJECT).as_posix()] = address(name)
    pictures = sorted((PROJECT / GALLERY).iterdir())
    places |= {(GALLERY / path.name).as_posix(): f"gallery/{path.name}" for path in pictures}
    texts = {name: (PROJECT / path).read_text(encoding="utf-8") for name, path in PAGES.items()}
    texts["guide.gallery"] = "\n\n".join(gallery(pictures))
    for name, text in texts.items():
        file = PROJECT / PAGES.get(name, "docs/gallery.md")
        text = LINK.sub(partial(relink, file=file, name=name, places=places), text)
        made = ModuleType(name, text)
        made.__docformat__ = "markdown"
        modules[name] = doc.Module(made)
    pages = [name for name in texts if name != "guide"]
    modules["guide"].__dict__["submodules"] = [modules[name] for name in (*pages, *API)]
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(PROJECT / GALLERY, output / "gallery")
    # what only a type checker imports is printed as it is written
    warnings.filterwarnings("ignore", "Error parsing type annotation")
    render.configure(docformat="restructuredtext", show_source=False)
    for name, module in modules.items():
        path = output / address(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render.html_module(module, modules), encoding="utf-8")
    (output / "search.js").write_text(render.search_index(modules), encoding="utf-8")
    (output / "index.html").write_text(
        '<!doctype html><meta http-equiv="refresh" content="0; url=guide.html">', encoding="utf-8"
    )


def address(name: str) -> str:
    """Where pdoc puts a module's page."""
    return f"{name.replace('.', '/')}.html"


def gallery(pictures: list[Path]) -> Iterator[str]:
    """Every report with its figures, as Markdown."""
    yield "# Gallery"
    for report in (path for path in pictures if path.suffix == ".pdf"):
        yield f"## {report.stem}\n\n[The whole report]({GALLERY.name}/{report.name})"
        for figure in pictures:
            if re.fullmatch(rf"{report.stem}-\D.*\.png", figure.name):
                yield f"![{figure.stem}]({GALLERY.name}/{figure.name})"


def relink(link: re.Match[str], file: Path, name: str, places: dict[str, str]) -> str:
    """A link as it is right on the page; what has no page keeps its words only."""
    picture, words, target = link.groups()
    if "://" in target:
        return link[0]
    path, _, part = target.partition("#")
    found = (file.parent / path).resolve() if path else file
    to = places.get(found.relative_to(PROJECT).as_posix())
    if to is None:
        return words
    to = "../" * name.count(".") + to
    if picture:
        return f'<img src="{to}" alt="{words}" style="max-width: 100%">'
    return f"[{words}]({to}{'#' * bool(part)}{part})"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
