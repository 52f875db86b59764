"""Where the typeset manuscript holds what a reviewer's ``change`` names: section, page and line."""

import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from journeylab.claims.round import ChangedPassage
from journeylab.config import meant

MANUSCRIPT, TYPESET = Path("paper"), Path("build/paper/paper.aux")
"""The sources of the manuscript, and what LaTeX wrote when `make paper` typeset it."""
_HEADINGS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_CONTENTS = re.compile(
    r"\\contentsline\s*\{(?P<kind>\w+)\}\{(?:\\numberline\s*\{(?P<number>[^{}]*)\})?(?P<title>.*)\}"
    r"\{(?P<page>[^{}]*)\}\{[^{}]*\}"
)
_LABEL = re.compile(r"\\newlabel\{(?P<label>[^{}]+)\}\{\{(?P<number>[^{}]*)\}\{(?P<page>[^{}]*)\}")
_SOURCE = re.compile(
    rf"\\(?P<kind>{'|'.join(_HEADINGS)}|label)\*?(?:\[[^]]*\])?\{{(?P<title>(?:[^{{}}]|\{{[^{{}}]*\}})*)\}}"
)
_NUMBERED = re.compile(
    r"\b(?P<kind>section|sec\.|§|appendix|figure|fig\.|table|tab\.|equation|eq\.)\s*~?"
    r"(?P<number>[A-Z]?\d*(?:\.\d+)*)(?!\w)",
    re.IGNORECASE,
)
_KINDS = {"fig": "figure", "tab": "table", "eq": "equation", "sec": "section", "app": "section"}
_KINDS |= dict.fromkeys(("§", "appendix"), "section")


class Passage(NamedTuple):
    """A heading or a label of the manuscript; ``line`` is the printed line, or None."""

    kind: str
    number: str
    title: str
    page: str
    label: str = ""
    source: str = ""
    line: int | None = None

    def __str__(self) -> str:
        heading = self.kind in _HEADINGS
        name = "Section" if heading else self.kind.capitalize()
        named = f"{name} {self.number}".strip() + (f" “{self.title}”" if self.title else "")
        page = f"page {self.page}" if self.page else ""
        line = f"line {self.line}" if self.line else ""
        return ", ".join(filter(None, (named, page, line, self.source)))


def find_passages(
    changes: Iterable[tuple[str, str]], manuscript: Path, typeset: Path
) -> dict[str, ChangedPassage]:
    """Where each change of `changes` (id of the point, text) is in the typeset manuscript.

    A change names a label (``sec:results``), a heading, or “Section 2.1”. `manuscript` is the
    folder of the sources, `typeset` the ``.aux`` file of the last run of LaTeX.
    """
    changes = list(changes)
    if not typeset.exists():
        problem = f"{typeset} is missing; `make paper` typesets the manuscript"
        return {point: ChangedPassage(problem=problem) for point, _ in changes}
    known = list(_passages(manuscript, typeset))
    located = {}
    for point, change in changes:
        matching = list(_matching(change, known))
        if matching:
            places = "; ".join(str(passage) for passage in matching[:3])
            located[point] = ChangedPassage(text=places)
            continue
        names = [passage.label or passage.title for passage in known]
        located[point] = ChangedPassage(
            problem=f"change {change!r} names no label, heading or section of the manuscript"
            + meant(change, names, cutoff=0.3)
        )
    return located


def _matching(change: str, known: list[Passage]) -> Iterator[Passage]:
    """The passages that a text names: by label, else by heading, else by number."""
    labels = [
        p
        for p in known
        if p.label and re.search(rf"(?<![\w:-]){re.escape(p.label)}(?![\w-])", change)
    ]
    if labels:
        yield from labels
        return
    text = _plain(change).lower()
    titles = [p for p in known if p.title and not p.label and _plain(p.title).lower() in text]
    yield from (p for p in titles if not any(p.title in q.title != p.title for q in titles))
    if titles:
        return
    for match in _NUMBERED.finditer(change):
        kind = match["kind"].lower().rstrip(".")
        wanted = _KINDS.get(kind, kind)
        for passage in known:
            heading = passage.kind in _HEADINGS
            same = heading and not passage.label if wanted == "section" else passage.kind == wanted
            if match["number"] and same and passage.number == match["number"]:
                yield passage
                break


