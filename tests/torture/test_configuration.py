"""Hostile configuration: one clear line, or output in which the text is only text."""

import copy
import shutil
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from journeylab.catalogue import resolve
from journeylab.plotting.results import Table
from journeylab.reports.latex import escape, latex_table
from journeylab.reports.tables import printed_table

from ..made import pdf_text
from ..system.test_latex import PDFLATEX, compile_latex, typeset
from ..test_hostile import FILES, TREE, hostile, outcome, trees
from ..workflow.conftest import Copy
from .conftest import REPORT, STUDY, Tally, cases, torture

pytestmark = pytest.mark.timeout(2400)

SMALL = TREE | {"studies": {name: TREE["studies"][name] for name in ("exp5", "exp6")}}
SHELL = (
    *("; touch trap", "$(touch trap)", "`touch trap`", "| touch trap"),
    *("&& touch trap", "'; touch trap; '", "../../trap", "/trap", "~/trap", "..", "-rf"),
    *("--config", "$HOME", "%(x)s", "a\tb", "*"),
    *("{wildcards}", "{wildcards.study}", "{input}", "{output[0]}", "{config[root]}", "{{x}}"),
)  # fmt: skip
TYPESET = (
    *(r"\input{/etc/passwd}", r"\write18{touch trap}", r"\end{document}"),
    *(r"\def\x{\x}\x", "$x_1^2", "^^41", r"\csname", "$ x $", "// comment", "{", "?"),
    *("100% & #1 ~ ^ _", r"\verb|", "``''", "[x]{y}", r"\\[1cm]", r"\catcode`\@=11"),
    *('#read("/etc/passwd")', "#panic()", "*bold* _it_ `raw`", "= heading", "@ref <label>"),
    *('#import "@preview/x:1.0.0": *', "#{", "#eval(\"1\")", "/* comment", "#let x"),
)  # fmt: skip
PAGES = (
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '" onmouseover="alert(1)'),
    *("</title>", "<b>bold</b>", "[x](javascript:y)", "![x](y)"),
    *("</tbody></table><script src=x>", "&lt;b&gt;", "]]>", "<!-- x", "javascript:alert(1)"),
    *("{{ 7*7 }}", "<< 7*7 >>", "<% for x in y %>", "{# x #}", "{% raw %}"),
)  # fmt: skip
LETTERS = ("\u202eright to left", "日本語", "é\u0301", "zero\u200bwidth", "ﬁ", "😀", "Ω≠∞")
PAYLOADS = (*SHELL, *TYPESET, *PAGES, *LETTERS)


# -- any values -----------------------------------------------------------------------------------


@torture
@pytest.mark.parametrize("file", FILES)
def test_thousands_of_fuzzed_files_are_read_or_refused_in_one_line(file: str, tally: Tally) -> None:
    """As in tests/test_hostile.py, with more cases, and with these texts among the values."""
    known, read = FILES[file]
    counts: Counter[str] = Counter()

    @seed(34)
    @settings(hostile, max_examples=cases(2000, 50))
    @given(mutant=st.sampled_from(known).flatmap(lambda tree: trees(tree, PAYLOADS)))
    def tried(mutant: dict[str, Any]) -> None:
        counts["refused in one line" if outcome(lambda: read(mutant)) else "read"] += 1

    tried()
    for result, number in counts.items():
        tally.add(f"fuzzed {file}", result, number)


# -- names ----------------------------------------------------------------------------------------


def rename(node: dict[str, Any], name: str) -> None:
    node[name] = node.pop(next(iter(node)))


NAMES: dict[str, Callable[[dict[str, Any], str], None]] = {
    "study": lambda c, name: rename(c["studies"], name),
    "arm": lambda c, name: rename(c["studies"]["exp6"]["arms"], name),
    "dataset": lambda c, name: rename(c["studies"]["exp6"]["datasets"], name),
    "setting": lambda c, name: rename(c["studies"]["exp6"]["training"], name),
    "variant": lambda c, name: c["studies"]["exp6"]["arms"]["random-toral"].update(variants=[name]),
    "reference to a dataset": lambda c, name: c["studies"]["exp6"]["arms"]["random-toral"].update(
        dataset=name
    ),
    "scale": lambda c, name: c.update(scale=name),
}


@pytest.mark.parametrize("place", NAMES)
def test_no_name_holds_a_path_a_command_or_markup(place: str, tally: Tally) -> None:
    for payload in PAYLOADS:
        tree = copy.deepcopy(SMALL)
        NAMES[place](tree, payload)
        message = outcome(lambda: resolve(tree))  # noqa: B023
        assert message.startswith("config.yaml"), (payload, message)
        tally.add("injection in a name", "refused in one line")


