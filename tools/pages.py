"""Write the guide, gallery and API as HTML pages that load no file from outside their folder.

Run by `make docs`. pdoc writes pages of modules only, so each Markdown file of the guide becomes
the docstring of a temporary module. All pages then share the same layout, menu and search.
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

from journeylab.records.files import find_files
from journeylab.reports.gallery import render_pages

PROJECT = Path(__file__).parents[1]
API = ("journeylab.operators", "journeylab.models", "journeylab.claims")
GUIDE = (
    *("tutorial", "commands", "documents", "config", "claims", "coverage", "judge"),
    *("judge-a-table", "glossary", "models", "clusters", "evidence", "deposit", "round"),
    *("reliability", "environment", "another-paper", "house", "design", "speed", "references"),
    "contributing",
)
"""The pages of the guide in the order of the menu."""
ELSEWHERE = {"config": "config/README.md", "contributing": "CONTRIBUTING.md"}
"""Those that are not in ``docs``."""
PAGES = {"guide": "README.md"} | {
    f"guide.{name}": ELSEWHERE.get(name, f"docs/{name}.md") for name in GUIDE
}
GALLERY = Path("docs/gallery")
BADGE = re.compile(r"\[!\[[^]]*\]\(https://[^)]*\)\]\([^)]*\)\n")
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\(([^)\s]+)\)")


def main(output: Path) -> None:
    """Empty `output` and write all pages into it."""
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(PROJECT / GALLERY, output / "gallery")
    reports = sorted(find_files(output / "gallery", "*.pdf"), key=study_number)
    pages = {report.stem: render_pages(report, output / "gallery") for report in reports}
    modules = {name: doc.Module.from_name(name) for name in extract.walk_specs(API)}
    addresses = {path: address(name) for name, path in PAGES.items()}
    for name, module in modules.items():
        if module.source_file:
            addresses[module.source_file.relative_to(PROJECT).as_posix()] = address(name)
    files = (output / "gallery").iterdir()
    addresses |= {(GALLERY / file.name).as_posix(): f"gallery/{file.name}" for file in files}
    texts = {name: (PROJECT / path).read_text(encoding="utf-8") for name, path in PAGES.items()}
    texts["guide.gallery"] = "\n\n".join(gallery(pages, output / "gallery/index.html"))
    for name, text in texts.items():
        file = PROJECT / PAGES.get(name, "docs/gallery.md")
        text = LINK.sub(
            partial(relink, file=file, name=name, addresses=addresses), BADGE.sub("", text)
        )
        page = ModuleType(name, text)
        page.__docformat__ = "markdown"
        modules[name] = doc.Module(page)
    menu = [name for name in texts if name != "guide"]
    modules["guide"].__dict__["submodules"] = [modules[name] for name in (*menu, *API)]
    # pdoc prints annotations that only a type checker can import as text
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
    """The file to which pdoc writes a module's page."""
    return f"{name.replace('.', '/')}.html"


def study_number(report: Path) -> tuple[int, str]:
    """Sort key: exp2 before exp10, reports without a number last."""
    number = report.stem.removeprefix("exp")
    return (int(number) if number.isdecimal() else sys.maxsize, report.stem)


def gallery(pages: dict[str, list[Path]], index: Path) -> Iterator[str]:
    """The claims index, if it is there, and the pages of every report, as Markdown."""
    yield "# Gallery"
    if index.exists():
        yield f"[All claims of all studies]({GALLERY.name}/{index.name})"
    for report, pictures in pages.items():
        yield f"## {report}\n\n[The whole report]({GALLERY.name}/{report}.pdf)"
        for number, picture in enumerate(pictures, 1):
            yield f"![{report}, page {number}]({GALLERY.name}/{picture.name})"


def relink(link: re.Match[str], file: Path, name: str, addresses: dict[str, str]) -> str:
    """Rewrite a link for its page; a link to a file that has no page becomes plain text."""
    picture, words, target = link.groups()
    if "://" in target:
        return link[0]
    path, _, part = target.partition("#")
    linked = (file.parent / path).resolve() if path else file
    page = addresses.get(linked.relative_to(PROJECT).as_posix())
    if page is None:
        return words
    page = "../" * name.count(".") + page
    if picture:
        return f'<img src="{page}" alt="{words}" loading="lazy" style="max-width: 100%">'
    return f"[{words}]({page}{'#' * bool(part)}{part})"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