def _passages(manuscript: Path, typeset: Path) -> Iterator[Passage]:
    """All headings and labels, with the lines of the sources and the printed lines."""
    auxiliary = typeset.read_text(encoding="utf-8", errors="replace")
    sources = _sources(manuscript)
    headings = [
        Passage(match["kind"], match["number"] or "", _plain(match["title"]), match["page"])
        for match in _CONTENTS.finditer(auxiliary)
        if match["kind"] in _HEADINGS
    ]
    titles = {heading.number: heading.title for heading in reversed(headings)}
    listed = {heading.title for heading in headings}
    unlisted = (
        Passage(kind, "", title, "")
        for title, (kind, _) in sources.items()
        if kind in _HEADINGS and title not in listed
    )
    labels = []
    for match in _LABEL.finditer(auxiliary):
        if "@" not in match["label"]:
            kind = _KINDS.get(match["label"].partition(":")[0], "label")
            title = titles.get(match["number"], "") if kind == "section" else ""
            labels.append(Passage(kind, match["number"], title, match["page"], match["label"]))
    with _opened(typeset.with_suffix(".pdf")) as document:
        for passage in (*headings, *unlisted, *labels):
            text = passage.title or f"{passage.kind} {passage.number}"
            page, line = _printed(document, text, passage.page)
            _, source = sources.get(passage.label or passage.title, ("", ""))
            number = passage.label if passage.kind == "label" else passage.number
            yield passage._replace(number=number, page=page, line=line, source=source)


def _sources(manuscript: Path) -> dict[str, tuple[str, str]]:
    """The kind, and the file and line, of all headings and labels of the sources."""
    known: dict[str, tuple[str, str]] = {}
    for path in sorted(manuscript.rglob("*.tex")):
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in _SOURCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            place = f"{path.relative_to(manuscript).as_posix()} line {line}"
            known.setdefault(_plain(match["title"]), (match["kind"], place))
    return known


def _plain(title: str) -> str:
    """A heading without macros and braces, with single spaces."""
    text = re.sub(r"\\protect\b|\\(?:texttt|emph|textbf|textit)\b|[{}$]", "", title)
    return " ".join(text.replace("~", " ").split())


def _opened(path: Path) -> AbstractContextManager[Any]:
    """The PDF of the manuscript, closed in the end; None without it."""
    import pypdfium2

    with suppress(FileNotFoundError, pypdfium2.PdfiumError):
        document: AbstractContextManager[Any] = pypdfium2.PdfDocument(path)
        return document
    return nullcontext()


def _printed(document: Any, text: str, page: str) -> tuple[str, int | None]:
    """The page of a text, and the number that the package lineno sets in the margin beside it.

    `page` is known from LaTeX; without it, the first page that has the text. Pages that cannot be
    read, since LaTeX was stopped, are left out.
    """
    import pypdfium2

    if document is None or not text:
        return page, None
    pages = range(len(document))
    if page.isdigit() and int(page) <= len(pages):
        pages = range(int(page) - 1, int(page))
    for index in pages:
        try:
            content = document[index].get_textpage()
        except pypdfium2.PdfiumError:
            continue
        position = content.search(text, match_case=False).get_next()
        if position is None:
            continue
        left, bottom, _, top = content.get_charbox(position[0])
        beside = content.get_text_bounded(left=0, bottom=bottom, right=left - 1, top=top)
        margin = re.match(r"\s*(\d+)\s+\d+(?:\.\d+)*\s*$|\s*(\d+)\s*$", beside)
        number = margin and (margin[1] or (margin[2] if _has_lines(content, left) else None))
        return page or str(index + 1), int(number) if number else None
    return page, None


def _has_lines(page: Any, left: float) -> bool:
    """Whether the lines of a page are numbered, left of where its headings begin."""
    text = page.get_text_bounded(left=0, bottom=0, right=left - 4, top=page.page.get_height())
    numbers = [int(word) for word in re.findall(r"\b\d+\b", text)]
    return len(numbers) > 5 and numbers == sorted(numbers)
