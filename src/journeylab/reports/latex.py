"""LaTeX: booktabs tables, safe with any text in a cell, and the macros \\result and \\rawresult."""

import math
import re
import textwrap
import unicodedata
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from matplotlib._mathtext_data import tex2uni

from journeylab.config import UserError
from journeylab.wording.typography import Number, plain

_SPECIAL = {sign: rf"\{sign}" for sign in "{}$&#%_"}
_SPECIAL |= {sign: f"{{{sign}}}" for sign in "[]-'`"}
_SPECIAL |= {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedblright{}",
}
_KERNEL = re.compile(
    r"""
    times|pm|div|neg|leq|geq|neq|approx|equiv|sim|simeq|cong|propto|ll|gg|subset|subseteq|
    supset|supseteq|in|ni|cup|cap|emptyset|wedge|vee|forall|exists|otimes|oplus|odot|circ|star|
    infty|nabla|partial|sum|prod|int|perp|parallel|Vert|langle|rangle|lceil|rceil|lfloor|rfloor|
    top|bot|prime|leftarrow|rightarrow|uparrow|downarrow|leftrightarrow|mapsto|Leftarrow|
    Rightarrow|Leftrightarrow|dagger|ddagger|ell|bigcirc|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|
    Upsilon|Phi|Psi|Omega|alpha|beta|gamma|delta|varepsilon|zeta|eta|theta|iota|kappa|lambda|mu|
    nu|xi|pi|rho|sigma|tau|upsilon|phi|varphi|chi|psi|omega|vartheta|varsigma|hbar|aleph|wp|
    imath|jmath|Re|Im
    """,
    re.VERBOSE,
)
"""Names that LaTeX knows without a package."""
_MATHS = {chr(code): rf"\{name}" for name, code in tex2uni.items() if _KERNEL.fullmatch(name)}
_MATHS |= {"−": "-", "·": r"\cdot", "•": r"\bullet", "√": r"\surd", "✗": r"\times"}
_MATHS |= {"″": r"{}^{\prime\prime}", "′": r"{}^{\prime}", "°": r"{}^{\circ}", "∆": r"\Delta"}
_ABSENT = {"mho", "sqsubset", "sqsupset", "unlhd", "unrhd", "Join"}
"""Names that LaTeX defines as an error without a package."""
_PACKAGED = {
    chr(code): rf"\{name}"
    for name, code in tex2uni.items()
    if name.isalpha() and name not in _ABSENT and unicodedata.category(chr(code)) in ("Sm", "So")
}
_SHAPES = {"<super>": "{{}}^{{{}}}", "<sub>": "{{}}_{{{}}}", "<font>": r"\mathbf{{{}}}"}
_SHAPES |= {"<fraction>": r"\frac{{{}}}{{{}}}"}
_ACCENTS = dict(
    zip(
        "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0323\u0327",
        "`'^~=u.\"rHvdc",
        strict=True,
    )
)
_TEXT = {
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "ß": r"\ss{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "§": r"\S{}",
    "¶": r"\P{}",
    "©": r"\copyright{}",
    "\u00a0": "~",
    "\u202f": r"\,",
    "\u2009": r"\,",
}
_KNOWN = {sign: rf"\ensuremath{{{form}}}" for sign, form in _MATHS.items()} | _TEXT | _SPECIAL
_CHARACTER = re.compile("[A-Za-z][\u0300-\u036f]+|.", re.DOTALL)
"""A character, or a letter with its accents."""
_KEY = re.compile(r"[A-Za-z0-9_.=-]+")

_WORD = re.compile("[^ -]+-?")
STYLE = Path(__file__).with_name("templates") / "journeylab.sty"
"""The LaTeX package that tables need."""
COMMANDS = r"""% Written by journeylab; changes will be overwritten.
\makeatletter
\providecommand{\result}[1]{%
  \ifcsname journeylab@\detokenize{#1}\endcsname
    \csname journeylab@\detokenize{#1}\endcsname
  \else
    \PackageError{journeylab}{%
      Unknown result '#1',\MessageBreak misspelled or before its \string\study}{}%
  \fi}
\providecommand{\rawresult}[1]{%
  \ifcsname journeylab@raw@\detokenize{#1}\endcsname
    \csname journeylab@raw@\detokenize{#1}\endcsname
  \else
    \PackageError{journeylab}{No finite number '#1'}{Unknown, a word or infinite.}%
  \fi}
\DeclareRobustCommand{\resultwords}[1]{\ifmmode\textnormal{#1}\else#1\fi}
\def\resulttext{\ifdefined\texorpdfstring\expandafter\texorpdfstring\else\expandafter\@firstoftwo\fi}
"""
r"""``\result`` and ``\rawresult``; words are upright in mathematics, bookmarks get plain text."""


