"""LaTeX: booktabs tables, safe with any text in a cell, and the macros \\result and \\rawresult."""

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping

import pandas as pd

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
_MATHS = {"−": "-", "×": r"\times", "·": r"\cdot", "±": r"\pm", "≤": r"\leq", "≥": r"\geq"}
_MATHS |= {
    "≠": r"\neq",
    "≈": r"\approx",
    "≡": r"\equiv",
    "∼": r"\sim",
    "↔": r"\leftrightarrow",
    "∞": r"\infty",
}
_MATHS |= {"∈": r"\in", "∘": r"\circ", "√": r"\surd", "∑": r"\sum", "Σ": r"\Sigma"}
_MATHS |= {"Δ": r"\Delta", "′": r"{}^{\prime}", "″": r"{}^{\prime\prime}", "‖": r"\Vert"}
_MATHS |= {"→": r"\rightarrow", "←": r"\leftarrow", "α": r"\alpha", "β": r"\beta"}
_MATHS |= {"γ": r"\gamma", "δ": r"\delta", "ε": r"\varepsilon", "θ": r"\theta"}
_MATHS |= {"κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu", "π": r"\pi", "ρ": r"\rho"}
_MATHS |= {"σ": r"\sigma", "τ": r"\tau", "φ": r"\varphi", "ω": r"\omega"}
_MATHS |= {"½": r"\frac{1}{2}", "✓": r"\surd", "✗": r"\times", "∂": r"\partial", "∇": r"\nabla"}
_RAISED = dict(zip("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹ᵀ", "-+0123456789T", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_TEXT = {
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "\u00a0": "~",
    "\u202f": r"\,",
    "\u2009": r"\,",
}
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

    Symbols become mathematics, white space a space, and a character without a LaTeX form its code
    point, as in U+4E2D: nothing is dropped and nothing is executed.
    """
    return "".join(_escape_character(character) for character in text)


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
    if character in _RAISED:
        return rf"\ensuremath{{{{}}^{{{_RAISED[character]}}}}}"
    if character in _LOWERED:
        return rf"\ensuremath{{{{}}_{{{_LOWERED[character]}}}}}"
    if character.isspace():
        return " "
    if " " <= character <= "~":
        return character
    if unicodedata.category(character).startswith("L") and character <= "\u017f":
        return _accented(character)
    return rf"\texttt{{U+{ord(character):04X}}}"


def _accented(character: str) -> str:
    """A Latin letter by its base and accent, so that the file stays ASCII."""
    accents = dict(zip("\u0300\u0301\u0302\u0303\u0308\u0327\u030a", "`'^~\"cr", strict=True))
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[1] in accents:
        return rf"\{accents[parts[1]]}{{{parts[0]}}}"
    letters = {"ß": r"\ss{}", "ø": r"\o{}", "Ø": r"\O{}", "æ": r"\ae{}", "Æ": r"\AE{}"}
    return letters.get(character, rf"\texttt{{U+{ord(character):04X}}}")
