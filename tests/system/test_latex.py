"""LaTeX compiles the tables, figures and numbers that journeylab writes."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pypdfium2
import pytest

from journeylab.commands.paper import assemble, check_log
from journeylab.plotting import Table
from journeylab.records.files import read_json, write_folder
from journeylab.reports.draw import draw_results
from journeylab.reports.latex import STYLE, latex_macros, latex_table
from journeylab.reports.tables import printed_table
from journeylab.studies.exp5_ssm_bridge import figures

from ..made import git
from ..reports.conftest import CITED, computed_results, exact
from ..reports.test_latex import characters_in_print

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        shutil.which("pdflatex") is None,
        reason="pdflatex is missing (apt-get install texlive-latex-recommended)",
    ),
]

PAPER = Path(__file__).parents[2] / "paper"
DOCUMENT = r"""\documentclass{article}
\usepackage{siunitx}
\usepackage{journeylab}
\begin{document}
%s
\end{document}
"""
PDFLATEX = ("pdflatex", "-interaction=nonstopmode", "-halt-on-error")
CLASSES = {
    "article": r"\documentclass{article}",
    "two-columns": r"\documentclass[twocolumn]{article}",
    "IEEEtran": r"\documentclass{IEEEtran}",
    "revtex4-2": r"\documentclass[aps,prl,twocolumn]{revtex4-2}",
    "elsarticle": r"\documentclass[5p,twocolumn]{elsarticle}",
    "acmart": r"\documentclass[sigconf]{acmart}\title{A}\author{B}",
    "beamer": r"\documentclass{beamer}",
}


def typeset(folder, *command, **variables):
    """A command of LaTeX that has ended; what it prints is in any encoding."""
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        errors="replace",
    )


def compile_latex(folder, body):
    shutil.copy(STYLE, folder)
    (folder / "paper.tex").write_text(DOCUMENT % body, encoding="ascii")
    return typeset(folder, *PDFLATEX, "paper.tex")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The folder drawn from exp5 at a tiny size, with one verdict."""
    statement = "A′ − B: 100·u·N·max‖R^±k‖² & more"
    verdict = exact("exp5.1", "supported", 2.7e-13, statement=statement, source="document")
    results = computed_results()
    verdicts = results.verdicts.model_copy(update={"verdicts": (verdict,)})
    folder = tmp_path_factory.mktemp("latex") / "exp5"
    with write_folder(folder) as partial:
        draw_results(replace(results, verdicts=verdicts), figures, partial, CITED)
    return folder


