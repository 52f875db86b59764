"""LaTeX: booktabs tables, safe with any text in a cell, and the macros \\result and \\rawresult."""

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import reduce

import pandas as pd
from matplotlib._mathtext_data import tex2uni

from journeylab.config import UserError
from journeylab.plotting.results import Table
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
_CHARACTER = re.compile("[A-Za-z][\u0300-\u036f]+|.", re.DOTALL)
"""A character, or a letter with its accents."""
_KEY = re.compile(r"[A-Za-z0-9_.=-]+")

_SMALL = "\\footnotesize\n\\setlength{\\tabcolsep}{3.5pt}\n"
_HEAD = r"""% Written by journeylab; changes will be overwritten.
\makeatletter
\providecommand{\result}[1]{%
  \ifcsname journeylab@#1\endcsname
    \csname journeylab@#1\endcsname
  \else
    \PackageError{journeylab}{Unknown result '#1'}{Input the numbers.tex that defines it.}%
  \fi}
\providecommand{\rawresult}[1]{%
  \ifcsname journeylab@raw@#1\endcsname
    \csname journeylab@raw@#1\endcsname
  \else
    \PackageError{journeylab}{No finite number '#1'}{Unknown, a word or infinite.}%
  \fi}
"""


def escape(text: str) -> str:
    """Text that pdflatex prints as it is, inside a paragraph or a table cell.

    Symbols become mathematics, white space a space, and a character without a LaTeX form its name
    in Unicode, in brackets: nothing is dropped and nothing is executed.
    """
    return "".join(map(_escape_character, _CHARACTER.findall(text)))


def latex_table(table: Table, label: str) -> str:
    """A ``table`` float with booktabs rules; every cell, head and caption escaped.

    The document loads ``booktabs``.
    """
    frame = table.frame.map(lambda cell: escape(str(cell)))
    frame.columns = pd.Index([escape(str(head)) for head in table.frame.columns])
    aligned = "".join(_alignments(table))
    text: str = frame.style.hide(axis="index").to_latex(
        hrules=True,
        column_format=aligned,
        position="!htbp",
        position_float="centering",
        caption=escape(table.caption),
        label=label,
    )
    text = text.replace(r"\begin{tabular}", _SMALL + r"\begin{tabular}")
    if table.notes:
        notes = rf"\par\smallskip{{\footnotesize {escape(table.notes)}\par}}"
        text = text.replace(r"\end{table}", f"{notes}\n\\end{{table}}")
    return text


def latex_macros(numbers: Mapping[str, Number]) -> str:
    r"""``\result{key}``, rounded, of every key, and ``\rawresult{key}`` of every finite number.

    The latter is what siunitx reads, with all its digits. An unknown key is a LaTeX error that
    names it. Raises UserError for a key that is not made of letters, digits, ``_ . = -``.
    """
    lines = []
    for key, value in sorted(numbers.items()):
        if not _KEY.fullmatch(key):
            raise UserError(f"number {key!r}: a key is made of letters, digits, _ . = -")
        lines.append(rf"\@namedef{{journeylab@{key}}}{{{escape(plain(value))}}}")
        if isinstance(value, int | float) and math.isfinite(value):
            lines.append(rf"\@namedef{{journeylab@raw@{key}}}{{{value!r}}}")
    return _HEAD + "\n".join(lines) + "\n\\makeatother\n"


def _alignments(table: Table) -> Iterator[str]:
    """Numbers to the right; long text is wrapped, earlier and narrower beside much other text."""
    crowded = len(table.frame.columns) - len(table.numeric) > 4
    limit, width = (20, 0.19) if crowded else (34, 0.29)
    for head in table.frame.columns:
        longest = max((len(str(cell)) for cell in table.frame[head]), default=0)
        if head in table.numeric:
            yield "r"
        else:
            yield rf"p{{{width}\linewidth}}" if longest > limit else "l"


def _escape_character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character in _TEXT:
        return _TEXT[character]
    if character in _MATHS:
        return rf"\ensuremath{{{_MATHS[character]}}}"
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