def escape(text: str) -> str:
    """Text that pdflatex prints as it is, inside a paragraph or a table cell.

    Symbols become mathematics, white space a space, and a character without a LaTeX form its name
    in Unicode, in brackets: nothing is dropped and nothing is executed.
    """
    return "".join(map(_escape_character, _CHARACTER.findall(text)))


def latex_table(table: Mapping[str, Any], label: str) -> str:
    r"""A call of ``\resultrows`` of journeylab.sty, which makes the table fit; all text escaped.

    The table is as :func:`~journeylab.reports.tables.printed_table` gives it. Text longer than a
    word wraps: its column may not be narrower than its longest word, and gets a share of what other
    columns leave.
    """
    heads: list[str] = []
    columns: list[str] = []
    wrapped: dict[int, tuple[int, float]] = {}
    for i, column in enumerate(table["columns"]):
        head, side = column["head"], "r" if column["numeric"] else "l"
        cells = [row[i] for row in table["rows"]]
        longest = max(map(len, cells), default=0)
        word = max(map(len, _WORD.findall(" ".join([head, *cells]))), default=1)
        if longest > max(20 if column["numeric"] else 12, word):
            wrapped[i] = (word + 1, math.sqrt(longest - word))
            heads.append(escape(head))
        else:
            lines = textwrap.wrap(head, max(longest, word), break_on_hyphens=False)
            stacked = r"\\".join(map(escape, lines))
            heads.append(rf"\shortstack[{side}]{{{stacked}}}" if len(lines) > 1 else stacked)
        columns.append(side)
    total = sum(root for _, root in wrapped.values())
    for i, (least, root) in wrapped.items():
        columns[i] = f"J{{{least}}}{{{root / total:.3f}}}"
    stretch = total * max((root for _, root in wrapped.values()), default=0)
    caption, notes = escape(table["caption"]), escape(table["notes"])
    lines = [rf"\resultrow{{{' & '.join(map(escape, row))}}}" for row in table["rows"]]
    given = [label, caption, notes, "".join(columns), f"{stretch:.0f}"]
    arguments = [*given, " & ".join(heads), "%\n" + "%\n".join(lines)]
    return (
        "% Written by journeylab; changes will be overwritten.\n\\resultrows"
        + "%\n".join(f"{{{argument}}}" for argument in arguments)
        + "\n"
    )


def latex_macros(numbers: Mapping[str, Number]) -> str:
    r"""``\result{key}``, rounded, of every key, and ``\rawresult{key}`` of every finite number.

    The latter is what siunitx reads, with all its digits. An unknown key is a LaTeX error that
    names it. Raises UserError for a key that is not made of letters, digits, ``_ . = -``.
    """
    lines = []
    for key, value in sorted(numbers.items()):
        if not _KEY.fullmatch(key):
            raise UserError(f"number {key!r}: a key is made of letters, digits, _ . = -")
        lines.append(rf"\@namedef{{journeylab@{key}}}{{{_printed(plain(value))}}}")
        if isinstance(value, int | float) and math.isfinite(value):
            lines.append(rf"\@namedef{{journeylab@raw@{key}}}{{{value!r}}}")
    return COMMANDS + "\n".join(lines) + "\n\\makeatother\n"


def _printed(text: str) -> str:
    """A value for prose, mathematics and bookmarks."""
    printed = escape(text)
    if re.search("[A-Za-z]", text):
        printed = rf"\resultwords{{{printed}}}"
    if text.isascii():
        return printed
    codes = (
        " " if c.isspace() else escape(c) if c.isascii() else f"\\unichar{{{ord(c)}}}" for c in text
    )
    return rf"\resulttext{{{printed}}}{{{''.join(codes)}}}"


def _escape_character(character: str) -> str:
    if character in _KNOWN:
        return _KNOWN[character]
    if character.isspace():
        return " "
    if character.isascii() and character.isprintable():
        return character
    kind = unicodedata.decomposition(character[0]).partition(" ")[0]
    parts = unicodedata.normalize("NFKD", character).replace("−", "-")
    if kind in _SHAPES and re.fullmatch("[A-Za-z0-9+=()⁄-]+", parts):
        return rf"\ensuremath{{{_SHAPES[kind].format(*parts.split('⁄'))}}}"
    base, accents = parts[0], parts[1:]
    if accents and base.isascii() and base.isalpha() and set(accents) <= set(_ACCENTS):
        return reduce(lambda letter, accent: rf"\{_ACCENTS[accent]}{{{letter}}}", accents, base)
    if len(character) > 1 or parts != character:
        return "".join(map(_escape_character, parts))
    words = unicodedata.name(character, f"U+{ord(character):04X}").lower()
    words = f"{{[}}{words.replace('-', '{-}')}{{]}}"
    if name := _PACKAGED.get(character):
        return rf"\ifdefined{name}\ensuremath{{{name}}}\else{words}\fi{{}}"
    return words