def test_a_document_inputs_every_table_figure_and_number(drawn, tmp_path):
    content = tmp_path / "exp5"
    shutil.copytree(drawn, content)
    tables = [rf"\input{{exp5/tables/{p.name}}}" for p in sorted(content.glob("tables/*.tex"))]
    figures = [
        rf"\includegraphics[width=\linewidth]{{exp5/figures/{p.name}}}"
        for p in sorted(content.glob("figures/*.pdf"))
    ]
    numbers = [
        rf"\result{{{key}}} $\result{{{key}}}$\par" for key in read_json(content / "numbers.json")
    ]
    raw = [
        rf"\num{{\rawresult{{{key}}}}}\par"
        for key, value in read_json(content / "numbers.json").items()
        if isinstance(value, int | float)
    ]
    assert tables
    assert figures
    assert len(raw) > 10
    done = compile_latex(
        tmp_path,
        "\n".join([r"\input{exp5/numbers}", *tables, *figures, r"\clearpage", *numbers, *raw]),
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in done.stdout


@pytest.mark.parametrize(
    ("used", "said"),
    [
        (r"\result{exp5.99.effect}", ["Unknown result 'exp5.99.effect'", "before its \\study"]),
        *(
            (rf"\rawresult{{exp5.{key}}}", [f"No finite number 'exp5.{key}'"])
            for key in ("99.effect", "1.verdict", "1.low")
        ),
    ],
)
def test_an_unknown_number_or_a_raw_one_that_is_not_finite_is_named(drawn, tmp_path, used, said):
    shutil.copy(drawn / "numbers.tex", tmp_path)
    done = compile_latex(tmp_path, f"\\input{{numbers}}\n{used}")
    assert done.returncode != 0
    assert all(words in done.stdout for words in said)


@pytest.mark.parametrize("anonymous", [False, True])
def test_the_skeleton_manuscript_links_results_to_their_source(drawn, tmp_path, anonymous):
    shutil.copytree(drawn, tmp_path / "reports" / "exp5")
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", "https://me:secret@code.example/lab/journeylab.git")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "begin")
    commit, folder = git(tmp_path, "rev-parse", "HEAD"), tmp_path / "build"
    made = []
    for _ in range(2):
        assemble(PAPER, tmp_path / "reports", folder, anonymous=anonymous, project=tmp_path)
        options = ("-pdf", "-halt-on-error", r"-usepretex=\pdfobjcompresslevel=0")
        done = typeset(folder, "latexmk", *options, "paper.tex", SOURCE_DATE_EPOCH="315532800")
        assert done.returncode == 0, done.stdout[-2000:]
        check_log(folder / "paper.log")
        made.append((folder / "paper.pdf").read_bytes())
    assert made[0] == made[1]
    assert "Overfull" not in (folder / "paper.log").read_text(errors="replace")
    pdf = made[0]
    with pypdfium2.PdfDocument(pdf) as document:
        pages = [page.get_textpage().get_text_range() for page in document]
    text = " ".join("".join(pages).split())
    assert "all its digits: 2.7 × 10−13" in text
    assert "Table 1: Certificates" in text
    assert "Table 2" in text
    page = (
        f"https://code.example/lab/journeylab/blob/{commit}/src/journeylab/studies/exp5_ssm_bridge"
    )
    sources = [f"{page}/figures.py".encode() in pdf, "figures.py" in text, "The authors" in text]
    assert sources == [not anonymous] * 3
    assert ("Anonymous" in text) == anonymous
    assert b"secret" not in pdf


def test_any_text_in_a_cell_compiles(tmp_path):
    rng = np.random.default_rng(0)
    ranges = [(0x20, 0x7F), (0xA0, 0x100), (0x370, 0x400), (0x2000, 0x2300), (0x4E00, 0x4E20)]
    characters = [chr(c) for low, high in ranges for c in range(low, high)]
    characters += [*sorted(characters_in_print()), "k\u0303"]
    mixed = ["".join(rng.permutation(characters)[:12]) for _ in range(40)]
    words = ["[x]", "--", "\\\\", "\\end{table}", "%", "a\n\nb", "`` ''", "_^", "~", "\\input{x}"]
    frame = pd.DataFrame({"& head": mixed + words})
    table = printed_table(Table(frame, (), {}, "".join(words), "".join(words)))
    (tmp_path / "t.tex").write_text(latex_table(table, "tab:t"), encoding="ascii")
    every = {f"x.{i}": character for i, character in enumerate(characters)}
    (tmp_path / "n.tex").write_text(latex_macros(every), encoding="ascii")
    uses = "\n".join(rf"\result{{{key}}}" for key in every)
    done = compile_latex(tmp_path, f"\\input{{n}}\n\\input{{t}}\n{uses}")
    assert done.returncode == 0, done.stdout[-2000:]


def _table(rows, numbers, texts):
    """A table of cells that are told apart: r3c2, and texts of fifteen words."""
    heads = [f"measured value {i}" for i in range(numbers)]
    cells = {head: [f"r{j}c{i}." for j in range(rows)] for i, head in enumerate(heads)}
    for i in range(texts):
        cells[f"text {i}"] = [f"r{j}t{i}. " + "several words " * 7 for j in range(rows)]
    return Table(pd.DataFrame(cells), tuple(heads), {}, "Caption.", "A note of the table.")


@pytest.mark.parametrize(
    ("kind", "engine"),
    [(kind, "pdflatex") for kind in CLASSES] + [("article", "xelatex"), ("article", "lualatex")],
)
def test_every_table_fits_in_every_class(tmp_path, kind, engine):
    name = CLASSES[kind].partition("{")[2].partition("}")[0]
    if not shutil.which(engine) or subprocess.run(["kpsewhich", f"{name}.cls"]).returncode:
        pytest.skip(f"{engine} or {name}.cls is missing (apt-get install texlive-publishers)")
    shutil.copy(STYLE, tmp_path)
    tables = {"short": _table(4, 3, 0), "wide": _table(12, 14, 1), "long": _table(70, 3, 2)}
    body = ["\\maketitle"] if kind == "acmart" else []
    for i, (stem, table) in enumerate(tables.items()):
        frame = table.frame.map(lambda cell, i=i: cell.replace("r", f"{i}r", 1))
        (tmp_path / "exp1/tables").mkdir(parents=True, exist_ok=True)
        text = latex_table(printed_table(replace(table, frame=frame)), f"tab:exp1-{stem}")
        (tmp_path / f"exp1/tables/{stem}.tex").write_text(text, encoding="ascii")
        text = rf"\resulttable{{exp1/{stem}}}"
        frame = rf"\begin{{frame}}[allowframebreaks]{{A}}{text}\end{{frame}}"
        body.append(frame if kind == "beamer" else f"{'Some words. ' * 200}\n\n{text}\n")
    source = [CLASSES[kind], r"\usepackage{journeylab}\begin{document}", *body, r"\end{document}"]
    (tmp_path / "paper.tex").write_text("\n".join(source))
    for _ in range(2):
        done = typeset(tmp_path, engine, "-interaction=nonstopmode", "paper.tex")
    assert done.returncode == 0
    check_log(tmp_path / "paper.log")
    assert "Overfull" not in (tmp_path / "paper.log").read_text(errors="replace")
    with pypdfium2.PdfDocument(tmp_path / "paper.pdf") as document:
        pages = [page.get_textpage() for page in document]
        inside = " ".join(page.get_text_bounded() for page in pages)
    wanted = {
        f"{i}{cell.split()[0]}"
        for i, t in enumerate(tables.values())
        for row in t.frame.to_numpy()
        for cell in row
    }
    assert not wanted - set(inside.split())


HYPERREF = r"\usepackage[dvipsnames]{xcolor}\usepackage[colorlinks]{hyperref}"


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("article", HYPERREF, r"\usepackage[final]{graphicx}"),
        ("article", r"\usepackage[draft]{graphicx}", HYPERREF),
        ("article", r"\usepackage[greek,english]{babel}", HYPERREF),
        ("beamer", "", ""),
    ],
)
def test_numbers_are_right_in_bookmarks_and_mathematics(tmp_path, kind, before, after):
    shutil.copy(STYLE, tmp_path)
    (tmp_path / "exp5").mkdir()
    numbers = latex_macros({"exp5.1.effect": 6.21e-13, "exp5.1.verdict": "not supported"})
    (tmp_path / "exp5/numbers.tex").write_text(numbers, encoding="ascii")
    used = r"\result{exp5.1.effect}, \result{exp5.1.verdict}"
    shown = r"x $\result{exp5.1.verdict}$"
    if kind == "beamer":
        shown = rf"\begin{{frame}}{shown}\end{{frame}}"
    source = rf"""{CLASSES[kind]}{before}\usepackage{{journeylab}}{after}\study{{exp5}}
    \title{{On {used}}}\hypersetup{{pdftitle={{On {used}}}}}
    \begin{{document}}
    \section{{At {used}}}
    {shown}
    \end{{document}}"""
    (tmp_path / "paper.tex").write_text(source)
    for _ in range(2):
        done = typeset(tmp_path, *PDFLATEX, "paper.tex")
    assert done.returncode == 0
    with pypdfium2.PdfDocument(tmp_path / "paper.pdf") as document:
        [bookmark] = [entry.get_title() for entry in document.get_toc()]
        assert bookmark == "At 6.21 × 10⁻¹³, not supported"
        assert document.get_metadata_dict()["Title"] == "On 6.21 × 10⁻¹³, not supported"
        assert "x not supported" in document[0].get_textpage().get_text_bounded()


