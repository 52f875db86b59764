"""What planning knows of the reviewed version: from git, and from the typeset manuscript."""
# ruff: noqa: E501  (lines of LaTeX)

import json
import shutil
from pathlib import Path

import pytest
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from journeylab.claims.register import read_register
from journeylab.claims.round import StudyThen
from journeylab.config import UserError
from journeylab.workflow.passages import find_passages
from journeylab.workflow.round import ReviewedVersion, find_reviewed

from ..made import PROJECT, git
from .conftest import commit

COMPUTE = "src/journeylab/studies/exp5_ssm_bridge/compute.py"


def tagged(folder: Path, tag: str) -> None:
    """Commit all files of a folder and tag the commit."""
    commit(folder, tag)
    git(folder, "tag", tag)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with the register, tagged `v1` with other claims, settings, code and runs."""
    shutil.copytree(PROJECT / "claims", tmp_path / "claims")
    for name in ("config.yaml", "reference/exp5.json", COMPUTE, "src/journeylab/streams.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT / name, tmp_path / name)
    replace(tmp_path / "claims/exp5.yaml", "region: {at_most: 1.0e-6}", "region: {at_most: 1.0e-5}")
    replace(
        tmp_path / "claims/exp5.yaml",
        "the cosine of the two forms is 1 to six decimals.",
        "they are equal.",
    )
    replace(tmp_path / "claims/exp5.yaml", "width were replaced", "width were left out")
    replace(tmp_path / "config.yaml", "contraction: 0.9", "contraction: 0.8")
    with (tmp_path / COMPUTE).open("a") as code:
        code.write("\nLAST = 1\n")
    with (tmp_path / "src/journeylab/streams.py").open("a") as code:
        code.write("\n# a remark\n")
    for name in ("kept", "gone"):
        (tmp_path / "evidence/exp5").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"evidence/exp5/{name}.zip").write_text(name)
    (tmp_path / "reference/figures.json").write_text('{"studies": {"exp5": {"error": "0a"}}}')
    tagged(tmp_path, "v1")
    for name in ("claims/exp5.yaml", "config.yaml", COMPUTE, "src/journeylab/streams.py"):
        shutil.copy2(PROJECT / name, tmp_path / name)
    (tmp_path / "evidence/exp5/gone.zip").unlink()
    (tmp_path / "evidence/exp5/new.zip").write_text("new")
    tagged(tmp_path, "v2")
    return tmp_path


def then(project: Path, tag: str = "v1") -> StudyThen:
    commit = find_reviewed(project, tag)
    register = read_register(project / "claims")
    return ReviewedVersion(project, commit, register).studies(["exp5"])["exp5"]


def test_everything_that_can_move_a_verdict_is_compared_with_the_tag(project: Path) -> None:
    known = then(project)
    assert (known.changed, known.reworded) == (("exp5.1",), ("exp5.1",))
    [amendment] = known.amendments
    assert amendment.rows[0] == "exp5.1"
    assert any(text.endswith("contraction from 0.8 to 0.9") for text in known.settings)
    assert known.code == ("studies.exp5_ssm_bridge.compute",)  # a comment elsewhere is no change
    assert known.evidence == (1, 0, 1)
    assert known.figures == {"error": "0a"}
    assert known.claims is not None
    recorded = json.loads((PROJECT / "reference/exp5.json").read_text())["claims"]["exp5.4"]
    assert known.claims["exp5.4"].verdict == recorded["verdict"]


def test_a_register_of_an_earlier_form_is_compared(project: Path) -> None:
    file = project / "claims/exp5.yaml"
    file.write_text("looks: fixed\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    tagged(project, "v0")
    replace(file, "looks: fixed\n", "")
    replace(file, "region: {at_most: 1.0e-6}", "region: {at_most: 1.0e-5}")
    assert then(project, "v0").changed == ("exp5.1",)


def test_nothing_is_changed_since_the_same_files(project: Path) -> None:
    known = then(project, "v2")
    assert (known.changed, known.reworded, known.amendments, known.settings) == ((), (), (), ())
    assert (known.code, known.evidence) == ((), (0, 0, 0))


def test_a_version_that_does_not_exist_is_refused_with_the_tags(project: Path) -> None:
    with pytest.raises(UserError, match=r"since: 'v7' is no tag or commit .*; tags: v1, v2"):
        find_reviewed(project, "v7")


AUX = r"""\relax
\@writefile{toc}{\contentsline {section}{\numberline {1}Introduction}{1}{section.1}\protected@file@percent }
\newlabel{sec:results}{{2}{3}{Results}{section.2}{}}
\@writefile{toc}{\contentsline {section}{\numberline {2}Results}{3}{section.2}\protected@file@percent }
\@writefile{toc}{\contentsline {subsection}{\numberline {2.1}Results on \texttt  {text}}{4}{subsection.2.1}}
\newlabel{tab:exp5-errors}{{2}{5}{Errors}{table.2}{}}
\newlabel{sec:results@cref}{{[section][2][]2}{[1][3][]3}}
"""


@pytest.mark.parametrize(
    ("change", "located"),
    [
        ("sec:results", "Section 2 “Results”, page 3, paper.tex line 4"),
        ("a sentence in sec:results, and more", "Section 2 “Results”, page 3, paper.tex line 4"),
        ("Introduction: a new paragraph", "Section 1 “Introduction”, page 1, paper.tex line 1"),
        ("Results on text", "Section 2.1 “Results on text”, page 4, part/more.tex line 1"),
        ("section 2.1, second paragraph", "Section 2.1 “Results on text”, page 4, part/more.tex line 1"),
        ("Table 2", "Table 2, page 5, part/more.tex line 2"),
        ("tab:exp5-errors", "Table 2, page 5, part/more.tex line 2"),
        ("Limits", "Section “Limits”, paper.tex line 5"),
    ],
)  # fmt: skip
def test_a_change_is_located_by_label_heading_or_number(
    tmp_path: Path, change: str, located: str
) -> None:
    write_manuscript(tmp_path)
    found = find_passages([("a", change)], tmp_path / "paper", tmp_path / "paper.aux")
    assert (found["a"].text, found["a"].problem) == (located, "")


def write_manuscript(folder: Path) -> None:
    (folder / "paper/part").mkdir(parents=True)
    (folder / "paper/paper.tex").write_text(
        "\\section{Introduction}\n\n\\section{Results}\n\\label{sec:results}\n\\section*{Limits}\n"
    )
    (folder / "paper/part/more.tex").write_text(
        "\\subsection{Results on \\texttt{text}}\n\\label{tab:exp5-errors}\n"
    )
    (folder / "paper.aux").write_text(AUX)


def test_a_change_that_is_nowhere_is_reported_with_the_closest_label(tmp_path: Path) -> None:
    write_manuscript(tmp_path)
    changes = [("a", "sec:result"), ("b", "Section 7")]
    found = find_passages(changes, tmp_path / "paper", tmp_path / "paper.aux")
    assert "did you mean 'sec:results'?" in found["a"].problem
    assert "names no label, heading or section" in found["b"].problem
    unset = find_passages(changes, tmp_path / "paper", tmp_path / "none.aux")
    assert "`make paper` typesets the manuscript" in unset["a"].problem


def test_a_cut_off_pdf_ends_no_planning(tmp_path: Path) -> None:
    write_manuscript(tmp_path)
    changes = [("a", "sec:results"), ("b", "Limits")]

    def found() -> list[str]:
        passages = find_passages(changes, tmp_path / "paper", tmp_path / "paper.aux")
        return [passage.text for passage in passages.values()]

    without = found()
    pdf = tmp_path / "paper.pdf"
    with PdfPages(pdf) as pages:
        for text in ("Introduction", "Limits"):
            figure = Figure()
            figure.text(0.1, 0.5, text)
            pages.savefig(figure)
    whole, content = found(), pdf.read_bytes()
    assert whole != without  # “Limits” has a page
    for length in range(0, len(content), len(content) // 10):
        pdf.write_bytes(content[:length])
        assert found() in (without, whole)