def test_no_name_of_a_point_is_a_path_a_command_or_markup(tally: Tally) -> None:
    [tree, *_], read = FILES["response.yaml"]
    for payload in PAYLOADS:
        hostile_tree = copy.deepcopy(tree)
        hostile_tree["points"][0]["id"] = payload
        assert outcome(lambda: read(hostile_tree))  # noqa: B023
        tally.add("injection in a name", "refused in one line")


# -- texts ----------------------------------------------------------------------------------------


def shown(text: str) -> str:
    """A text without what typesetting may change: spaces, quotes, ligatures, invisible signs."""
    table = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "ﬁ": "fi", "−": "-", "–": "-"})
    return "".join(sign for sign in text.translate(table) if sign.isprintable() and sign != " ")


class Elements(HTMLParser):
    """The elements of a page, its attributes, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}
        self.text += "".join(f" {value}" for _, value in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def elements(page: Path) -> Elements:
    parser = Elements()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def hostile_points() -> list[dict[str, Any]]:
    return [
        {
            "id": f"p{number}",
            "reviewer": f"R {payload}",
            "point": f"Why {payload}?",
            "answer": f"Since {payload}.",
            "change": f"Section {payload}",
            "claims": [STUDY] if number % 10 == 0 else [],
        }
        for number, payload in enumerate(PAYLOADS)
    ]


def hostile_claims(path: Path) -> None:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    shared = content["claims"][2]
    for number, payload in enumerate(PAYLOADS):
        row = {"id": f"{STUDY}.s{number + 10}", "statement": f"Here {payload} too."}
        content["claims"].append(shared | row)
    content["measures"]["test"]["label"] = 'accuracy <i>&"$_#%'
    content["claims"][0]["statement"] = r"Many <b>points</b> & #read(\"x\") \input{y} 100% $z_1$."
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")


@torture
def test_texts_are_only_texts_in_pdf_html_and_latex(project: Copy, tally: Tally) -> None:
    before = elements(project.path / "reports/index.html")
    (project.path / "response.yaml").write_text(
        yaml.safe_dump({"title": PAYLOADS[0], "points": hostile_points()}, allow_unicode=True),
        encoding="utf-8",
    )
    hostile_claims(project.path / f"claims/{STUDY}.yaml")
    done = project.snakemake("all", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list(project.path.rglob("trap"))
    response, report = (
        shown(pdf_text(project.path / name)) for name in ("reports/response.pdf", REPORT)
    )
    page = elements(project.path / "reports/index.html")
    latex = (project.path / "reports/latex/response.tex").read_text(encoding="ascii")
    for payload in PAYLOADS:
        if payload in LETTERS:  # letters that the font lacks, or that Unicode orders anew
            tally.add("hostile text in the PDFs, HTML and LaTeX", "built")
            continue
        assert shown(f"Why {payload}?") in response, payload
        assert shown(f"Since {payload}.") in response, payload
        assert shown(f"Here {payload} too.") in report, payload
        assert f"Here {payload} too." in page.text.replace("\n", " "), payload
        assert escape(payload) in latex, payload
        tally.add("hostile text in the PDFs, HTML and LaTeX", "printed as it is", 5)
    assert "root:" not in response + report + page.text
    assert page.tags["script"] == before.tags["script"]
    assert page.tags.keys() == before.tags.keys()
    assert page.attributes == before.attributes
    assert not [link for link in page.links if link.startswith("javascript:")]
    if shutil.which("pdflatex"):
        done = typeset(project.path / "reports/latex", *PDFLATEX, "response.tex")
        assert done.returncode == 0, done.stdout[-3000:]
        tally.add("response.tex with hostile text, compiled by pdflatex", "compiled")
    assert not list(project.path.rglob("trap"))


@torture
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is missing")
def test_hostile_cells_compile_as_text(tmp_path: Path, tally: Tally) -> None:
    frame = pd.DataFrame({"a": PAYLOADS, "b": list(reversed(PAYLOADS))}).astype(str)
    for first in range(0, len(frame), 20):
        table = Table(frame[first : first + 20], (), {}, "c", "caption")
        text = latex_table(printed_table(table), "tab:t")
        (tmp_path / "t.tex").write_text(text, encoding="ascii")
        done = compile_latex(tmp_path, r"\input{t}")
        assert done.returncode == 0, done.stdout[-2000:]
    assert not list(tmp_path.rglob("trap"))
    tally.add("hostile cells of LaTeX tables, compiled", "compiled as text", len(frame))