@pytest.mark.skipif(shutil.which("latexdiff") is None, reason="latexdiff is missing")
def test_latexdiff_marks_a_changed_number(tmp_path):
    for folder, effect in ((tmp_path / "before", 0.25), (tmp_path / "build/paper", 0.375)):
        (folder / "exp5").mkdir(parents=True)
        shutil.copy(STYLE, folder)
        numbers = latex_macros({"exp5.1.effect": effect, "exp5.1.n": 40})
        (folder / "exp5/numbers.tex").write_text(numbers, encoding="ascii")
        body = (
            r"It is \result{exp5.1.effect}, \num{\rawresult{exp5.1.effect}}, of \result{exp5.1.n}."
        )
        (folder / "paper.tex").write_text(DOCUMENT % body)
    page = (PAPER.parent / "docs/commands.md").read_text(encoding="utf-8")
    [commands] = [block for block in page.split("```") if "latexdiff --" in block]
    subprocess.run(["bash", "-ec", commands.removeprefix("sh\n")], cwd=tmp_path, check=True)
    marked = (tmp_path / "build/paper/changes.tex").read_text()
    assert r"\DIFdel{0.250" in marked
    assert r"\DIFadd{0.375" in marked
    assert "of 40." in marked.split("begin{document}")[1].split(r"\DIFaddend")[-1]
    assert (tmp_path / "build/paper/changes.pdf").exists()
