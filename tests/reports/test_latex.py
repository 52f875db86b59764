import re
from pathlib import Path
from unicodedata import combining

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from journeylab.config import UserError
from journeylab.plotting import Table
from journeylab.reports.latex import escape, latex_macros, latex_table
from journeylab.reports.tables import printed_table

PROJECT = Path(__file__).parents[2]
SPECIAL = "\\{}$&#%_^~"
COMMANDS = re.compile(
    r"\\(textbackslash|textasciicircum|textasciitilde|textless|textgreater|textbar"
    r"|textquotedblright|dots|copyright|ss|oe|OE|ae|AE|[oOlLSP])\{\}"
    r"|\\ensuremath\{(?:[^{}]|\{[^{}]*\})*\}|\\ifdefined\\[A-Za-z]+|\\else|\\fi\{\}"
    r"|\\[{}$&#%_,]"
)
ACCENTED = re.compile(r"\\[`'^~=u.\"rHvdc]\{([A-Za-z])\}")


@given(st.text())
def test_escaped_text_is_ascii_and_inert(text):
    """Without the known commands, no character is left that LaTeX acts on."""
    escaped = escape(text)
    assert escaped.isascii()
    rest = COMMANDS.sub("", escaped)
    while rest != (rest := ACCENTED.sub(r"\1", rest)):
        pass
    assert rest.count("~") == text.count("\u00a0")
    assert not set(re.sub(r"\{[\[\]\-'`]\}", "", rest).replace("~", "")) & set(SPECIAL)


@given(st.text(), st.text())
def test_escaping_is_by_character(first, second):
    assume(not second or not combining(second[0]))
    assert escape(first + second) == escape(first) + escape(second)


@given(st.text(alphabet="abcXYZ 0123456789.,:;()=+*/@!?"))
def test_ordinary_text_stays_as_it_is(text):
    assert escape(text) == text


def test_the_symbols_of_the_reports_are_mathematics():
    assert escape("A′ − B ≤ 10⁻³") == (
        r"A\ensuremath{{}^{\prime}} \ensuremath{-} B \ensuremath{\leq} "
        r"10\ensuremath{{}^{-}}\ensuremath{{}^{3}}"
    )
    assert escape("k\u0303 Rᵀ⊗ĝ ℝ½") == (
        r"\~{k} R\ensuremath{{}^{T}}\ensuremath{\otimes}\^{g} \ensuremath{\mathbf{R}}"
        r"\ensuremath{\frac{1}{2}}"
    )
    assert escape("中") == "{[}cjk unified ideograph{-}4e2d{]}"


def characters_in_print():
    """Every character of the claims, the response and the texts of reports."""
    files = [*PROJECT.glob("claims/*.yaml"), PROJECT / "response.yaml"]
    files += [*(PROJECT / "src").rglob("*.yaml"), *(PROJECT / "src").rglob("*.typ")]
    files += [*(PROJECT / "src").rglob("studies/**/*.py"), *(PROJECT / "src").rglob("wording/*.py")]
    return {character for file in files for character in file.read_text(encoding="utf-8")}


def test_every_character_of_statements_and_reports_has_a_latex_form():
    written = characters_in_print()
    assert {"✓", "ᵀ", "∇", "ĝ"} < written
    assert not {c for c in written if escape(c).startswith("{[}") and c != "["}


def test_tables_have_escaped_cells_and_text_that_wraps():
    frame = pd.DataFrame({"Model & tier": ["A′_1", "[x]"], "n% of all": ["1", "−2"]})
    frame["Long"], frame["Longest"] = (
        "a text of several words",
        "a still longer text of several words",
    )
    text = latex_table(
        printed_table(Table(frame, ("n% of all",), {}, "50 % of it", "A note.")), "tab:t"
    )
    assert r"{tab:t}%" in text
    assert r"{50 \% of it}%" in text
    assert r"{A note.}%" in text
    assert "{lrJ{8}{0.426}J{8}{0.574}}%" in text
    assert r"\shortstack[r]{n\%\\of\\all} & Long & Longest}%" in text
    assert r"\resultrow{A\ensuremath{{}^{\prime}}\_1 & 1 & a text" in text
    assert r"\resultrow{{[}x{]} & \ensuremath{-}2 & a text" in text


def test_macros_go_through_csname_and_refuse_bad_keys():
    text = latex_macros({"exp7.2.effect": -0.25, "exp7.2.verdict": "refuted"})
    effect = r"{\resulttext{\ensuremath{-}0.250}{\unichar{8722}0.250}}"
    assert rf"\@namedef{{journeylab@exp7.2.effect}}{effect}" in text
    assert r"\@namedef{journeylab@exp7.2.verdict}{\resultwords{refuted}}" in text
    with pytest.raises(UserError, match="key"):
        latex_macros({"bad key}": 1})
