"""The text of a LaTeX manuscript, as readers see it, and the files that it includes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pylatexenc.latexwalker import LatexWalker, LatexWalkerError, get_default_latex_context_db
from pylatexenc.macrospec import LatexContextDb, std_environment, std_macro

from journeylab.audit.script import BREAK, EXEMPT, UNIT, Mark, Script, Source, read_text
from journeylab.config import UserError

_SKIPPED = {
    name: arguments
    for arguments, names in {
        "": "maketitle tableofcontents hline toprule midrule bottomrule centering par noindent",
        "{": "label pagestyle thispagestyle bibliographystyle bibliography usetikzlibrary "
        "pagenumbering vspace hspace vskip hskip graphicspath hypersetup sisetup geometry "
        "captionsetup lstset color "
        "cmidrule cline nocite url path bibitem includeonly pgfplotsset hyphenation",
        "*{": "vspace* hspace*",
        "[{": "documentclass usepackage RequirePackage PassOptionsToPackage",
        "{{": "setlength addtolength setcounter addtocounter settowidth newlength fontsize "
        "linespread",
        "{{{": "definecolor",
        "[{{": "rule",
    }.items()
    for name in names.split()
}
_TEXT = {
    **{name: f"{name}" for name in "%&#$_{}"},
    **dict.fromkeys((",", "thinspace", ":", ";", ">", "!"), "\u202f"),
    **dict.fromkeys((" ", "quad", "qquad", "/", "@", "-"), " "),
    **{
        "times": "×",
        "cdot": "·",
        "pm": "±",
        "mp": "±",
        "leq": "≤",
        "le": "≤",
        "geq": "≥",
        "ge": "≥",
    },
    **{
        "approx": "≈",
        "sim": "∼",
        "simeq": "≈",
        "lt": "<",
        "gt": ">",
        "textless": "<",
        "textgreater": ">",
    },
    **{"minus": "−", "textminus": "−", "percent": "%", "textendash": "–", "textemdash": "—"},
    **{
        "ldots": "…",
        "dots": "…",
        "infty": "∞",
        "S": "§",
        "to": "→",
        "neq": "≠",
        "ne": "≠",
        "ll": "<",
        "gg": ">",
    },
}
_SPECIALS = {"~": "\u00a0", "--": "–", "---": "—", "``": "“", "''": "”", "&": "\t"}
_UNSEEN = {
    *("verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "comment", "tikzpicture"),
    *("thebibliography", "filecontents", "filecontents*", "algorithmic"),
}
_ROWS = {"tabular", "tabular*", "tabularx", "longtable", "array", "align", "align*", "matrix"}
_REFERENCES = re.compile(r"(?:[A-Za-z]*ref|[Cc]refrange|labelcref)\*?")
_WITHOUT_FI = {
    *("iff", "ifthenelse", "iftoggle", "ifbool", "ifdef", "ifundef"),
    *("ifblank", "ifstrempty", "ifstrequal", "ifnumcomp"),
}
"""Macros that begin with “if” and no ``\\fi`` ends."""
_CITATIONS = re.compile(r"[A-Za-z]*cite[A-Za-z]*\*?")
_BLOCKS = re.compile(
    r"(?:part|chapter|(?:sub)*section|(?:sub)?paragraph|caption|title|author|date)\*?"
)


class Include(NamedTuple):
    """A file that the manuscript includes: ``name`` as written; a figure of a study or a file."""

    source: Source
    offset: int
    name: str
    kind: str
    """``study``, ``studyfigure``, ``includegraphics`` or ``input``."""


class Latex(NamedTuple):
    """The text of a manuscript, its included files, and all files that were read."""

    script: Script
    includes: list[Include]
    sources: list[Source]


def read_latex(path: Path) -> Latex:
    r"""Read a manuscript; ``\input`` and ``\include`` are followed where the file exists.

    Raises UserError for a file that cannot be read or parsed.
    """
    reader = _Reader(path.parent)
    reader.read(path)
    return Latex(reader.script, reader.includes, reader.sources)


@cache
def _context() -> LatexContextDb:
    known = get_default_latex_context_db()
    macros = [
        *(std_macro(name, arguments) for name, arguments in _SKIPPED.items()),
        *(std_macro(name, "{") for name in ("result", "rawresult", "study", "input", "include")),
        *(std_macro(name, "[{") for name in ("num", "ang", "includegraphics", "unit", "si")),
        *(
            std_macro(name, "*{")
            for name in ("autoref", "ref", "pageref", "nameref", "cref", "Cref")
        ),
        *(std_macro(name, "[{{") for name in ("qty", "SI", "numrange", "studyfigure")),
        *(std_macro(name, "[{{{") for name in ("qtyrange", "SIrange")),
        *(std_macro(name, "{{") for name in ("href", "crefrange", "Crefrange")),
        *(std_macro(name, "{{{") for name in ("multicolumn", "multirow")),
        *(std_macro(name, "[[{") for name in ("cite", "citep", "citet", "parencite", "textcite")),
        *(std_macro(name, "*[{") for name in ("title", "author")),
    ]
    environments = [
        *(std_environment(name, "{") for name in ("tabular", "array", "minipage", "minted")),
        *(std_environment(name, "{{") for name in ("tabularx", "tabular*")),
        *(
            std_environment(name, "[")
            for name in ("figure", "table", "figure*", "table*", "theorem")
        ),
    ]
    known.add_context_category("journeylab", macros=macros, environments=environments, prepend=True)
    return known


class _Reader:
    """Walks through the files of a manuscript and writes their text into one script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = Script()
        self.includes: list[Include] = []
        self.sources: list[Source] = []
        self._reading: list[Path] = []

    def read(self, path: Path) -> None:
        source = Source(path, read_text(path))
        for match in re.finditer(r"(?<!\\)%([^\n]*)", source.text):
            if EXEMPT.search(match[1]):
                source.exempt.add(source.line(match.start()))
        walker = LatexWalker(source.text, latex_context=_context(), tolerant_parsing=True)
        try:
            nodes, _, _ = walker.get_latex_nodes()
        except (LatexWalkerError, RecursionError) as error:
            reason = str(error).splitlines()[0] if str(error) else "nested too deep"
            raise UserError(f"{path}: is not LaTeX that can be read ({reason})") from None
        self.sources.append(source)
        self._reading.append(path)
        self._walk(nodes, source, rows=False)
        self._reading.pop()

    def _walk(self, nodes: Iterable[Any] | None, source: Source, *, rows: bool) -> None:
        hidden = 0  # inside \iffalse … \fi
        for node in nodes or ():
            if node is None:
                continue
            name = getattr(node, "macroname", None)
            if hidden:
                begins = str(name or "").startswith("if") and name not in _WITHOUT_FI
                hidden += begins - (name == "fi")
                if name == "else" and hidden == 1:
                    hidden = 0
                continue
            if name == "iffalse":
                hidden = 1
                continue
            self._node(node, source, rows=rows)
            if getattr(node, "environmentname", None) == "document":
                return

    def _node(self, node: Any, source: Source, *, rows: bool) -> None:
        kind = type(node).__name__
        if kind == "LatexCharsNode":
            self.script.copy(source, node.pos, node.pos + node.len)
        elif kind == "LatexCommentNode":
            self.script.add(" ", source, node.pos)
        elif kind == "LatexSpecialsNode":
            text = _SPECIALS.get(node.specials_chars, node.specials_chars)
            self.script.add(text, source, node.pos)
        elif kind == "LatexGroupNode":
            raised = self.script.last in ("^", "_")
            self.script.add("{" * raised, source, node.pos)
            self._walk(node.nodelist, source, rows=rows)
            self.script.add("}" * raised, source, node.pos)
        elif kind == "LatexMathNode":
            display = node.displaytype == "display"
            self.script.add(" " * display, source, node.pos)
            self._walk(node.nodelist, source, rows=rows)
        elif kind == "LatexEnvironmentNode":
            self._environment(node, source, rows=rows)
        else:
            self._macro(node, source, rows=rows)

    def _environment(self, node: Any, source: Source, *, rows: bool) -> None:
        name = node.environmentname
        if name in _UNSEEN:
            self.script.add(BREAK, source, node.pos)
            return
        inner = name in _ROWS
        aside = inner or name in ("figure", "table", "figure*", "table*")
        self.script.add(BREAK if aside else " ", source, node.pos)
        if name in ("theorem", "lemma", "proposition", "claim"):  # the printed name
            self._walk(_arguments(node), source, rows=False)
        self._walk(node.nodelist, source, rows=inner or (rows and not aside))
        self.script.add(BREAK if aside else " ", source, node.pos + node.len - 1)

    def _macro(self, node: Any, source: Source, *, rows: bool) -> None:
        name, at, given = node.macroname, node.pos, _arguments(node)
        if name in ("result", "rawresult"):
            self.script.mark(Mark(name, _written(given[-1], source)), source, at)
        elif name == "verb" or name in _SKIPPED or _CITATIONS.fullmatch(name):
            self.script.add(" ", source, at)
        elif _REFERENCES.fullmatch(name) and name != "href":
            for label in _written(given[-1] if given else None, source).split(","):
                self.script.mark(Mark("reference", label.strip()), source, at)
        elif name in ("study", "studyfigure", "includegraphics"):
            shown = "/".join(
                _written(part, source) for part in given[-2 if name[5:] == "figure" else -1 :]
            )
            self.includes.append(Include(source, at, shown, name))
        elif name in ("input", "include"):
            self._input(node, source, _written(given[-1], source))
        elif name == "\\":
            self.script.add(BREAK if rows else " ", source, at)
        elif name == "item" or _BLOCKS.fullmatch(name):
            self.script.add(BREAK, source, at)
            self._walk(given if name != "item" else (), source, rows=False)
            self.script.add(BREAK if name != "item" else " ", source, node.pos + node.len - 1)
        elif name in _TEXT:
            self.script.add(_TEXT[name], source, at)
        else:
            self._known_form(name, given, node, source, rows=rows)

    def _known_form(
        self, name: str, given: Sequence[Any], node: Any, source: Source, *, rows: bool
    ) -> None:
        """Macros whose arguments are numbers with units, definitions, or text."""
        if name in ("qty", "SI", "qtyrange", "SIrange", "numrange"):
            ranged = name.endswith("range")
            numbers = given[1:3] if ranged else given[1:2]
            for i, number in enumerate(numbers):
                self.script.add(" to " * (i > 0), source, node.pos)
                self._walk([number], source, rows=False)
            unit = "" if name == "numrange" else _written(given[-1], source)
            if unit:
                self.script.add(
                    "%" if "percent" in unit or unit == "\\%" else UNIT, source, node.pos
                )
        elif name in ("num", "ang"):
            self._walk(given[-1:], source, rows=False)
        elif name == "frac" and len(given) == 2:
            self.script.add(UNIT, source, node.pos)
        elif name in ("newcommand", "renewcommand", "providecommand", "def"):
            self.script.add(BREAK, source, node.pos)
            self._walk(given[-1:], source, rows=False)
            self.script.add(BREAK, source, node.pos)
        elif name in ("href", "textcolor", "colorbox", "multicolumn", "multirow"):
            self._walk(given[-1:], source, rows=rows)
        elif given:
            self._walk(given, source, rows=rows)
        elif node.macro_post_space:
            self.script.add(" ", source, node.pos)

    def _input(self, node: Any, source: Source, name: str) -> None:
        path = self.folder / name
        if not path.suffix:
            path = path.with_name(f"{path.name}.tex")
        if re.match(r"exp\d+/", name):  # a table of a report, compared with its checksum
            self.includes.append(Include(source, node.pos, name, "input"))
        elif path.exists() and path not in self._reading:
            self.script.add(BREAK, source, node.pos)
            self.read(path)
            self.script.add(BREAK, source, node.pos)
        elif not path.exists():
            self.includes.append(Include(source, node.pos, name, "input"))


def _arguments(node: Any) -> list[Any]:
    return list(node.nodeargd.argnlist or ()) if node.nodeargd else []


def _written(node: Any, source: Source) -> str:
    """The source text of an argument, without its braces."""
    if node is None:
        return ""
    text = source.text[node.pos : node.pos + node.len].strip()
    return text[1:-1].strip() if text[:1] in ("{", "[") else text
