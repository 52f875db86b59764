"""`make docs` writes every page, and every link has its file."""

import os
import re
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pypdfium2
import pytest

from ..made import PROJECT, ran

PDOC = PROJECT / "build/pdoc"

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not PDOC.exists(), reason="pdoc is missing (make docs)"),
]


SHOWN = sorted(PROJECT.glob("docs/gallery/*.pdf"))[:2]
"""The reports whose pages are drawn: those of all take longer than everything else."""
SCRIPT = f"""
import sys
from pathlib import Path
import pages
pages.find_files = lambda folder, pattern: [folder / name for name in {[p.name for p in SHOWN]}]
pages.main(Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages") / "site"
    search = (PDOC, PROJECT / "src", PROJECT / "tools")
    path = os.pathsep.join(map(str, search))
    done = ran(sys.executable, "-c", SCRIPT, str(folder), folder=PROJECT, PYTHONPATH=path)
    assert done.stderr == ""
    return folder


def links(page):
    return re.findall(r'(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8"))


def test_every_module_and_document_has_a_page(site):
    source = PROJECT / "src"
    modules = [
        path.relative_to(source).with_suffix(".html")
        for name in ("operators", "models", "claims")
        for path in (source / "journeylab" / name).glob("[!_]*.py")
    ]
    documents = [Path("guide", f"{path.stem}.html") for path in PROJECT.glob("docs/*.md")]
    assert len(modules) > 20
    assert [path for path in (*modules, *documents) if not (site / path).exists()] == []
    assert "Prefix products of operators" in (site / "journeylab/operators/scan.html").read_text()


def test_every_relative_link_on_the_pages_has_its_file(site):
    pages = list(site.rglob("*.html"))
    targets = {(page, link) for page in pages for link in links(page)}
    missing = [
        (page.relative_to(site), link)
        for page, link in targets
        if not re.match(r"https?:|#|data:|\$", link)
        and not (page.parent / unquote(unescape(link)).partition("#")[0]).exists()
    ]
    assert missing == []


def test_the_menu_of_the_readme_links_all_documents(site):
    menu = set(links(site / "guide.html"))
    documents = {f"guide/{path.name}" for path in (site / "guide").glob("*.html")}
    assert documents | {"journeylab/operators.html", "journeylab/claims.html"} <= menu


def test_the_gallery_shows_every_page_of_every_report(site):
    pages = {
        f"../gallery/{report.stem}-{page + 1}.png"
        for report in SHOWN
        for page in range(len(pypdfium2.PdfDocument(report)))
    }
    assert SHOWN
    assert pages <= set(links(site / "guide/gallery.html"))


def test_the_pages_load_nothing_from_the_network(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="https?:', text) == []
